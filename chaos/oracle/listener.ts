import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import type { Told } from './evidence.js';
import { goneAfter, parseTold } from './told.js';

/** Receives the reports of all commands of a seed, each over its own connection, without jobctl in between. */
export class Listener {
  readonly told: Told[] = [];
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  /** Connections of commands that have begun and not ended. */
  readonly #running = new Map<Told, Socket>();

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

  /** The BEGIN of each running command, sorted by process. */
  get running(): readonly Told[] {
    return [...this.#running.keys()].toSorted((a, b) => a.process.localeCompare(b.process));
  }

  /** Sends SIGTERM to that command alone, as somebody on its host might do. */
  terminate(begin: Told): void {
    this.#running.get(begin)?.write('TERM\n');
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #hear(socket: Socket): void {
    this.#sockets.add(socket);
    let rest = '';
    let last: Told | undefined;
    let begin: Told | undefined;
    socket.setEncoding('utf8');
    socket.on('data', (text: string) => {
      const lines = (rest + text).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) {
        const told = parseTold(line);
        if (told === undefined) continue;
        this.told.push(told);
        if (told.kind === 'BEGIN') this.#running.set((begin = told), socket);
        else if (told.kind === 'END' && begin !== undefined) this.#running.delete(begin);
        last = told;
      }
    });
    socket.on('error', () => undefined);
    socket.on('close', () => {
      this.#sockets.delete(socket);
      if (begin !== undefined) this.#running.delete(begin);
      if (last !== undefined && last.kind !== 'END') this.told.push(goneAfter(last, Date.now()));
    });
  }
}
