import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import type { Told } from './evidence.js';
import { goneAfter, parseTold } from './told.js';

/** Hears every command of a seed, over a connection of each process: nothing of jobctl lies between. */
export class Listener {
  readonly told: Told[] = [];
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor(server: Server) {
    this.#server = server;
    server.on('connection', (socket) => this.#hear(socket));
  }

  static async open(): Promise<Listener> {
    const listener = new Listener(createServer());
    await new Promise<void>((resolve, reject) => {
      listener.#server.once('error', reject).listen(0, '127.0.0.1', resolve);
    });
    return listener;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #hear(socket: Socket): void {
    this.#sockets.add(socket);
    let rest = '';
    let last: Told | undefined;
    socket.setEncoding('utf8');
    socket.on('data', (text: string) => {
      const lines = (rest + text).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) {
        const told = parseTold(line);
        if (told === undefined) continue;
        this.told.push(told);
        last = told;
      }
    });
    socket.on('error', () => undefined);
    socket.on('close', () => {
      this.#sockets.delete(socket);
      if (last !== undefined && last.kind !== 'END') this.told.push(goneAfter(last, Date.now()));
    });
  }
}
