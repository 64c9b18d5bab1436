import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { GotNotice } from './evidence.js';

/** State of the receiver while a fault of it lasts. `lost`: it takes a notice, and its answer is lost. */
export type ReceiverFault = 'down' | 'error' | 'busy' | 'slow' | 'lost';

const SLOW_MS = 1_500;
/** Bytes of a notice that are read. */
const MOST_BODY = 100_000;

/** The webhook of all jobs of a seed. What it has taken stays taken, whether or not its answer arrives. */
export class Receiver {
  readonly notices: GotNotice[] = [];
  #fault: ReceiverFault | undefined;
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
    server.on('request', (request, response) => {
      if (this.#fault === 'down') return void request.socket.destroy();
      let body = '';
      request.setEncoding('utf8');
      request.on('data', (part: string) => (body = `${body}${part}`.slice(0, MOST_BODY)));
      request.on('error', () => undefined);
      request.on('end', () => this.#answer(request.headers, body, response));
    });
  }

  static async open(): Promise<Receiver> {
    const receiver = new Receiver(createServer());
    await new Promise<void>((resolve, reject) => {
      receiver.#server.once('error', reject).listen(0, '127.0.0.1', resolve);
    });
    return receiver;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/jobs`;
  }

  /** @param fault absent: it is well */
  become(fault?: ReceiverFault): void {
    this.#fault = fault;
    if (fault === 'down') this.#server.closeAllConnections();
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #answer(headers: IncomingHttpHeaders, body: string, response: ServerResponse): void {
    const fault = this.#fault;
    const isTaken = fault === undefined || fault === 'slow' || fault === 'lost';
    this.notices.push({
      ...{ at: Date.now(), isTaken, body },
      id: String(headers['webhook-id'] ?? ''),
      timestamp: String(headers['webhook-timestamp'] ?? ''),
      signature: String(headers['webhook-signature'] ?? ''),
    });
    if (fault === 'error') return void response.writeHead(500).end('not now');
    if (fault === 'busy') return void response.writeHead(429, { 'retry-after': '2' }).end();
    if (fault === 'slow') return void setTimeout(() => response.end(), SLOW_MS).unref();
    if (fault === 'lost') return void response.destroy();
    response.end();
  }
}
