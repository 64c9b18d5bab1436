import { shellQuote } from '../../domain/shell-quote.js';
import type { ModulePlan } from '../../domain/modules/module.js';
import type { FileSource } from '../../domain/file-source.js';
import { afterMark } from './output-streams.js';
import { applyModules } from './modules-call.js';
import { deliverOutputs } from './deliver-outputs.js';
import { getFile, putFile } from './file-copy.js';
import type {
  CommandEnd,
  CommandOptions,
  GetFileOptions,
  HostConnection,
  HostTarget,
  ModuleOutcome,
  OutputsTaker,
  PutFileOptions,
  ReceivedFile,
  RunOutputsStatus,
  RunRequest,
  RunStatus,
  SetUpListener,
  StacksRequest,
} from './port.js';
import type { HostStacks } from '../../domain/stacks/stack.js';
import { takeStacks } from './stacks/take-stacks.js';
import type { StopNotice } from '../../domain/stop-notice.js';
import { putContents } from './put-contents.js';
import { startCall } from './run-payload.js';
import { lastWord, parseOutputs, parseState } from './run-status.js';
import type { StartAnswer } from './run-status.js';
import type { RunnerClient } from './runner-client.js';
import type { HostLink } from './host-link.js';
import { MachineVerbs } from './machine-verbs.js';
import type { StoreFetch } from './store-fetch.js';

export interface FollowOptions {
  /** Seconds between two looks at the output. */
  readonly pollSeconds: number;
  /** Wakes per line instead: lower delay at 6 times the cost (docs/facts.md, "Hosts over SSH"). For fewer than 10 hosts. */
  readonly useInotify: boolean;
}

/** A link and the objects that all its holders share. */
export interface LinkUsers {
  readonly link: HostLink;
  readonly runner: RunnerClient;
  readonly fetch: StoreFetch;
}

/** One holder's view of a shared link. `onClose` tells the fleet that the holder is done. */
export class RunnerHostConnection implements HostConnection {
  readonly target: HostTarget;
  /** For code that looks after machines that outlive their slices. */
  readonly machine: MachineVerbs;
  readonly #link: HostLink;
  readonly #runner: RunnerClient;
  readonly #fetch: StoreFetch;
  readonly #follow: FollowOptions;
  readonly #onClose: () => void;

  constructor({ link, runner, fetch }: LinkUsers, follow: FollowOptions, onClose: () => void) {
    this.target = link.target;
    this.machine = new MachineVerbs(runner);
    this.#link = link;
    this.#runner = runner;
    this.#fetch = fetch;
    this.#follow = follow;
    this.#onClose = onClose;
  }

  applyModules(
    plans: readonly ModulePlan[],
    listener: SetUpListener,
    signal: AbortSignal,
  ): Promise<readonly ModuleOutcome[]> {
    const context = { runner: this.#runner, where: this.#link.where, fetch: this.#fetch };
    return applyModules(context, plans, listener, signal);
  }

  async workerNumber(): Promise<number | undefined> {
    const { stdout } = await this.#link.exec(ASK_WORKER_NUMBER);
    const said = /\r?\n\r?\n(\d{1,6})\s*$/.exec(stdout.toString())?.[1];
    return said === undefined ? undefined : Number(said);
  }

  async forgetModules(names: readonly string[]): Promise<void> {
    await this.#runner.call(['modules-forget', ...names]);
  }

  async startRun(request: RunRequest): Promise<StartAnswer> {
    const { words, stdin } = startCall(request, this.target);
    return this.#said(await this.#runner.call(words, { stdin }));
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

  async warnRun(runId: string, reason: string | undefined): Promise<RunStatus> {
    const words = reason === undefined ? [] : [JSON.stringify({ v: 1, cause: 'maintenance', reason })];
    return notFenced(this.#said(await this.#runner.call(['warn', runId, ...words])));
  }

  runStacks(request: StacksRequest): Promise<HostStacks> {
    return takeStacks(this, request);
  }

  async runOutputs(runId: string): Promise<RunOutputsStatus> {
    const { stdout } = await this.#runner.call(['outputs', runId]);
    return parseOutputs(this.#line(stdout));
  }

  async deliverOutputs(runId: string, taker: OutputsTaker, signal: AbortSignal): Promise<'settled' | 'cut'> {
    // Installs the runner if the host lacks it.
    await this.runStatus(runId);
    return deliverOutputs(this.#runner, runId, taker, { where: this.#link.where, signal });
  }

  async exec(command: string, options: CommandOptions): Promise<CommandEnd> {
    const { code, signal } = await this.#link.exec(command, options);
    return { ...(code !== undefined && { code }), ...(signal !== undefined && { signal }) };
  }

  putFile(source: FileSource | Buffer, path: string, options: PutFileOptions): Promise<'unchanged' | 'done'> {
    return putFile(this.#link, source, path, options);
  }

  putContents(contents: readonly FileSource[], folder: string, signal: AbortSignal): Promise<void> {
    return putContents(this.#link, contents, folder, signal);
  }

  getFile(
    path: string,
    onChunk: (chunk: Buffer) => void | Promise<void>,
    options: GetFileOptions,
  ): Promise<ReceivedFile> {
    return getFile(this.#link, path, onChunk, options);
  }

  close(): void {
    this.#onClose();
  }

  #said({ stdout }: { readonly stdout: Buffer }): StartAnswer {
    return parseState(this.#line(stdout));
  }

  #line(stdout: Buffer): string {
    const line = lastWord(stdout.toString());
    if (line === undefined)
      throw new Error(
        `${this.#link.where}: the on-host runner gave no answer: '${stdout.toString().trim().slice(-500)}'`,
      );
    return line;
  }
}

function notFenced(answer: StartAnswer): RunStatus {
  if (answer.kind === 'fenced') throw new Error(`on-host runner: 'fenced ${answer.epoch}' answers a start only`);
  return answer;
}

/** Uses bash, which every command needs, because an image may lack curl. JAX numbers its processes by this value on a TPU VM. */
const ASK_WORKER_NUMBER = `exec timeout -k 1 5 bash -c ${shellQuote(`place=\${GCE_METADATA_HOST:-169.254.169.254}
case $place in *:*) port=\${place##*:} place=\${place%:*} ;; *) port=80 ;; esac
exec 3<> "/dev/tcp/$place/$port" || exit 1
printf "GET /computeMetadata/v1/instance/attributes/agent-worker-number HTTP/1.0\\r\\nHost: %s\\r\\nMetadata-Flavor: Google\\r\\n\\r\\n" "$place" >&3
exec cat <&3`)} 2> /dev/null`;
