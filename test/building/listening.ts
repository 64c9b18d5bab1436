import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A server of this process at an address of this computer, on any port. */
export async function listening(
  server: Server,
  host = '127.0.0.1',
): Promise<{ readonly url: string; readonly close: () => Promise<void> }> {
  await new Promise<void>((done) => server.listen(0, host, done));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://${host}:${port}`,
    close: () =>
      new Promise((done) => {
        server.closeAllConnections();
        server.close(() => done());
      }),
  };
}
