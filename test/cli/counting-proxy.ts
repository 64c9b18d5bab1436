import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Traffic {
  readonly requests: number;
  /** Of bodies of answers. */
  readonly bytes: number;
}

/** A way to an HTTP server on which requests and bytes are counted. */
export interface CountingProxy {
  readonly url: string;
  /** What passed while `call` ran. */
  during<T>(call: () => Promise<T>): Promise<readonly [T, Traffic]>;
  close(): Promise<void>;
}

export async function startCountingProxy(target: string): Promise<CountingProxy> {
  let [requests, bytes] = [0, 0];
  const server = createServer((incoming, answer) => {
    requests++;
    const { method, headers, url = '' } = incoming;
    const onward = request(new URL(url, target), { ...(method && { method }), headers }, (answered) => {
      answer.writeHead(answered.statusCode ?? 502, answered.headers);
      answered.on('data', (chunk: Buffer) => (bytes += chunk.length));
      answered.pipe(answer);
    });
    onward.on('error', () => answer.destroy());
    incoming.pipe(onward);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    during: async (call) => {
      const before = { requests, bytes };
      const result = await call();
      return [result, { requests: requests - before.requests, bytes: bytes - before.bytes }];
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
