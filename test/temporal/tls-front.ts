import { connect, type AddressInfo } from 'node:net';
import { createServer } from 'node:tls';
import { generate } from 'selfsigned';

/** TLS in front of a real server that has none: what is asked and answered is the server's own. */
export interface TlsFront {
  /** localhost:port, the name in the certificate. */
  readonly address: string;
  readonly port: number;
  /** PEM of the certificate, which signs itself. */
  readonly certificate: string;
  close(): Promise<void>;
}

export async function startTlsFront(address: string): Promise<TlsFront> {
  const { private: key, cert } = await generate([{ name: 'commonName', value: 'localhost' }], {
    extensions: [{ name: 'subjectAltName', altNames: [{ type: 2, value: 'localhost' }] }],
  });
  const target = Number(address.slice(address.lastIndexOf(':') + 1));
  const server = createServer({ key, cert, ALPNProtocols: ['h2'] }, (client) => {
    const upstream = connect(target, '127.0.0.1');
    client.pipe(upstream).pipe(client);
    client.on('error', () => upstream.destroy());
    upstream.on('error', () => client.destroy());
  });
  server.on('tlsClientError', () => undefined);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const close = (): Promise<void> => new Promise((resolve) => server.close(() => resolve()));
  return { address: `localhost:${port}`, port, certificate: cert, close };
}
