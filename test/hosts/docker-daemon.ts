/**
 * A docker daemon of the tests' own, on a socket of its own, with one image that holds bash and busybox. No registry, no
 * bridge, nothing of the computer's own docker. Needs root and the packages docker.io, bash-static and busybox-static.
 */
import { execFileSync, spawn } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { until } from '../until.js';

export const TEST_IMAGE = 'jobctl-test:1';

export interface DockerDaemon {
  /** For whoever calls docker. */
  readonly env: { readonly DOCKER_HOST: string };
  /** What `docker WORDS` prints. */
  docker(...words: string[]): string;
  stop(): Promise<void>;
}

/** A daemon for all tests of a `describe`; where none can be started they are skipped, and the reason is printed. */
export function useDockerDaemon(): () => DockerDaemon {
  let daemon: DockerDaemon | undefined;
  before(async function () {
    const why = whyNoDocker();
    if (why !== undefined) {
      console.log(`      skipped: no docker daemon here: ${why}`);
      // dockerd needs root and three packages of Debian, which a developer may lack. .ci/run allows no skip, and .ci/long sets
      // JOBCTL_TEST_DOCKER=1, where it is an error.
      this.skip();
    }
    daemon = await startDockerDaemon();
  });
  after(() => daemon?.stop());
  return () => {
    if (!daemon) throw new Error('the docker daemon is there in tests and later hooks alone');
    return daemon;
  };
}

/** Why no daemon can be started here; undefined where one can. JOBCTL_TEST_DOCKER=1 makes that an error. */
function whyNoDocker(): string | undefined {
  const missing = [DOCKERD, BASH, BUSYBOX].filter((path) => !existsSync(path));
  const why =
    process.getuid?.() !== 0 ? 'not root' : missing.length > 0 ? `${missing.join(', ')} not installed` : undefined;
  if (why !== undefined && process.env['JOBCTL_TEST_DOCKER'] === '1') throw new Error(`no docker daemon here: ${why}`);
  return why;
}

async function startDockerDaemon(): Promise<DockerDaemon> {
  const folder = mkdtempSync(join(tmpdir(), 'docker-test-'));
  const env = { DOCKER_HOST: `unix://${folder}/docker.sock` };
  const words = [
    '--storage-driver=vfs',
    '--iptables=false',
    '--ip6tables=false',
    '--bridge=none',
    '-H',
    env.DOCKER_HOST,
  ];
  const folders = ['--data-root', join(folder, 'data'), '--exec-root', join(folder, 'exec'), '-p', join(folder, 'pid')];
  const daemon = spawn(DOCKERD, [...words, ...folders], { stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  daemon.stderr.on('data', (chunk: Buffer) => (said = (said + chunk.toString()).slice(-4000)));
  const docker = (...more: string[]): string =>
    execFileSync('docker', more, {
      env: { ...process.env, ...env },
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    });
  await until('the docker daemon', () => {
    if (daemon.exitCode !== null) throw new Error(`dockerd ended with ${daemon.exitCode}: ${said}`);
    return said.includes('API listen on') ? true : undefined;
  });
  importImage(folder, docker);
  return {
    env,
    docker,
    stop: async () => {
      const left = docker('ps', '-aq').split('\n').filter(Boolean);
      if (left.length > 0) docker('rm', '-f', ...left);
      const ended = new Promise((resolve) => daemon.once('exit', resolve));
      daemon.kill('SIGTERM');
      await ended;
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

const DOCKERD = '/usr/sbin/dockerd';
const BASH = '/bin/bash-static';
const BUSYBOX = '/bin/busybox';
const APPLETS = [
  'sh',
  'cat',
  'id',
  'ls',
  'pwd',
  'sleep',
  'setsid',
  'grep',
  'readlink',
  'seq',
  'touch',
  'test',
  'yes',
  'head',
];

function importImage(folder: string, docker: DockerDaemon['docker']): void {
  const root = join(folder, 'root');
  for (const name of ['bin', 'etc', 'tmp', 'root']) mkdirSync(join(root, name), { recursive: true });
  copyFileSync(BASH, join(root, 'bin/bash'));
  copyFileSync(BUSYBOX, join(root, 'bin/busybox'));
  for (const applet of APPLETS) symlinkSync('busybox', join(root, 'bin', applet));
  const archive = join(folder, 'root.tar');
  execFileSync('tar', ['-C', root, '-cf', archive, '.']);
  docker('import', archive, TEST_IMAGE);
}
