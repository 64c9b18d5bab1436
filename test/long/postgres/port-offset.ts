import { createServer } from 'node:net';

const OFFSETS = { from: 10_000, to: 25_000 };

/** So that servers of several tests, and a dev server at 7233, live beside each other. */
export async function freePortOffset(usual: readonly number[]): Promise<number> {
  for (let tries = 0; tries < 50; tries++) {
    const offset = OFFSETS.from + Math.floor(Math.random() * (OFFSETS.to - OFFSETS.from));
    const free = await Promise.all(usual.map((port) => canListen(port + offset)));
    if (free.every(Boolean)) return offset;
  }
  throw new Error(`no ${usual.length} free ports for a Temporal server on 127.0.0.1`);
}

function canListen(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}
