import { shellQuote, shellWords } from '../../domain/shell-quote.js';
import { HostUnreachable, RunnerFailed } from './port.js';
import type { ExecOptions, ExecResult } from './remote-exec.js';
import { RUNNER_NAME, RUNNER_TEXT } from './runner/index.js';
import type { HostLink } from './host-link.js';

/** Exit code for "the runner is not on this host yet". */
const NO_RUNNER = 119;
/** Exit code if the runner could not be put there: no space, or no right. */
const NO_UPLOAD = 118;

const RUNNER = Buffer.from(RUNNER_TEXT);

/** Reads $0 from the beginning of stdin. It appears as a whole or not at all: a cut leaves a file with another name. */
const PUT_RUNNER =
  `{ mkdir -p -m 700 "\${0%/*}" && head -c ${RUNNER.length} > "$0.$$" && ` +
  `[ "$(wc -c < "$0.$$")" -eq ${RUNNER.length} ] && mv -f "$0.$$" "$0"; } || exit ${NO_UPLOAD}`;

/** Runs in any login shell. The runner is $0, and the same sh reads it: another process would cost more than a step. */
const withRunner = (script: string, words: readonly string[] = []): string =>
  `exec /bin/sh -c ${shellQuote(script)} "$HOME"/${RUNNER_NAME} ${shellWords(words)}`;

export interface RunnerCallOptions extends ExecOptions {
  readonly stdin?: Buffer;
}

/** Calls verbs of the on-host runner over one link, and installs the runner if it is missing. */
export class RunnerClient {
  readonly #link: HostLink;

  constructor(link: HostLink) {
    this.#link = link;
  }

  /**
   * Calls one verb. Values that may be secret go to stdin and never into the words, which every user of the host can read.
   * @throws HostUnreachable, also if the verb was killed with its host; RunnerFailed with the runner's own message if the verb
   * itself failed
   */
  call(words: readonly string[], options: RunnerCallOptions = {}, use?: 'follow'): Promise<ExecResult> {
    const run = '. "$0"';
    const command = withRunner(`[ -f "$0" ] || exit ${NO_RUNNER}; ${run}`, words);
    return this.#exec(words, { command, alsoPut: withRunner(`${PUT_RUNNER}; ${run}`, words) }, options, use);
  }

  /** Runs a verb that exchanges messages with the worker, on a host that has the runner. @throws like `call` */
  async talk(words: readonly string[], options: ExecOptions): Promise<void> {
    const result = await this.#link.exec(withRunner('. "$0"', words), { ...options, isTalk: true }, 'follow');
    if (result.code !== 0) throw new HostUnreachable(this.#explain(words, result));
  }

  /** Runs a program of the runner's words as `verb`. On the host only the login user can read it. @throws like `call` */
  program(verb: string, text: string, options: Omit<ExecOptions, 'stdin'>): Promise<ExecResult> {
    const begin = `[ -f "$HOME"/${RUNNER_NAME} ] || exit ${NO_RUNNER}\nset -- ${verb}\n. "$HOME"/${RUNNER_NAME}\n`;
    const commands = { command: 'exec /bin/sh -s', alsoPut: withRunner(`${PUT_RUNNER}; exec /bin/sh -s`) };
    return this.#exec([verb], commands, { ...options, stdin: Buffer.from(`${begin}${text}`) });
  }

  /** First tries without the runner, because every host used before has it; otherwise a second call sends it along. */
  async #exec(
    words: readonly string[],
    { command, alsoPut }: { readonly command: string; readonly alsoPut: string },
    options: RunnerCallOptions,
    use?: 'follow',
  ): Promise<ExecResult> {
    let result = await this.#link.exec(command, options, use);
    if (result.code === NO_RUNNER) {
      const stdin = Buffer.concat([RUNNER, options.stdin ?? Buffer.alloc(0)]);
      result = await this.#link.exec(alsoPut, { ...options, stdin }, use);
    }
    // Killed from outside, like all processes of a host that shuts down or is out of memory: nothing is known about the run.
    if (result.code === undefined || result.code > 128) throw new HostUnreachable(this.#explain(words, result));
    if (result.code !== 0) throw new RunnerFailed(this.#explain(words, result));
    return result;
  }

  #explain(words: readonly string[], result: ExecResult): string {
    const ended = result.code === undefined ? `signal ${result.signal ?? 'unknown'}` : `code ${result.code}`;
    const what = result.code === NO_UPLOAD ? 'upload' : words.slice(0, 2).join(' ');
    const said = /jobctl-runner-error: (.*)/.exec(result.stderr)?.[1] ?? result.stderr.trim().slice(-500);
    return `${this.#link.where}: the on-host runner's '${what}' ended with ${ended}${said && `: ${said}`}`;
  }
}
