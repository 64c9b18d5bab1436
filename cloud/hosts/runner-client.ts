import { z } from 'zod';
import { shellQuote, shellWords } from '../../domain/shell-quote.js';
import { leftProcesses, leftProcessesText } from '../../domain/left-processes.js';
import { boundedLine, quotedName } from '../../domain/outside-text.js';
import type { HostCondition } from '../../domain/recovery/host-ends.js';
import {
  HostUnreachable,
  RunnerFailed,
  type ExitRecordOf,
  HOST_REASONS,
  type RunOutputsStatus,
  type RunStatus,
} from './port.js';
import type { ExecOptions, ExecResult, HostLink } from './remote-exec.js';
import { RUNNER_NAME, RUNNER_TEXT } from './runner/index.js';

/** Exit code for "the runner is not on this host yet". */
const NO_RUNNER = 119;
/** Exit code if the runner could not be put there: no space, or no right. */
const NO_UPLOAD = 118;

const RUNNER = Buffer.from(RUNNER_TEXT);

/** Stores the runner, which is at the beginning of stdin, as file $0. A cut leaves a file with another name, and no $0. */
const PUT_RUNNER =
  `{ mkdir -p -m 700 "\${0%/*}" && head -c ${RUNNER.length} > "$0.$$" && ` +
  `[ "$(wc -c < "$0.$$")" -eq ${RUNNER.length} ] && mv -f "$0.$$" "$0"; } || exit ${NO_UPLOAD}`;

/** Runs in any login shell. The runner is $0, and the same sh reads it: another process would cost more than a step. */
const withRunner = (script: string, words: readonly string[] = []): string =>
  `exec /bin/sh -c ${shellQuote(script)} "$HOME"/${RUNNER_NAME} ${shellWords(words)}`;

interface RunnerCallOptions extends ExecOptions {
  readonly stdin?: Buffer;
  /** The runner's words on stderr, for a caller that takes stderr itself. */
  readonly said?: () => string;
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
    const { said, ...exec } = options;
    let result = await this.#link.exec(command, exec, use);
    if (result.code === NO_RUNNER) {
      const stdin = Buffer.concat([RUNNER, options.stdin ?? Buffer.alloc(0)]);
      result = await this.#link.exec(alsoPut, { ...exec, stdin }, use);
    }
    if (said !== undefined) result = { ...result, stderr: said() };
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

export type StartAnswer = RunStatus | { readonly kind: 'fenced'; readonly epoch: number };

const SAID = 'jobctl-runner: ';

/** Limits for a sentence from a host and for a list of them. They all go into histories, whose payloads are limited. */
const MOST_TEXT = 2_000;
const MOST_TOLD = 200;
const MOST_USE_TEXT = 200;
const cut = (text: string): string => text.slice(0, MOST_TEXT);

/** Empty if the host could not tell, or an earlier version wrote the record. */
function hostCondition(word: string | undefined): { readonly host?: HostCondition } {
  return word === 'up' || word === 'stopping' || word === 'preempted' ? { host: word } : {};
}

function endedBy(word: string | undefined): Pick<Extract<RunStatus, { kind: 'exited' }>, 'endedBy'> {
  const reason = HOST_REASONS.find((known) => known === word);
  return reason === undefined ? {} : { endedBy: reason };
}

/** The word is in base64, because it contains several words. */
function leftOf(word = '-'): Pick<Extract<RunStatus, { kind: 'exited' }>, 'left'> {
  const left = leftProcesses(Buffer.from(word, 'base64').toString());
  return left === undefined ? {} : { left };
}

/** The words are in base64. They are shown to people, and are a program's or a host's own. */
function useOf(idle = '', words = ''): Pick<Extract<RunStatus, { kind: 'running' }>, 'use'> {
  const text = boundedLine(Buffer.from(words, 'base64').toString(), MOST_USE_TEXT);
  if (idle === 'unknown') return { use: { kind: 'unknown', why: text } };
  return /^\d{1,15}$/.test(idle) ? { use: { kind: 'known', idleMs: Number(idle), last: text } } : {};
}

/**
 * Returns the runner's last word on a stream. Other text may stand before it: sshd lets bash read a .bashrc that prints.
 * Undefined if the runner reported nothing.
 */
export function lastWord(text: string): string | undefined {
  const line = text.split('\n').findLast((candidate) => candidate.startsWith(SAID));
  return line?.slice(SAID.length);
}

/** @throws Error for a line that no runner of this version writes */
export function parseState(line: string): StartAnswer {
  const [kind, ...fields] = line.split(' ');
  // The account belongs to the job, so the answer may be forged: a number becomes part of an object's name, and of a time.
  const number = (position: number, most = Number.MAX_SAFE_INTEGER): number => {
    const value = /^\d{1,16}$/.test(fields[position] ?? '') ? Number(fields[position]) : NaN;
    if (!(value <= most))
      throw new Error(`on-host runner: field ${position + 1} of ${quotedName(line)} is no such number`);
    return value;
  };
  // Absent for a run that an earlier runner has started, and empty if a tool of the host failed.
  const quietMs = (position: number): { readonly quietMs?: number } =>
    ['-', '', undefined].includes(fields[position]) ? {} : { quietMs: number(position) };
  switch (kind) {
    case 'absent':
      return { kind };
    case 'starting':
      return { kind, ...(fields.length > 0 && { waitsFor: cut(fields.join(' ')) }) };
    case 'blocked':
      return { kind, message: cut(fields.join(' ')) };
    case 'running':
      return {
        ...{ kind, startedAt: number(0), outputBytes: number(1), ...quietMs(2) },
        ...(fields[3] === 'warned' && { isWarned: true }),
        ...useOf(fields[4], fields[5]),
      };
    case 'exited': {
      const signal = fields[1];
      return {
        kind,
        code: number(0, 255),
        ...(signal !== undefined && /^SIG[A-Z0-9+-]{1,16}$/.test(signal) && { signal }),
        startedAt: number(2),
        endedAt: number(3),
        outputBytes: number(4),
        isStopped: fields[5] === 'stopped',
        ...quietMs(6),
        ...hostCondition(fields[7]),
        ...endedBy(fields[8]),
        ...([undefined, '', '-'].includes(fields[9]) ? {} : { killedForMemory: number(9) }),
        ...leftOf(fields[10]),
      };
    }
    case 'orphaned':
      return { kind, outputBytes: number(0) };
    case 'lost':
      return { kind, outputBytes: number(0), ...(fields[1] === 'restarted' && { isRestarted: true }) };
    case 'fenced':
      return { kind, epoch: number(0) };
    default:
      throw new Error(`on-host runner: ${quotedName(line)} is no status of this version`);
  }
}

const EXIT_RECORD =
  /^\{"v":1,"run":"(?<run>[^"]*)","state":"(?<state>exited [^"]*)"(?:,"proof":"(?<proof>[0-9a-f]*)")?\}$/;

/** Reads the form that the runner's `verb_publish` writes; older runners write no proof. Undefined if the proof is missing. */
export function parseExitRecord(
  content: string,
  { runId, proof }: ExitRecordOf,
): Extract<RunStatus, { kind: 'exited' }> | undefined {
  const { run, state = '', proof: borne } = EXIT_RECORD.exec(content)?.groups ?? {};
  if (run !== runId || (proof !== undefined && borne !== proof)) return undefined;
  try {
    const status = parseState(state);
    return status.kind === 'exited' ? status : undefined;
  } catch {
    // The form of another version, or not written by a host.
    return undefined;
  }
}

/** The same record, written by a worker to which the host has reported the end. */
export function formatExitRecord(
  status: Extract<RunStatus, { kind: 'exited' }>,
  { runId, proof = '' }: ExitRecordOf,
): string {
  const { code, signal, startedAt, endedAt, outputBytes, isStopped, host, endedBy: by, killedForMemory } = status;
  const left = status.left && Buffer.from(leftProcessesText(status.left)).toString('base64');
  // The time since the end is only valid when it is reported, not when the record is read.
  const quietMs = '-';
  const words = [code, signal, startedAt, endedAt, outputBytes, isStopped ? 'stopped' : undefined, quietMs];
  const state = [...words, host, by, killedForMemory, left].map((word) => word ?? '-').join(' ');
  return JSON.stringify({ v: 1, run: runId, state: `exited ${state}`, ...(proof !== '' && { proof }) });
}

const told = z.array(z.string()).transform((texts) => texts.slice(0, MOST_TOLD).map(cut));
const total = z.number().int().nonnegative().max(Number.MAX_SAFE_INTEGER);
const round = { at: total, files: total, bytes: total, unmatched: told, problems: told };
const earlier = {
  ...{ at: total.exactOptional(), files: total.exactOptional(), bytes: total.exactOptional() },
  ...{ unmatched: told.exactOptional(), problems: told.exactOptional() },
};
const reason = z.string().transform(cut);
const outputsShape = z.discriminatedUnion('state', [
  z.object({ state: z.literal('none') }),
  z.object({ state: z.literal('storing'), reason: reason.exactOptional() }),
  z.object({ state: z.literal('stored'), ...round }),
  z.object({ state: z.literal('failed'), reason, ...earlier }),
]);

/** Reads the answer of `verb_outputs` of the runner. @throws Error for an answer that no runner of this version gives */
export function parseOutputs(line: string): RunOutputsStatus {
  const said = /^outputs (\{.*\}) *$/.exec(line)?.[1];
  const wrong = new Error(`on-host runner: ${quotedName(line)} says nothing of outputs`);
  if (said === undefined) throw wrong;
  try {
    // Names of files may contain any bytes.
    return outputsShape.parse(JSON.parse(said));
  } catch {
    throw wrong;
  }
}
