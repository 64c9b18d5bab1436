import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** One real start or end of a command, as the command itself wrote it. */
export interface LedgerEntry {
  readonly what: 'start' | 'end';
  readonly job: string;
  readonly attempt: number;
  readonly host: number;
}

/**
 * A file that commands on rehearsed hosts write a line into when they start and when they end: evidence that shares nothing
 * with jobctl. A rehearsed VM has this computer's files, but a /tmp of its own, so it lies elsewhere.
 */
export class StartLedger {
  readonly #folder = mkdtempSync('/var/tmp/jobctl-ledger-');
  readonly #file = join(this.#folder, 'ledger');

  constructor() {
    writeFileSync(this.#file, '');
  }

  /** A shell script that prints `lines` lines, one in 0.2 s. Short lines that are appended stay whole. */
  command(lines: number): string {
    return this.#told(`for n in $(seq ${lines}); do echo "line $n"; sleep 0.2; done`);
  }

  /** The same, until `open(gate)`; its last line is `the end after N`. */
  commandUntil(gate: string): string {
    const loop = `while [ ! -e ${this.#gate(gate)} ]; do n=$((n+1)); echo "line $n"; sleep 0.2; done`;
    return this.#told(`n=0; ${loop}; echo "the end after $n"`);
  }

  open(gate: string): void {
    writeFileSync(this.#gate(gate), '');
  }

  #gate(name: string): string {
    return join(this.#folder, `gate-${name}`);
  }

  #told(script: string): string {
    const say = (what: string): string =>
      `echo "${what} $JOBCTL_JOB_ID $JOBCTL_ATTEMPT $JOBCTL_HOST_INDEX" >> ${this.#file}`;
    return `${say('start')}\n${script}\n${say('end')}\n`;
  }

  entries(): readonly LedgerEntry[] {
    const lines = readFileSync(this.#file, 'utf8').split('\n').slice(0, -1);
    return lines.map((line) => {
      const [what, job, attempt, host] = line.split(' ');
      return { what: what as LedgerEntry['what'], job: job as string, attempt: Number(attempt), host: Number(host) };
    });
  }

  count(what: LedgerEntry['what']): number {
    return this.entries().filter((entry) => entry.what === what).length;
  }

  /** Commands that have started and not ended. */
  running(): number {
    return this.count('start') - this.count('end');
  }

  remove(): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
