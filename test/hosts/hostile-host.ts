import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { WebSocketServer } from 'ws';
import { memoryHostKeyPins } from '../../cloud/hosts/host-key-record.js';
import { createPodHosts } from '../../cloud/hosts/pod-fleet.js';
import type { HostConnection } from '../../cloud/hosts/port.js';
import { createSshHosts } from '../../cloud/hosts/ssh-fleet.js';
import type { Cluster } from '../../cloud/machines/kubernetes/cluster.js';
import { shellWords } from '../../domain/shell-quote.js';
import { never, ourKey } from './session.js';
import { startTestHost } from './ssh-host.js';

/** A host of somebody hostile, reached as jobctl reaches one. */
export interface HostileHost {
  readonly connection: HostConnection;
  stop(): Promise<void>;
}

/** By kind of machine. `answers` is bash: it may answer a command line, which is in `$line`, and must leave all others alone. */
export const HOSTILE_HOSTS: Readonly<Record<string, (home: string, answers: string) => Promise<HostileHost>>> = {
  'a VM': (home, answers) => hostileLogin(home, answers, false),
  'an own machine': (home, answers) => hostileLogin(home, answers, true),
  'a pod': hostilePod,
};

/** What the account's login shell becomes: nothing that jobctl sends can keep its owner from it. */
function hostileShell(home: string, answers: string): readonly string[] {
  const file = join(home, 'shell');
  writeFileSync(file, `line=$3\n${answers}\nexec "$@"\n`);
  return ['bash', file];
}

async function hostileLogin(home: string, answers: string, isOwn: boolean): Promise<HostileHost> {
  const host = await startTestHost({ authorized: ourKey, home, enter: hostileShell(home, answers) });
  const fleet = createSshHosts({ port: host.port, hostKeys: memoryHostKeyPins() });
  const own = isOwn ? { own: { port: host.port, lastingUid: 'machine-lab-a' } } : {};
  const connection = await fleet.connect({ ...host.target, ...own }, { privateKey: ourKey.private }, never);
  return {
    connection,
    stop: async () => {
      fleet.release();
      await host.stop();
    },
  };
}

const TARGET = { reach: 'pod', uid: 'u', slice: 0, index: 0, namespace: 'ml', pod: 'p', podUid: 'p-1' } as const;
const RUNNING = {
  metadata: { uid: 'p-1' },
  spec: { containers: [{ name: 'main', image: 'i' }] },
  status: { phase: 'Running', containerStatuses: [{ name: 'main', state: { running: {} } }] },
};

/** An API server of one pod, whose commands run here. */
async function hostilePod(home: string, answers: string): Promise<HostileHost> {
  const shell = hostileShell(home, answers);
  const sockets = new WebSocketServer({ noServer: true });
  const server = createServer().on('upgrade', (request, socket, head) => {
    sockets.handleUpgrade(request, socket, head, (exec) => {
      const words = new URL(request.url ?? '', 'http://api').searchParams.getAll('command');
      const line = shellWords([...shell, 'sh', '-c', words.pop() ?? '']);
      const [program, ...rest] = [...words, line];
      const child = spawn(program, rest, { cwd: home, env: { HOME: home, PATH: '/usr/bin:/bin' }, detached: true });
      const send = (channel: number, bytes: Buffer): void => exec.send(Buffer.concat([Buffer.from([channel]), bytes]));
      // No further than the reader takes it.
      child.stdout.on('data', (bytes: Buffer) => {
        child.stdout.pause();
        exec.send(Buffer.concat([Buffer.from([1]), bytes]), () => child.stdout.resume());
      });
      child.stderr.on('data', (bytes: Buffer) => send(2, bytes));
      child.stdin.on('error', () => undefined);
      exec.on('message', (bytes: Buffer) => void (bytes[0] === 0 && child.stdin.write(bytes.subarray(1))));
      child.on('close', () => send(3, Buffer.from('{"status":"Success"}')));
      exec.on('close', () => {
        try {
          process.kill(-(child.pid ?? 0), 'SIGKILL');
        } catch {
          // It has ended.
        }
      });
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const config = {
    getCurrentCluster: () => ({ server: `http://127.0.0.1:${port}` }),
    applyToHTTPSOptions: async () => undefined,
  };
  const core = { readNamespacedPod: async () => RUNNING };
  const fleet = createPodHosts(async () => ({ config, core }) as unknown as Cluster);
  return {
    connection: await fleet.connect(TARGET, { privateKey: '' }, never),
    stop: async () => {
      fleet.release();
      server.close();
      server.closeAllConnections();
    },
  };
}
