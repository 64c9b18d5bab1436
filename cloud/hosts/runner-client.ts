import { shellQuote, shellWords } from '../../domain/shell-quote.js';
import { HostUnreachable, RunnerFailed } from './port.js';
import type { ExecOptions, ExecResult } from './remote-exec.js';
import { RUNNER_NAME, RUNNER_TEXT } from './runner/index.js';
import type { SshLink } from './ssh-link.js';

/** The exit code of "the runner is not on this host yet". */
const NO_RUNNER = 119;

/** Calls verbs of the on-host runner over one link, and puts the runner there when it is missing. */
export class RunnerClient {
  readonly #link: SshLink;
  #upload: Promise<void> | undefined;

  constructor(link: SshLink) {
    this.#link = link;
  }

  /**
   * One verb. Values that may be secret go to stdin, never into the words: those are everybody's to read on the host.
   * Tried without an upload first, which saves a round trip on every host that has been used before.
   * @throws HostUnreachable, also where the verb was killed with its host; RunnerFailed with the runner's own message where the verb itself failed.
   */
  async call(words: readonly string[], options: ExecOptions = {}, use?: 'follow'): Promise<ExecResult> {
    const script = `r=$HOME/${RUNNER_NAME}; [ -f "$r" ] || exit ${NO_RUNNER}; exec sh "$r" ${shellWords(words)}`;
    const command = `exec sh -c ${shellQuote(script)}`;
    let result = await this.#link.exec(command, options, use);
    if (result.code === NO_RUNNER) {
      await (this.#upload ??= this.#put().finally(() => (this.#upload = undefined)));
      result = await this.#link.exec(command, options, use);
    }
    // Killed from outside, as all processes of a host that goes down or is out of memory: nothing is known about the run.
    if (result.code === undefined || result.code > 128) throw new HostUnreachable(this.#explain(words, result));
    if (result.code !== 0) throw new RunnerFailed(this.#explain(words, result));
    return result;
  }

  /** Whole or not at all: a cut upload leaves a file of another name. */
  async #put(): Promise<void> {
    const content = Buffer.from(RUNNER_TEXT);
    const script =
      `r=$HOME/${RUNNER_NAME}; mkdir -p -m 700 "$HOME/.jobctl" && cat > "$r.$$" && ` +
      `[ "$(wc -c < "$r.$$")" -eq ${content.length} ] && mv -f "$r.$$" "$r"`;
    const result = await this.#link.exec(`exec sh -c ${shellQuote(script)}`, { stdin: content });
    if (result.code !== 0) throw new RunnerFailed(this.#explain(['upload'], result));
  }

  #explain(words: readonly string[], result: ExecResult): string {
    const ended = result.code === undefined ? `signal ${result.signal ?? 'unknown'}` : `code ${result.code}`;
    const said = /jobctl-runner-error: (.*)/.exec(result.stderr)?.[1] ?? result.stderr.trim().slice(-500);
    return `${this.#link.where}: the on-host runner's '${words.slice(0, 2).join(' ')}' ended with ${ended}${said && `: ${said}`}`;
  }
}
