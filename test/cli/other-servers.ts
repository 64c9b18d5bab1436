import { createServer as createHttpServer } from 'node:http';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';

/** What answers at an address where something else is wanted. */
export const OTHER_SERVERS = {
  'a web server': () =>
    createHttpServer((_, response) =>
      response.writeHead(200, { 'content-type': 'text/html' }).end('<html>hello</html>'),
    ),
  'one that forbids': () =>
    json(403, 'bob does not have storage.objects.get access to the Google Cloud Storage object.'),
  'a proxy that forbids': () =>
    createHttpServer((_, response) => response.writeHead(403).end('<html><body>Blocked by the proxy</body></html>')),
  'one without the bucket': () => json(404, 'The specified bucket does not exist.'),
  'one that is broken': () => json(500, 'Backend Error'),
  'one that closes at once': () => createServer((socket) => void quiet(socket).destroy()),
  'one that says nothing': () => createServer(quiet),
  'an SSH server': () => createServer((socket) => void quiet(socket).write('SSH-2.0-OpenSSH_9.2\r\n')),
} as const satisfies Record<string, () => Server>;

export type OtherServer = keyof typeof OTHER_SERVERS;

/** Starts them all on loopback. @returns their ports, and what ends them */
export async function startOtherServers(): Promise<{
  readonly ports: ReadonlyMap<string, number>;
  readonly stop: () => void;
}> {
  const sockets = new Set<Socket>();
  const servers = new Map(Object.entries(OTHER_SERVERS).map(([name, make]) => [name, make()]));
  for (const server of servers.values()) {
    server.on('connection', (socket: Socket) => sockets.add(socket));
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  }
  const ports = new Map([...servers].map(([name, server]) => [name, (server.address() as AddressInfo).port]));
  const stop = (): void => {
    for (const server of servers.values()) server.close();
    for (const socket of sockets) socket.destroy();
  };
  return { ports, stop };
}

const json = (status: number, message: string): Server =>
  createHttpServer((_, response) => {
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ error: { code: status, message } }));
  });

/** A client that goes away is no error of the server's. */
const quiet = (socket: Socket): Socket => socket.on('error', () => undefined);
