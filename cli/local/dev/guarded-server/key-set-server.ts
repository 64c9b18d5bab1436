import { randomBytes } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { KeySet } from '../../../../cloud/temporal/api-keys.js';

export interface KeySetServer {
  readonly url: string;
  close(): void;
}

/** Serves public keys on loopback for a starting Temporal server, which reads them only by HTTP (1.29). */
export async function serveKeySet(keys: KeySet): Promise<KeySetServer> {
  const path = `/${randomBytes(16).toString('hex')}`;
  const body = JSON.stringify(keys);
  const server = createServer((request, response) => {
    if (request.url === path) response.setHeader('content-type', 'application/json').end(body);
    else response.writeHead(404).end();
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  const close = (): void => {
    server.close();
    server.closeAllConnections();
  };
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`, close };
}

/** Finds free loopback ports, all at once so that they differ. @param wanted preferred ports, used if they are free */
export async function freePorts(count: number, wanted: readonly number[] = []): Promise<readonly number[]> {
  const listening = async (port: number): Promise<Server> => {
    const server = createServer();
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(port, '127.0.0.1', resolve);
    });
    return server;
  };
  const servers = await Promise.all(
    Array.from({ length: count }, (_, at) => listening(wanted[at] ?? 0).catch(() => listening(0))),
  );
  const ports = servers.map((server) => (server.address() as AddressInfo).port);
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return ports;
}
