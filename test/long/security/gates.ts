import assert from 'node:assert/strict';
import { createServer, type Server } from 'node:net';
import type { AddressInfo } from 'node:net';

/** Commands of jobs that print numbered lines until their gate is open. They ask at a port of loopback, which rehearsed VMs share. */
export class Gates {
  readonly #byName = new Map<string, { readonly server: Server; isOpen: boolean }>();

  async command(name: string): Promise<string> {
    const server = createServer((socket) => {
      socket.on('error', () => socket.destroy());
      socket.end(this.#byName.get(name)?.isOpen === true ? 'open' : 'shut');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    this.#byName.set(name, { server, isOpen: false });
    const { port } = server.address() as AddressInfo;
    const isShut = `[ "$(cat </dev/tcp/127.0.0.1/${port})" != open ]`;
    return `n=0; while ${isShut}; do n=$((n+1)); echo "line $n"; sleep 0.2; done; echo "the end after $n"`;
  }

  open(name: string): void {
    const gate = this.#byName.get(name) ?? assert.fail(`no gate ${name}`);
    gate.isOpen = true;
  }

  close(): void {
    for (const { server } of this.#byName.values()) server.close();
  }
}
