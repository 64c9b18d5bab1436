import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { until } from '../../until.js';
import { BackgroundProcess } from '../postgres/process.js';
import { run } from './command.js';

/** A docker daemon of the test's own. It ends with the test at the latest, and every container with it. */
export interface Engine {
  /** For whoever calls docker or docker compose. */
  readonly env: { readonly DOCKER_HOST: string };
  /** What `docker WORDS` prints. @throws Error with what it wrote */
  docker(...words: readonly string[]): string;
  /** What COMMAND prints where the daemon is: numbers of processes are its own, published ports are there. */
  inside(command: string, ...words: readonly string[]): string;
  /** The same, beside others, in the network of a container's process. @throws Error unless it exits with 0 */
  insideNetworkOf(pid: number, command: string, ...words: readonly string[]): Promise<string>;
  /** A process that goes on there. */
  startInNetworkOf(pid: number, logFile: string, command: string, ...words: readonly string[]): BackgroundProcess;
  /** Of the daemon's network, on this computer. */
  readonly networkFile: string;
  /** Removes every container, and ends. Images and volumes stay in the folder. */
  stop(): Promise<void>;
}

/**
 * On the data below `folder`, with processes and mounts of its own. With the computer's network it has no bridge and touches no rule
 * of a firewall: for `docker build`, which fetches packages. With a network of its own it has bridges and rules as Docker makes
 * them, and takes none of the computer's ports.
 */
export async function startEngine(folder: string, network: 'host' | 'own'): Promise<Engine> {
  for (const needed of NEEDED)
    if (!existsSync(needed)) throw new Error(`${needed} is missing: apt-get install docker.io debootstrap iptables`);
  mkdirSync(folder, { recursive: true });
  const env = { DOCKER_HOST: `unix://${folder}/docker.sock`, DOCKER_CONFIG: folder, DOCKER_BUILDKIT: '0' };
  const spaces = launch(folder, network, env.DOCKER_HOST);
  const enter = (): readonly string[] => [`--target=${childOf(spaces.pid)}`, '--mount', '--pid', '--net'];
  const engine: Engine = {
    env,
    docker: (...words) => run('docker', words, { env }),
    inside: (command, ...words) => run('nsenter', [...enter(), command, ...words]),
    insideNetworkOf: async (pid, ...words) => {
      const all = [...enter(), 'nsenter', `--net=/proc/${pid}/ns/net`, ...words];
      return (await promisify(execFile)('nsenter', all)).stdout;
    },
    startInNetworkOf: (pid, logFile, ...words) =>
      BackgroundProcess.start('nsenter', [...enter(), 'nsenter', `--net=/proc/${pid}/ns/net`, ...words], { logFile }),
    networkFile: `/proc/${spaces.pid}/ns/net`,
    stop: async () => {
      const left = engine.docker('ps', '-aq').split('\n').filter(Boolean);
      if (left.length > 0) engine.docker('rm', '--force', ...left);
      process.kill(childOf(spaces.pid), 'SIGTERM');
      await until('the docker daemon has ended', () => !spaces.isRunning);
    },
  };
  await until('the docker daemon answers', () => {
    if (!spaces.isRunning) throw new Error(`dockerd ended:\n${spaces.tail()}`);
    return engine.docker('version', '--format', '{{.Server.Version}}') !== '';
  });
  return engine;
}

const INIT = '/usr/bin/docker-init';
const NEEDED = ['/usr/sbin/dockerd', INIT, '/usr/sbin/debootstrap', '/usr/sbin/iptables'];
const HOST_NETWORK = ['--iptables=false', '--ip6tables=false', '--bridge=none'];

function launch(folder: string, network: 'host' | 'own', socket: string): BackgroundProcess {
  // Of a daemon that was killed: its number may be another's here.
  rmSync(join(folder, 'pid'), { force: true });
  const words = ['--storage-driver=overlay2', '-H', socket, '--data-root', join(folder, 'data')];
  words.push('--exec-root', join(folder, 'exec'), '--pidfile', join(folder, 'pid'));
  if (network === 'host') words.push(...HOST_NETWORK);
  const spaces = ['--fork', '--kill-child', '--pid', '--mount-proc', ...(network === 'host' ? [] : ['--net'])];
  const script = 'ip link set lo up && exec dockerd "$@"';
  // An init, since what a container leaves behind becomes the first process's.
  return BackgroundProcess.start('unshare', [...spaces, INIT, '--', 'sh', '-c', script, 'sh', ...words], {
    logFile: join(folder, 'dockerd.log'),
  });
}

/** `unshare --fork` has one: the first process of the new space. */
function childOf(pid: number): number {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
  if (!/^\d+$/u.test(children)) throw new Error(`process ${pid} has the children '${children}', not one`);
  return Number(children);
}
