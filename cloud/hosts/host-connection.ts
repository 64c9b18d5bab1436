import { afterMark } from './marked-stream.js';
import { modulePayload } from './module-payload.js';
import { OutputTail } from './output-tail.js';
import { getFile, putFile } from './file-copy.js';
import type {
  CommandEnd,
  CommandOptions,
  FileSource,
  HostConnection,
  HostTarget,
  ModuleOutcome,
  ModulePlan,
  PutFileOptions,
  ReceivedFile,
  RunRequest,
  RunStatus,
  StopNotice,
} from './port.js';
import { shellQuote } from '../../domain/shell-quote.js';
import { lastWord, parseState } from './run-status.js';
import type { StartAnswer } from './run-status.js';
import type { RunnerClient } from './runner-client.js';
import type { SshLink } from './ssh-link.js';

/** After a module's end, for what its last step printed; a daemon that it started may hold the channel open for ever. */
const MODULE_LINGER_MS = 1000;
const TAIL_LINES = 20;

export interface FollowOptions {
  /** Seconds between two looks at the output. */
  readonly pollSeconds: number;
  /** Wakes per line instead: fresher, and 6 times the cost (facts/ssh-fleet.md 3). For fewer than 10 hosts. */
  readonly useInotify: boolean;
}

/** One holder's view of a shared link. `onClose` tells the fleet that this holder is done. */
export class RunnerHostConnection implements HostConnection {
  readonly target: HostTarget;
  readonly #link: SshLink;
  readonly #runner: RunnerClient;
  readonly #follow: FollowOptions;
  readonly #onClose: () => void;

  constructor(link: SshLink, runner: RunnerClient, follow: FollowOptions, onClose: () => void) {
    this.target = link.target;
    this.#link = link;
    this.#runner = runner;
    this.#follow = follow;
    this.#onClose = onClose;
  }

  async applyModule(plan: ModulePlan, output: (chunk: Buffer) => void, signal: AbortSignal): Promise<ModuleOutcome> {
    const tail = new OutputTail(TAIL_LINES);
    const onStdout = (chunk: Buffer): void => {
      tail.add(chunk);
      output(chunk);
    };
    try {
      const words = ['module', plan.name, plan.fingerprint];
      const options = { stdin: modulePayload(plan), onStdout, signal, lingerMs: MODULE_LINGER_MS };
      const { stderr } = await this.#runner.call(words, options);
      return this.#outcome(plan, lastWord(stderr), tail);
    } catch (error) {
      // Aborted: its step goes on without us unless it is told to end. Best effort, for the abort's reason matters more.
      if (signal.aborted) await this.#runner.call(['module-stop', plan.name]).catch(() => undefined);
      throw error;
    }
  }

  async startRun(request: RunRequest): Promise<StartAnswer> {
    const env = Buffer.from(exportLines(request.env));
    const script = Buffer.from(request.script);
    const sizes = [String(env.length), String(script.length)];
    const words = ['start', request.runId, jobOfRun(request.runId), String(request.epoch), ...sizes];
    return this.#said(await this.#runner.call(words, { stdin: Buffer.concat([env, script]) }));
  }

  async runStatus(runId: string): Promise<RunStatus> {
    return notFenced(this.#said(await this.#runner.call(['status', runId])));
  }

  async followOutput(
    runId: string,
    offset: number,
    onChunk: (chunk: Buffer) => void | Promise<void>,
    signal: AbortSignal,
  ): Promise<number> {
    let reached = offset;
    const onStdout = afterMark(async (chunk) => {
      await onChunk(chunk);
      reached += chunk.length;
    });
    const { pollSeconds, useInotify } = this.#follow;
    const words = ['follow', runId, String(offset), String(pollSeconds), useInotify ? 'inotify' : 'poll'];
    await this.#runner.call(words, { onStdout, signal }, 'follow');
    return reached;
  }

  async stopRun(runId: string, graceMs: number, notice: StopNotice): Promise<RunStatus> {
    const words = [
      'stop',
      runId,
      String(Math.ceil(graceMs)),
      JSON.stringify({ v: 1, ...notice, graceSeconds: graceMs / 1000 }),
    ];
    return notFenced(this.#said(await this.#runner.call(words)));
  }

  async exec(command: string, options: CommandOptions): Promise<CommandEnd> {
    const { code, signal } = await this.#link.exec(command, options);
    return { ...(code !== undefined && { code }), ...(signal !== undefined && { signal }) };
  }

  putFile(source: FileSource | Buffer, path: string, options: PutFileOptions): Promise<'unchanged' | 'done'> {
    return putFile(this.#link, source, path, options);
  }

  getFile(path: string, onChunk: (chunk: Buffer) => void | Promise<void>, signal: AbortSignal): Promise<ReceivedFile> {
    return getFile(this.#link, path, onChunk, signal);
  }

  close(): void {
    this.#onClose();
  }

  #said({ stdout }: { readonly stdout: Buffer }): StartAnswer {
    const line = lastWord(stdout.toString());
    if (line === undefined)
      throw new Error(`${this.#link.where}: the on-host runner gave no answer: '${stdout.toString()}'`);
    return parseState(line);
  }

  #outcome(plan: ModulePlan, line: string | undefined, tail: OutputTail): ModuleOutcome {
    if (line === 'unchanged' || line === 'done') return { kind: line };
    const [, step, code] = /^failed (\d+) (\d+)$/.exec(line ?? '') ?? [];
    if (step === undefined)
      throw new Error(`${this.#link.where}: module '${plan.name}' ended without an answer: '${line ?? ''}'`);
    return { kind: 'failed', step: plan.steps[Number(step) - 1]?.name ?? step, code: Number(code), tail: tail.text() };
  }
}

/** Attempts of one job share its epochs: `<job>-a<attempt>` without the attempt. */
function jobOfRun(runId: string): string {
  return runId.replace(/-a\d+$/, '');
}

function exportLines(env: Readonly<Record<string, string>>): string {
  return Object.entries(env)
    .map(([name, value]) => {
      if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) {
        throw new RangeError(`env: '${name}' is no name of an environment variable; use letters, digits and '_'`);
      }
      return `export ${name}=${shellQuote(value)}\n`;
    })
    .join('');
}

function notFenced(answer: StartAnswer): RunStatus {
  if (answer.kind === 'fenced') throw new Error(`on-host runner: 'fenced ${answer.epoch}' answers a start only`);
  return answer;
}
