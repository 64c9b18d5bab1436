import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { WebSocketServer } from 'ws';
import { createPodHosts } from '../../cloud/hosts/pod-fleet.js';
import { type HostConnection, HostUnreachable } from '../../cloud/hosts/port.js';
import type { Cluster } from '../../cloud/machines/kubernetes/cluster.js';
import { never } from './session.js';

const [STDERR, STATUS] = [2, 3];
const TARGET = { reach: 'pod', uid: 'u', slice: 0, index: 0, namespace: 'ml', pod: 'p', podUid: 'p-1' } as const;
/** As the cluster shows it, also for most of a minute after its kubelet has died. */
const RUNNING = {
  metadata: { uid: 'p-1' },
  spec: { containers: [{ name: 'main', image: 'i' }] },
  status: { phase: 'Running', containerStatuses: [{ name: 'main', state: { running: {} } }] },
};

/** What an API server says of an exec whose kubelet is there, is killed, or does not answer (test/long/kubernetes/jobs.test.ts). */
type Kubelet = 'answers' | 'is killed' | 'is gone';

const REFUSAL = JSON.stringify({ kind: 'Status', message: 'error dialing backend: connect: connection refused' });

describe('an exec whose kubelet is killed', () => {
  let server: Server;
  let kubelet: Kubelet;
  let fleet: ReturnType<typeof createPodHosts>;
  beforeEach(async () => {
    kubelet = 'answers';
    const sockets = new WebSocketServer({ noServer: true });
    server = createServer().on('upgrade', (request, socket, head) => {
      if (kubelet === 'is gone')
        return socket.end(`HTTP/1.1 500 Error\r\nContent-Length: ${REFUSAL.length}\r\n\r\n${REFUSAL}`);
      sockets.handleUpgrade(request, socket, head, (exec) => {
        const say = (channel: number, text: string): void =>
          exec.send(Buffer.concat([Buffer.from([channel]), Buffer.from(text)]));
        const [mark] = /jobctl-end-\w+ /.exec(decodeURIComponent(request.url ?? '').replaceAll('+', ' ')) ?? [];
        if (kubelet === 'answers') say(STDERR, `${mark}0\n`);
        say(STATUS, '{"status":"Success"}');
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
    fleet = createPodHosts(async () => ({ config, core }) as unknown as Cluster);
  });
  afterEach(() => {
    fleet.release();
    server.close();
    server.closeAllConnections();
  });

  const connect = (): Promise<HostConnection> => fleet.connect(TARGET, { privateKey: '' }, never);
  const run = (connection: HostConnection): Promise<{ readonly code?: number }> =>
    connection.exec('true', { onStdout: () => undefined, onStderr: () => undefined, signal: never });

  it('is no success, although the API server says so', async () => {
    const connection = await connect();
    assert.equal((await run(connection)).code, 0);
    kubelet = 'is killed';
    await assert.rejects(run(connection), /was lost: the exec ended before its command did/);
  });

  it('is a host that does not answer, as long as its pod is called Running', async () => {
    const connection = await connect();
    kubelet = 'is gone';
    await assert.rejects(run(connection), HostUnreachable);
    await assert.rejects(connect(), /cannot be reached: error dialing backend/);
    kubelet = 'answers';
    assert.equal((await run(await connect())).code, 0);
  });
});
