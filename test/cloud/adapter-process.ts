import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { AuthenticatedCloud } from '../../rehearsal/test/authenticated-cloud.js';
import { wordsOf } from '../own-program.js';

/** Our adapters in a process of their own (adapter-program.ts), one call at a time. */
export class AdapterProcess {
  readonly #child;
  readonly #lines: AsyncIterator<string>;

  /** @param credentials as a user's environment names them; nothing else of this process's environment is there */
  constructor(cloud: AuthenticatedCloud, credentials: Readonly<Record<string, string>>) {
    const env = { ...cloud.userEnvironment(credentials), ENDPOINTS: JSON.stringify(cloud.endpoints) };
    const program = wordsOf(new URL('adapter-program.ts', import.meta.url));
    this.#child = spawn(process.execPath, program, { env, stdio: ['pipe', 'pipe', 'inherit'] });
    this.#lines = createInterface({ input: this.#child.stdout })[Symbol.asyncIterator]();
  }

  /** What the adapter returned. @throws Error with the adapter's name and message */
  async call(verb: string, ...given: readonly string[]): Promise<unknown> {
    this.#child.stdin.write(`${JSON.stringify([verb, ...given])}\n`);
    const next = await this.#lines.next();
    if (next.done === true) throw new Error(`the client process ended with ${this.#child.exitCode}`);
    const answer = JSON.parse(next.value) as { value?: unknown; name?: string; message?: string };
    if (answer.name !== undefined) throw Object.assign(new Error(answer.message), { name: answer.name });
    return answer.value;
  }

  async end(): Promise<void> {
    const ended = new Promise((resolve) => this.#child.once('exit', resolve));
    this.#child.stdin.end();
    await ended;
  }
}
