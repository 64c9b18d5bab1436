import { createServer } from 'node:http';
import { listening } from './listening.js';

/** Something that a process waits for, wherever it runs, until a test lets it go on. */
export class Gate {
  #isOpen = false;
  #url = '';
  close: () => Promise<void> = async () => undefined;

  /** @param host an address of this computer */
  static async make(host?: string): Promise<Gate> {
    const gate = new Gate();
    const server = createServer((_, response) => response.writeHead(gate.#isOpen ? 200 : 503).end());
    const { url, close } = await listening(server, host);
    [gate.#url, gate.close] = [url, close];
    return gate;
  }

  /** Answers 200 once it is open, else 503. */
  get url(): string {
    return this.#url;
  }

  /** A line of sh that ends when it is open. */
  get line(): string {
    return `until curl -sf ${this.#url}; do sleep 0.2; done`;
  }

  open(): void {
    this.#isOpen = true;
  }
}
