import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { RehearsalEndpoints } from '../../rehearsal/index.js';
import { wordsOf } from '../own-program.js';

export interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** command-process.ts with a user's environment: this trust, these credentials, this home; one command at a time. */
export class Command {
  readonly #child;
  readonly #lines: AsyncIterator<string>;

  constructor(endpoints: RehearsalEndpoints, home: string, credentials: Readonly<Record<string, string>>) {
    const program = wordsOf(new URL('command-process.ts', import.meta.url));
    const { rest, store, tpu, caFile = '' } = endpoints;
    const env = {
      ...{ PATH: process.env['PATH'] ?? '', HOME: home, JOBCTL_HOME: `${home}/jobctl`, NODE_NO_WARNINGS: '1' },
      ...{ NODE_EXTRA_CA_CERTS: caFile, GRPC_DEFAULT_SSL_ROOTS_FILE_PATH: caFile },
      ...{ JOBCTL_GOOGLE_API_ENDPOINT: rest, JOBCTL_STORE_ENDPOINT: store, JOBCTL_TPU_ENDPOINT: tpu },
      ...credentials,
    };
    this.#child = spawn(process.execPath, program, { env, stdio: ['pipe', 'pipe', 'inherit'] });
    this.#lines = createInterface({ input: this.#child.stdout })[Symbol.asyncIterator]();
  }

  async run(...args: readonly string[]): Promise<Ran> {
    this.#child.stdin.write(`${JSON.stringify(args)}\n`);
    const next = await this.#lines.next();
    if (next.done === true) throw new Error(`the process ended with ${this.#child.exitCode}`);
    return JSON.parse(next.value) as Ran;
  }

  async end(): Promise<void> {
    const ended = new Promise((resolve) => this.#child.once('exit', resolve));
    this.#child.stdin.end();
    await ended;
  }
}
