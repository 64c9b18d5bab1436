import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Seen {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}
export type Reply = (seen: Seen, response: ServerResponse, request: IncomingMessage) => void;

/** Answers on the wire as a test says: request after request by the next reply, the last one for all that follow. */
export class ScriptedServer {
  seen: Seen[] = [];
  replies: Reply[] = [];
  readonly #server: Server;

  constructor() {
    this.#server = createServer((request, response) => {
      const parts: Buffer[] = [];
      request.on('data', (part: Buffer) => parts.push(part));
      request.on('end', () => {
        const { method = '', url = '', headers } = request;
        const one = { method, url, headers, body: Buffer.concat(parts).toString('utf8') };
        this.seen.push(one);
        const reply = this.replies.length > 1 ? this.replies.shift() : this.replies[0];
        reply?.(one, response, request);
      });
    });
  }

  get address(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  start(): Promise<void> {
    return new Promise((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
  }

  stop(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  /** For the next test. */
  forget(): void {
    this.seen = [];
    this.replies = [];
  }
}
