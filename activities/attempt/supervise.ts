import { log } from '@temporalio/activity';
import type { HostConnection, HostTarget, RunRequest, RunStatus } from '../../cloud/hosts/port.js';
import { commandHosts, deviceWaitMs, runEnvironment } from '../../domain/run-environment.js';
import { logPrefix } from '../../domain/store-layout.js';
import type { AttemptEnd, AttemptInput } from '../contract.js';
import type { ActivityDependencies } from '../dependencies.js';
import { connectingKey } from '../connecting-key.js';
import { commandContainer, commandScript } from '../modules/index.js';
import { secretVariables } from '../secret-values.js';
import { ActivityEnd } from './activity-end.js';
import { type AttemptHost, HostCaller, hostsOf, runIdOf } from './attempt-hosts.js';
import { type HostEnd, verdictOf, wasEndedByOthers } from './host-ends.js';
import { LogStream } from './log-stream.js';
import { pause } from './pause.js';
import { type AskStatus, type Silence, SilenceWatch } from './silence-watch.js';
import { SliceGuard } from './slice-guard.js';

/**
 * Starts the command on every host that runs it, or attaches to it where it was started, ships what it prints, and ends
 * with the attempt. Starting is left to the on-host runner, which does it once whatever is repeated here.
 */
export async function superviseAttempt(dependencies: ActivityDependencies, input: AttemptInput): Promise<AttemptEnd> {
  const key = await connectingKey(dependencies.installation, input.spec.ssh);
  const end = new ActivityEnd();
  const guard = new SliceGuard(dependencies.tpu, input.slices, input.settings.timings.notFoundApartMs, end.signal);
  const callerUntil = (signal: AbortSignal): HostCaller =>
    new HostCaller(dependencies.hosts, key, signal, ({ slice }) => guard.suspect(slice));
  const supervision = new Supervision(dependencies, input, callerUntil, guard, end.signal);
  const ended = supervision.run();
  ended.catch(() => undefined);
  try {
    return await Promise.race([
      ended,
      guard.lost.then((slices) => supervision.afterLoss(slices)),
      end.handedOver.then((): AttemptEnd => ({ kind: 'handed-over' })),
      pause(input.settings.timings.superviseMs, end.signal).then((): AttemptEnd => ({ kind: 'still-running' })),
    ]);
  } finally {
    await supervision.shipRest();
    end.finish();
  }
}

class Supervision {
  readonly #input: AttemptInput;
  readonly #caller: HostCaller;
  readonly #guard: SliceGuard;
  readonly #signal: AbortSignal;
  readonly #dependencies: ActivityDependencies;
  readonly #streams: LogStream[] = [];
  readonly #runId: string;
  readonly #hosts: readonly AttemptHost[];
  readonly #running = new Map<AttemptHost, Promise<HostEnd>>();
  readonly #silence: SilenceWatch | undefined;
  #secrets: Promise<Readonly<Record<string, string>>> | undefined;

  constructor(
    dependencies: ActivityDependencies,
    input: AttemptInput,
    callerUntil: (signal: AbortSignal) => HostCaller,
    guard: SliceGuard,
    signal: AbortSignal,
  ) {
    this.#dependencies = dependencies;
    this.#input = input;
    this.#caller = callerUntil(signal);
    this.#guard = guard;
    this.#signal = signal;
    this.#runId = runIdOf(input);
    this.#hosts = commandHostsOf(input);
    const limitSeconds = input.spec.timeouts?.noOutput;
    if (limitSeconds === undefined) return;
    const ask: AskStatus = ({ target }, until) =>
      callerUntil(until).on(target, (connection) => connection.runStatus(this.#runId));
    this.#silence = new SilenceWatch(limitSeconds * 1000, this.#hosts, ask, signal);
  }

  async run(): Promise<AttemptEnd> {
    const script = commandScript(this.#input.spec);
    // A job without a command holds its slices until it is cancelled; only the guard can end it.
    if (script === undefined) return new Promise(() => undefined);
    for (const host of this.#hosts) this.#running.set(host, this.#runOn(host, script));
    const silent = this.#silence?.silent() ?? new Promise<never>(() => undefined);
    const ends = await Promise.race([this.#untilDecided(), silent]);
    if ('kind' in ends) return this.#afterSilence(ends);
    const verdict = verdictOf(ends);
    // What looks like the task's own failure may be the first that is seen of a slice that is being taken away.
    if (verdict.kind !== 'exited' || verdict.code === 0) return verdict;
    return this.#unlessLost(verdict, wasEndedByOthers(ends) ? SHUTDOWN_PATIENCE_MS : 0);
  }

  /** Nothing was printed, on slices that are there: on a slice that is being taken away nobody can print. */
  #afterSilence({ quietMs, last }: Silence): Promise<AttemptEnd> {
    const { what, slice, host } = last;
    return this.#unlessLost(
      { kind: 'no-output', last: { what, slice, host, at: Math.round(Date.now() - quietMs) } },
      0,
    );
  }

  /** Never, where a slice is found to be lost: that is the attempt's end then. */
  async #unlessLost(verdict: AttemptEnd, patienceMs: number): Promise<AttemptEnd> {
    const isLost = await this.#guard.lookAtAll(patienceMs);
    return isLost ? new Promise(() => undefined) : verdict;
  }

  /** The rest of the attempt's hosts must not go on alone: their next attempt will start anew. */
  async afterLoss(slices: Extract<AttemptEnd, { kind: 'slices-lost' }>['slices']): Promise<AttemptEnd> {
    const lost = new Set(slices.map(({ index }) => index));
    await this.#stopWhere(({ slice }) => !lost.has(slice), 'another slice of the job was lost');
    return { kind: 'slices-lost', slices };
  }

  async shipRest(): Promise<void> {
    const patience = pause(LAST_FLUSH_MS, this.#signal).catch(() => undefined);
    await Promise.race([Promise.allSettled(this.#streams.map((stream) => stream.flush())), patience]);
  }

  /** All hosts done, or one that failed and then all others stopped. */
  async #untilDecided(): Promise<readonly HostEnd[]> {
    const all = [...this.#running.values()];
    const bad = Promise.race(
      all.map(async (end) => ((await end).kind === 'done' ? new Promise<never>(() => undefined) : end)),
    );
    const first = await Promise.race([Promise.all(all), bad]);
    if (Array.isArray(first)) return first;
    log.info('a host failed: stopping the others');
    await this.#stopWhere(() => true, 'the command failed on another host');
    return Promise.race([Promise.all(all), pause(LAST_LINES_MS, this.#signal).then(() => [first])]);
  }

  async #stopWhere(isMeant: (target: HostTarget) => boolean, reason: string): Promise<void> {
    const graceMs = this.#input.spec.graceSeconds * 1000;
    const targets = [...this.#running.keys()].map(({ target }) => target).filter(isMeant);
    const stops = targets.map((target) =>
      this.#caller.on(target, (connection) => connection.stopRun(this.#runId, graceMs, { cause: 'attempt', reason })),
    );
    await Promise.race([Promise.allSettled(stops), pause(graceMs + LAST_LINES_MS, this.#signal)]);
  }

  async #runOn(host: AttemptHost, script: string): Promise<HostEnd> {
    const { target } = host;
    const at = { slice: target.slice, host: target.index };
    const prefix = logPrefix(this.#input.job.id, this.#input.attempt, 'command');
    const [stream, started] = await Promise.all([
      LogStream.open(this.#dependencies, prefix, host.number, this.#signal),
      this.#caller.on(target, (connection) => this.#start(connection, this.#request(target, script))),
    ]);
    this.#streams.push(stream);
    if (started.kind === 'fenced') return { kind: 'fenced', at, epoch: started.epoch };
    this.#silence?.reading(host, started, () => stream.position);
    const ship = (chunk: Buffer): void | Promise<void> => {
      this.#silence?.heard(host, chunk.length);
      return stream.append(chunk);
    };
    for (;;) {
      await this.#caller.on(target, (connection) =>
        connection.followOutput(this.#runId, stream.position, ship, this.#signal),
      );
      const status = await this.#caller.on(target, (connection) => connection.runStatus(this.#runId));
      this.#silence?.said(host, status);
      const end = endOf(status, at);
      if (end) {
        await stream.flush();
        return end;
      }
    }
  }

  /** Secrets are read once, and only where the command has not begun: one that was removed since ends nothing that runs. */
  async #start(connection: HostConnection, request: RunRequest): ReturnType<HostConnection['startRun']> {
    const { spec } = this.#input;
    if (spec.secrets === undefined || hasBegun(await connection.runStatus(this.#runId)))
      return connection.startRun(request);
    const secrets = await (this.#secrets ??= secretVariables(this.#dependencies.installation, spec));
    return connection.startRun({ ...request, env: { ...request.env, ...secrets } });
  }

  #request({ slice, index }: HostTarget, script: string): RunRequest {
    const { spec, job, attempt, slices, settings, previousEnd } = this.#input;
    const place = {
      job: job.id,
      attempt,
      bucket: settings.bucket,
      ...(previousEnd === undefined ? {} : { previousEnd }),
      slices: slices.map((own) => ({ index: own.index, name: own.ref.name, zone: own.ref.zone, hosts: own.hosts })),
    };
    const container = commandContainer(spec);
    const waitMs = deviceWaitMs(spec);
    return {
      runId: this.#runId,
      epoch: attempt,
      script,
      env: runEnvironment(spec, place, slice, index),
      ...(container && { container }),
      ...(waitMs !== undefined && { accelerator: { waitMs } }),
    };
  }
}

function commandHostsOf(input: AttemptInput): readonly AttemptHost[] {
  const { spec, slices } = input;
  return hostsOf(input).filter(({ target }) => {
    const own = slices.find(({ index }) => index === target.slice);
    return own !== undefined && commandHosts(spec, own.hosts).some(({ index }) => index === target.index);
  });
}

/** What is starting may yet come to nothing (an accelerator that stays busy), and is then started by whoever asks next. */
function hasBegun({ kind }: RunStatus): boolean {
  return kind !== 'absent' && kind !== 'starting' && kind !== 'blocked';
}

function endOf(status: RunStatus, at: { slice: number; host: number }): HostEnd | undefined {
  switch (status.kind) {
    case 'starting':
    case 'running':
      return undefined;
    case 'exited': {
      const { code, signal, startedAt, endedAt, isStopped } = status;
      const exit = { at, code, startedAt, endedAt, isStopped, ...(signal === undefined ? {} : { signal }) };
      return code === 0 && signal === undefined ? { kind: 'done', ...exit } : { kind: 'failed', ...exit };
    }
    case 'lost':
      return { kind: 'run-lost', at, message: 'the command is gone without an exit code (the host was restarted)' };
    case 'orphaned':
      return { kind: 'run-lost', at, message: 'the runner that held the command was killed' };
    case 'blocked':
      return { kind: 'run-lost', at, message: status.message };
    case 'absent':
      return { kind: 'run-lost', at, message: 'the host knows nothing of the command that was started on it' };
  }
}

/**
 * After the guest was told to shut down the node was seen READY for some more seconds (facts/cloud-tpu.md 1.4: the notice is
 * about 30 s); a command that was killed by somebody else waits as long for its verdict.
 */
const SHUTDOWN_PATIENCE_MS = 60_000;

/** For the last lines of hosts that were stopped. */
const LAST_LINES_MS = 10_000;
const LAST_FLUSH_MS = 10_000;
