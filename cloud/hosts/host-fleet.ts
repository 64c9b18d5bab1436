import type { Reach } from '../../domain/slice.js';
import { shellQuote } from '../../domain/shell-quote.js';
import type { ModulePlan } from '../../domain/modules/module.js';
import type { FileSource } from '../../domain/local-files.js';
import type { HostStacks } from '../../domain/stacks/stack.js';
import type { StopNotice } from '../../domain/early-end.js';
import { abortable } from '../abort.js';
import { type HostLink, afterMark } from './remote-exec.js';
import type {
  HostsPort,
  HostTarget,
  SshKey,
  TargetBy,
  CommandEnd,
  CommandOptions,
  FollowedMetrics,
  GetFileOptions,
  HostConnection,
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
import {
  formatExitRecord,
  parseExitRecord,
  lastWord,
  parseOutputs,
  parseState,
  type StartAnswer,
  RunnerClient,
} from './runner-client.js';
import { StoreFetch } from './store-fetch.js';
import { applyModules } from './modules-call.js';
import { deliverOutputs } from './deliver-outputs.js';
import { getFile, putFile, putContents } from './file-copy.js';
import { takeStacks } from './stacks/take-stacks.js';
import { startCall } from './run-payload.js';
import { MachineVerbs } from './machine-verbs.js';

/** The operations by which a fleet reaches hosts of one kind. */
interface FleetWay<Target extends HostTarget> {
  readonly link: (target: Target, key: SshKey) => HostLink;
  /** Identifies the host without the login: a caller that releases a host need not know the key. */
  readonly hostName: (target: Target) => string;
  /** Identifies the login on the host: links of two logins are not shared. */
  readonly loginName: (target: Target, key: SshKey) => string;
  /** Time for which a link without holders is kept for the next step. */
  readonly idleMs: number;
  readonly follow: FollowOptions;
}

interface SharedLink extends LinkUsers {
  readonly host: string;
  holders: number;
  idle?: NodeJS.Timeout;
}

/** A fleet of hosts of one kind. The caller must pass only targets of that kind. */
export interface Fleet<Target extends HostTarget> extends Omit<HostsPort, 'connect' | 'release'> {
  connect(target: Target, key: SshKey, signal: AbortSignal): Promise<RunnerHostConnection>;
  release(targets?: readonly Target[]): void;
}

/** Keeps one link per host and login, shared by all callers. */
export function createFleet<Target extends HostTarget>(way: FleetWay<Target>): Fleet<Target> {
  const links = new Map<string, SharedLink>();

  function sharedLink(target: Target, key: SshKey, name: string): SharedLink {
    const known = links.get(name);
    if (known) return known;
    const link = way.link(target, key);
    const users = { link, runner: new RunnerClient(link), fetch: new StoreFetch(link) };
    const made: SharedLink = { ...users, host: way.hostName(target), holders: 0 };
    links.set(name, made);
    return made;
  }

  function letGo(name: string, shared: SharedLink): void {
    shared.holders -= 1;
    if (shared.holders > 0) return;
    const close = (): void => {
      if (links.get(name) === shared) links.delete(name);
      shared.link.close();
    };
    shared.idle = setTimeout(close, way.idleMs).unref();
  }

  async function connect(target: Target, key: SshKey, signal: AbortSignal): Promise<RunnerHostConnection> {
    signal.throwIfAborted();
    const name = `${way.hostName(target)} ${way.loginName(target, key)}`;
    const shared = sharedLink(target, key, name);
    shared.holders += 1;
    clearTimeout(shared.idle);
    let isHeld = true;
    const close = (): void => {
      if (isHeld) letGo(name, shared);
      isHeld = false;
    };
    try {
      await abortable(shared.link.open(), signal);
    } catch (error) {
      close();
      throw error;
    }
    return new RunnerHostConnection(shared, way.follow, close);
  }

  function release(targets?: readonly Target[]): void {
    const wanted = targets && new Set(targets.map(way.hostName));
    for (const [name, { link, host, idle }] of links) {
      if (wanted && !wanted.has(host)) continue;
      links.delete(name);
      clearTimeout(idle);
      link.close();
    }
  }

  return { connect, release, readExitRecord: parseExitRecord, exitRecord: formatExitRecord };
}

/** Passes each host to the fleet that reaches its kind. */
export function hostsByReach(fleets: { readonly [R in Reach]: Fleet<TargetBy<R>> }): HostsPort {
  const fleetOf = (reach: Reach): Fleet<HostTarget> => fleets[reach];
  return {
    connect: (target, key, signal) => fleetOf(target.reach).connect(target, key, signal),
    readExitRecord: parseExitRecord,
    exitRecord: formatExitRecord,
    release: (targets) => {
      for (const reach of Object.keys(fleets) as Reach[])
        fleetOf(reach).release(targets?.filter((target) => target.reach === reach));
    },
  };
}

interface FollowOptions {
  /** Seconds between two looks at the output. */
  readonly pollSeconds: number;
  /** Wakes per line instead: lower delay at 6 times the cost (docs/facts.md, "Hosts over SSH"). For fewer than 10 hosts. */
  readonly useInotify: boolean;
}

/** A link and the objects that all its holders share. */
interface LinkUsers {
  readonly link: HostLink;
  readonly runner: RunnerClient;
  readonly fetch: StoreFetch;
}

/** One holder's view of a shared link. `onClose` tells the fleet that the holder is done. */
class RunnerHostConnection implements HostConnection {
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
    metrics?: FollowedMetrics,
  ): Promise<number> {
    let reached = offset;
    const onStdout = afterMark(async (chunk) => {
      await onChunk(chunk);
      reached += chunk.length;
    });
    const { pollSeconds, useInotify } = this.#follow;
    const words = ['follow', runId, String(offset), String(pollSeconds), useInotify ? 'inotify' : 'poll'];
    if (metrics === undefined) {
      await this.#runner.call(words, { onStdout, signal }, 'follow');
      return reached;
    }
    // The runner's own words come on stderr too, before the mark.
    let said = '';
    const onStderr = afterMark(metrics.onChunk, (head) => (said = head.toString()));
    const options = { onStdout, onStderr, said: () => said, signal };
    await this.#runner.call([...words, String(metrics.offset)], options, 'follow');
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
