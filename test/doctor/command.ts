import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { RehearsalEndpoints } from '../../rehearsal/index.js';
import { wordsOf } from '../own-program.js';

export interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Variables. */
type Credentials = Readonly<Record<string, string>>;

/** command-process.ts with a user's environment: this trust, these credentials, this home; one command at a time. */
export class Command {
  readonly #child;
  readonly #lines: AsyncIterator<string>;
  readonly #credentials: Credentials;

  constructor(endpoints: RehearsalEndpoints, home: string, credentials: Credentials) {
    this.#credentials = credentials;
    const program = wordsOf(new URL('command-process.ts', import.meta.url));
    const { rest, store, tpu, caFile = '' } = endpoints;
    const env = {
      ...{ PATH: process.env['PATH'] ?? '', HOME: home, JOBCTL_HOME: `${home}/jobctl`, NODE_NO_WARNINGS: '1' },
      ...{ NODE_EXTRA_CA_CERTS: caFile, GRPC_DEFAULT_SSL_ROOTS_FILE_PATH: caFile },
      ...{ JOBCTL_GOOGLE_API_ENDPOINT: rest, JOBCTL_STORE_ENDPOINT: store, JOBCTL_TPU_ENDPOINT: tpu },
    };
    this.#child = spawn(process.execPath, program, { env, stdio: ['pipe', 'pipe', 'inherit'] });
    this.#lines = createInterface({ input: this.#child.stdout })[Symbol.asyncIterator]();
  }

  run(...args: readonly string[]): Promise<Ran> {
    return this.#ask(args, this.#credentials);
  }

  /** With other credentials, in the same process: one of its own takes two seconds of a processor to begin. */
  as(credentials: Credentials): Pick<Command, 'run'> {
    return { run: (...args) => this.#ask(args, credentials) };
  }

  async #ask(args: readonly string[], credentials: Credentials): Promise<Ran> {
    this.#child.stdin.write(`${JSON.stringify({ args, credentials })}\n`);
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
