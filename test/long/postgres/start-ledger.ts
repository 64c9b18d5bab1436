import type { AddressInfo, Server } from 'node:net';
import { createServer } from 'node:net';
import { createInterface } from 'node:readline';

/** One real start or end of a command, as the command itself told it. */
export interface LedgerEntry {
  readonly what: 'start' | 'end';
  readonly job: string;
  readonly attempt: number;
  readonly host: number;
}

/**
 * Listens on loopback to commands on rehearsed hosts, which tell it when they start and when they end: evidence that shares
 * nothing with jobctl. A rehearsed VM has files of its own (docs/adr/0015), and this computer's network.
 */
export class StartLedger {
  readonly #server: Server;
  readonly #entries: LedgerEntry[] = [];
  readonly #open = new Set<string>();

  private constructor() {
    this.#server = createServer((socket) => {
      socket.on('error', () => socket.destroy());
      createInterface({ input: socket }).once('line', (line) => socket.end(`${this.#answer(line)}\n`));
    });
  }

  static async start(): Promise<StartLedger> {
    const ledger = new StartLedger();
    await new Promise<void>((resolve, reject) => {
      ledger.#server.once('error', reject);
      ledger.#server.listen(0, '127.0.0.1', resolve);
    });
    return ledger;
  }

  /** A bash script that prints `lines` lines, one in 0.2 s. */
  command(lines: number): string {
    return this.#told(`for n in $(seq ${lines}); do echo "line $n"; sleep 0.2; done`);
  }

  /** The same, until `open(gate)`; its last line is `the end after N`. */
  commandUntil(gate: string): string {
    const loop = `until [ "$(tell gate ${gate})" = open ]; do n=$((n+1)); echo "line $n"; sleep 0.2; done`;
    return this.#told(`n=0; ${loop}; echo "the end after $n"`);
  }

  open(gate: string): void {
    this.#open.add(gate);
  }

  /** One line there, one line back. A command that cannot tell of its start or end fails. */
  #told(script: string): string {
    const { port } = this.#server.address() as AddressInfo;
    const tell = `tell() { { echo "$*" >&9; read -r answer <&9; echo "$answer"; } 9<>/dev/tcp/127.0.0.1/${port}; }`;
    const say = (what: string): string =>
      `[ "$(tell ${what} "$JOBCTL_JOB_ID" "$JOBCTL_ATTEMPT" "$JOBCTL_HOST_INDEX")" = noted ] || exit 97`;
    return `${tell}\n${say('start')}\n${script}\n${say('end')}\n`;
  }

  #answer(line: string): string {
    const [what, job = '', attempt, host] = line.split(' ');
    if (what === 'gate') return this.#open.has(job) ? 'open' : 'shut';
    if (what !== 'start' && what !== 'end') return `what is '${line}'?`;
    this.#entries.push({ what, job, attempt: Number(attempt), host: Number(host) });
    return 'noted';
  }

  entries(): readonly LedgerEntry[] {
    return this.#entries;
  }

  count(what: LedgerEntry['what']): number {
    return this.#entries.filter((entry) => entry.what === what).length;
  }

  /** Commands that have started and not ended. */
  running(): number {
    return this.count('start') - this.count('end');
  }

  async stop(): Promise<void> {
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
