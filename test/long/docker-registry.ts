/** A registry of images on loopback, which docker trusts there without TLS. Needs Debian's docker-registry. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DockerDaemon } from '../hosts/docker-daemon.js';
import { TEST_IMAGE } from '../hosts/docker-daemon.js';
import { freePort } from '../temporal-server.js';
import { until } from '../until.js';

const PROGRAM = '/usr/bin/docker-registry';

/** Why there can be none here; undefined where there can. */
export const whyNoRegistry = (): string | undefined => (existsSync(PROGRAM) ? undefined : `${PROGRAM} not installed`);

export interface DockerRegistry {
  readonly address: string;
  /** Puts an image of this content there. @returns its reference by digest */
  push(name: string, content: string): string;
  stop(): Promise<void>;
}

/** @param more of its configuration, such as who may push */
export async function startDockerRegistry(
  { docker }: Pick<DockerDaemon, 'docker'>,
  more: Readonly<Record<string, unknown>> = {},
): Promise<DockerRegistry> {
  const folder = mkdtempSync(join(tmpdir(), 'docker-registry-'));
  const address = `127.0.0.1:${await freePort()}`;
  const settings = {
    version: 0.1,
    storage: { filesystem: { rootdirectory: join(folder, 'data') } },
    http: { addr: address },
    ...more,
  };
  writeFileSync(join(folder, 'config.yml'), JSON.stringify(settings));
  const server = spawn(PROGRAM, ['serve', join(folder, 'config.yml')], { stdio: 'ignore' });
  await until('the registry answers', async () => [200, 401].includes((await fetch(`http://${address}/v2/`)).status));
  return {
    address,
    push: (name, content) => {
      const reference = `${address}/${name}`;
      const container = docker('create', '--network=none', TEST_IMAGE, 'true').trim();
      docker('commit', '-c', `ENV CONTENT=${content}`, container, reference);
      docker('rm', container);
      const digest = /sha256:[0-9a-f]{64}/.exec(docker('push', reference).split('digest:')[1] ?? '')?.[0];
      docker('rmi', reference);
      return `${reference.slice(0, reference.lastIndexOf(':'))}@${digest}`;
    },
    stop: async () => {
      const ended = once(server, 'exit');
      server.kill('SIGKILL');
      await ended;
      rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
    },
  };
}
