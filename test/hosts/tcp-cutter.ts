/** A TCP proxy on loopback that cuts: what a firewall, a laptop's lid or a dead switch does to a connection. */
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

export interface TcpCutter {
  readonly port: number;
  /** Connections accepted so far. */
  connections(): number;
  /** Resets every open connection; with `afterBytes`, each connection from now on once so many bytes went to the host. */
  cut(): void;
  cutAfter(bytesToHost: number | undefined): void;
  /** Passes no more on, and closes nothing, on the first connection to which so many bytes came from the host. */
  holdAnswerAfter(bytesFromHost: number): void;
  /** Whether a connection has been held so. */
  holds(): boolean;
  /** Bytes that came from the host so far, on all connections. */
  bytesFromHost(): number;
  /** Passes nothing on any more, and closes nothing: the other end seems to be gone. */
  silence(): void;
  /** Cuts all connections, and resets each new one until it is called with false. */
  leave(isAway: boolean): void;
  close(): Promise<void>;
}

export async function startTcpCutter(target: number, host = '127.0.0.1'): Promise<TcpCutter> {
  const open = new Set<Socket>();
  let accepted = 0;
  let limit: number | undefined;
  let answerLimit: number | undefined;
  let answered = 0;
  let holds = false;
  let hasLeft = false;
  const server = createServer((near) => {
    accepted += 1;
    if (hasLeft) return void near.resetAndDestroy();
    const far = connect(target, host);
    let toHost = 0;
    near.on('data', (chunk: Buffer) => {
      toHost += chunk.length;
      if (limit !== undefined && toHost >= limit) near.resetAndDestroy();
    });
    let fromHost = 0;
    far.on('data', (chunk: Buffer) => {
      fromHost += chunk.length;
      answered += chunk.length;
      if (answerLimit === undefined || fromHost < answerLimit) return;
      answerLimit = undefined;
      holds = true;
      far.unpipe().pause();
    });
    near.pipe(far).pipe(near);
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      open.add(socket);
      socket
        .on('error', () => undefined)
        .on('close', () => {
          open.delete(socket);
          other.destroy();
        });
    }
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const cut = (): void => open.forEach((socket) => socket.resetAndDestroy());
  return {
    port: (server.address() as AddressInfo).port,
    connections: () => accepted,
    cut,
    cutAfter: (bytes) => void (limit = bytes),
    holdAnswerAfter: (bytes) => void (answerLimit = bytes),
    holds: () => holds,
    bytesFromHost: () => answered,
    silence: () => open.forEach((socket) => socket.unpipe()),
    leave: (isAway) => {
      hasLeft = isAway;
      if (isAway) cut();
    },
    close: async () => {
      const closed = once(server, 'close');
      server.close();
      cut();
      await closed;
    },
  };
}
