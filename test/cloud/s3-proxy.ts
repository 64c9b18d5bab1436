import { createServer, type IncomingMessage, request } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Stands before a server that speaks S3, and spoils what it is told to. */
export interface S3Proxy {
  readonly endpoint: string;
  /** Headers that the server does not see. */
  dropped: readonly string[];
  /** Ends the connection of a request when so many bytes of its body have come; undefined: it passes. */
  cutAfter: (asked: IncomingMessage) => number | undefined;
  /** Nothing is answered. */
  isSilent: boolean;
  readonly seen: string[];
  stop(): Promise<void>;
}

export async function startS3Proxy(server: string): Promise<S3Proxy> {
  const listener = createServer((asked, answer) => {
    proxy.seen.push(`${asked.method} ${asked.url}`);
    if (proxy.isSilent) return;
    const most = proxy.cutAfter(asked);
    let length = 0;
    const headers = Object.fromEntries(Object.entries(asked.headers).filter(([name]) => !proxy.dropped.includes(name)));
    const passed = request(`${server}${asked.url}`, { method: asked.method, headers }, (answered) => {
      answer.writeHead(answered.statusCode ?? 0, answered.headers);
      answered.pipe(answer);
    });
    passed.on('error', () => asked.destroy());
    asked.on('data', (part: Buffer) => {
      length += part.length;
      if (most === undefined || length < most) return;
      asked.destroy();
      passed.destroy();
    });
    asked.pipe(passed);
  });
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
  const proxy: S3Proxy = {
    endpoint: `http://127.0.0.1:${(listener.address() as AddressInfo).port}`,
    dropped: [],
    cutAfter: () => undefined,
    isSilent: false,
    seen: [],
    stop: async () => {
      listener.closeAllConnections();
      await new Promise((resolve) => listener.close(resolve));
    },
  };
  return proxy;
}
