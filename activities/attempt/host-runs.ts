import { type HostConnection, reachesStore, type RunStatus } from '../../cloud/hosts/port.js';
import type { AttemptEnd, AttemptInput } from '../../contract/job-activities.js';
import { largest } from '../../domain/extremes.js';
import { kindOfJob, machineKind } from '../../domain/machines.js';
import { commandScript } from '../../domain/modules/command.js';
import { patienceLeftMs } from '../../domain/recovery/decisions.js';
import type { HostEnd, HostPlace } from '../../domain/recovery/host-ends.js';
import type { Effect, News } from '../../domain/recovery/supervision-state.js';
import { logPrefix } from '../../domain/store-layout.js';
import type { EpochMs } from '../../domain/units.js';
import type { ActivityDependencies } from '../dependencies.js';
import { ofJob, secretVariables } from '../secret-values.js';
import { type AcceleratorWaits, acceleratorWaits } from './accelerator-waits.js';
import { type AttemptHost, commandHostsOf, type HostCaller, placeOf, runIdOf } from './attempt-hosts.js';
import { DeliveredOutputs } from './outputs.js';
import { type ExitProofOf, exitProofs, endOf, isUnrecorded, keepEnd, storedEnds, attend } from './ends.js';
import { HostStops } from './host-stops.js';
import { MetricsOfHost } from './host-metrics.js';
import type { HostWarnings } from './host-warnings.js';
import { LastOutput, isOver, KnownOutput, lostTailText } from './lost-tail.js';
import { logLimitOf, LogStream, type Shipping } from './log-stream.js';
import { followsOf } from './followed-jobs.js';
import { pause } from './activity-end.js';
import { runRequest, startRun } from './run-request.js';
import { silenceEnd, silenceLimitOf, SilenceWatch, tellOfSilentHosts } from './silence-watch.js';
import { STACKS_MS, storeStacks } from './silent-stacks.js';
import type { SliceGuard } from './slice-guard.js';
import { StorePatience, tellJobOfEnd, tellJobOfTrouble } from './store-patience.js';
import { untilIdle } from './use-watch.js';

interface Around {
  readonly callerUntil: (signal: AbortSignal) => HostCaller;
  readonly guard: SliceGuard;
  readonly warnings: HostWarnings;
  /** Gets each host's end when it is known, and again when its output is stored. Also gets the silence of all hosts. */
  readonly news: Pick<MessageQueue<News>, 'put' | 'fail'>;
  readonly signal: AbortSignal;
}

/** The command of an attempt on its hosts: starts it, or attaches to it, ships what it prints, and tells how it ends on each. */
export class HostRuns {
  readonly stops: HostStops;
  readonly #input: AttemptInput;
  readonly #around: Around;
  readonly #caller: HostCaller;
  readonly #shipping: Shipping & Required<Pick<Shipping, 'patience' | 'isFollowed'>>;
  readonly #streams = new Map<AttemptHost, LogStream>();
  readonly #metrics = new Map<AttemptHost, MetricsOfHost>();
  /** Hosts whose whole output is stored. */
  readonly #stored = new Set<AttemptHost>();
  readonly #known: ReadonlyMap<AttemptHost, KnownOutput>;
  /** Includes the proof that a host's exit record must bear. */
  readonly #dependencies: ActivityDependencies & { readonly proofOf: ExitProofOf };
  readonly #runId: string;
  readonly #hosts: readonly AttemptHost[];
  readonly #running = new Map<AttemptHost, Promise<HostEnd>>();
  /** Ends that hosts have reported, even while their last lines are being shipped. */
  readonly #ended = new Map<AttemptHost, HostEnd>();
  /** Times of the ends, by this worker's clock. */
  readonly #endedAt = new Map<HostEnd, EpochMs>();
  /** For hosts whose files the worker stores: resolves when it has stored them. */
  readonly #delivered = new Map<AttemptHost, Promise<void>>();
  readonly #silence: SilenceWatch | undefined;
  readonly #lastOutput = new LastOutput();
  readonly #outputs: DeliveredOutputs;
  readonly #waits: AcceleratorWaits;
  #secrets: ReturnType<typeof secretVariables> | undefined;

  constructor(dependencies: ActivityDependencies, input: AttemptInput, around: Around) {
    const { callerUntil, guard, signal } = around;
    this.#input = input;
    this.#around = around;
    this.#caller = callerUntil(signal);
    this.#runId = runIdOf(input);
    this.#waits = acceleratorWaits(input);
    this.#outputs = new DeliveredOutputs(dependencies.store, input, this.#caller, signal);
    this.#dependencies = { ...dependencies, proofOf: exitProofs(dependencies.installation, input) };
    this.#hosts = commandHostsOf(input);
    this.#shipping = {
      ...{ ...dependencies, patience: new StorePatience(signal, tellJobOfTrouble(input)) },
      ...logLimitOf(input, this.#hosts.length),
      isFollowed: followsOf(dependencies.store, input.job.id),
    };
    const [running, ended, delivered] = [this.#running, this.#ended, this.#delivered];
    this.stops = new HostStops({ input, caller: this.#caller, guard, signal, running, ended, delivered });
    this.#known = new Map(this.#hosts.map((host) => [host, new KnownOutput(input.runsSince)]));
    const limit = silenceLimitOf(input.spec.timeouts?.noOutput, this.#hosts.length);
    if (limit === undefined) return;
    const ask = (host: AttemptHost, until: AbortSignal): Promise<RunStatus> => this.#statusOf(host, callerUntil(until));
    const watching = { ask, onAlone: tellOfSilentHosts(input) };
    this.#silence = new SilenceWatch(limit, this.#hosts, watching, signal);
  }

  /** @returns the hosts that run the command. A job without a command holds its slices until it is cancelled */
  start(): readonly HostPlace[] {
    const { news, signal } = this.#around;
    const script = commandScript(this.#input.spec);
    if (script === undefined) return [];
    for (const host of this.#hosts) {
      const ended = this.#runOn(host, script);
      this.#running.set(host, ended);
      ended.then((end) => news.put({ of: 'host', end, isStored: true }), news.fail);
    }
    void attend(this.#input.spec, this.#running, (host) => this.#statusOf(host), signal);
    this.#silence?.silent().then((silence) => news.put({ of: 'silence', end: silenceEnd(silence) }), news.fail);
    this.#watchUse();
    return this.#hosts.map(({ target }) => placeOf(target));
  }

  #watchUse(): void {
    const { callerUntil, news, signal } = this.#around;
    const { idleSeconds } = this.#input.spec.workspace ?? {};
    if (idleSeconds === undefined) return;
    const ask = (host: AttemptHost, until: AbortSignal): Promise<RunStatus> => this.#statusOf(host, callerUntil(until));
    const idle = untilIdle(this.#input, idleSeconds, { hosts: this.#hosts, ask, signal });
    idle.then((end) => news.put({ of: 'idle', end }), news.fail);
  }

  #statusOf({ target }: AttemptHost, caller = this.#caller): Promise<RunStatus> {
    return caller.on(target, (connection) => connection.runStatus(this.#runId));
  }

  storeStacks(): Promise<number> {
    const { store, pySpy } = this.#dependencies;
    const { callerUntil, signal } = this.#around;
    return storeStacks({ store, pySpy, callerUntil, limitMs: STACKS_MS, signal }, this.#input, this.#hosts);
  }

  /** Returns whether a slice is lost. If the look takes long, the job is told that its command has ended. */
  async lookAtSlices({ hosts, ends, patience }: Extract<Effect, { do: 'look at slices' }>): Promise<boolean> {
    const { guard } = this.#around;
    const now = Date.now();
    const endedAt = largest(ends.map((end) => this.#endedAt.get(end) ?? now));
    const { areTakenBack } = machineKind(kindOfJob(this.#input.spec));
    const leftMs = patienceLeftMs(patience, { hosts, endedAt, now, areTakenBack });
    if (leftMs < TELL_AFTER_MS) return guard.lookAtAll(leftMs);
    const tell = tellJobOfEnd(this.#input);
    tell(`its command has ended; looking for ${Math.ceil(leftMs / 1000)} s whether its machines were taken`);
    try {
      return await guard.lookAtAll(leftMs);
    } finally {
      tell();
    }
  }

  /** Ends that hosts at these places have stored: of all of them, or of none. */
  storedEnds(places: readonly HostPlace[]): Promise<readonly HostEnd[]> {
    const wanted = new Set(places.map(({ slice, host }) => `${slice}/${host}`));
    const hosts = this.#hosts.filter(({ target }) => wanted.has(`${target.slice}/${target.index}`));
    const none = pause(STORED_ENDS_MS, this.#around.signal).then(() => []);
    return Promise.race([storedEnds(this.#dependencies, this.#input, hosts), none]);
  }

  async shipRest(): Promise<void> {
    const patience = pause(LAST_FLUSH_MS, this.#around.signal).catch(() => undefined);
    const rest = [...this.#streams.values(), ...this.#metrics.values()].map((each) => each.flush());
    await Promise.race([Promise.allSettled(rest), patience]);
  }

  /**
   * Says in the log of each host whose end was not seen that more output may have followed the stored bytes, and since when
   * (docs/adr/0043).
   */
  async sayWhatIsLost(end: AttemptEnd): Promise<void> {
    if (!isOver(end)) return;
    const cut = [...this.#streams].filter(([host]) => !this.#stored.has(host));
    const said = cut.map(async ([host, stream]) => {
      const knownUntil = stream.heldSince ?? this.#known.get(host)?.until(stream.storedSince);
      if (knownUntil !== undefined) await stream.lostTail(lostTailText(knownUntil, end));
    });
    const patience = pause(LAST_FLUSH_MS, this.#around.signal).catch(() => undefined);
    await Promise.race([Promise.allSettled(said), patience]);
  }

  async #runOn(host: AttemptHost, script: string): Promise<HostEnd> {
    const { target } = host;
    const prefix = logPrefix(this.#input.job.id, this.#input.attempt, 'command');
    const known = this.#known.get(host) as KnownOutput;
    const [stream, metrics, asked] = await Promise.all([
      LogStream.open(this.#shipping, prefix, host.number, this.#around.signal).then((opened) => {
        // Set before the host answers, so that a host that never does has a log too.
        this.#streams.set(host, opened);
        return opened;
      }),
      this.#metricsOf(host),
      this.#caller.on(target, async (connection) => {
        const end = await this.#endBeforeStart(host, connection);
        if (end !== undefined) return { kind: 'ended before', end } as const;
        known.asked();
        const request = runRequest(this.#dependencies, this.#input, host, script);
        return startRun(connection, request, this.#input.spec.secrets && this.#secretsOnce);
      }),
    ]);
    if (asked.kind === 'ended before') {
      this.#heard(host, asked.end);
      return asked.end;
    }
    const started = await this.#waits.through(host, asked, async () => {
      await pause(WAIT_LOOK_MS, this.#around.signal);
      return this.#statusOf(host);
    });
    if (started.kind === 'fenced') {
      this.#stored.add(host);
      return { kind: 'fenced', at: placeOf(target), epoch: started.epoch };
    }
    const delivered = this.#outputs.from(host);
    if (!reachesStore(target, this.#dependencies.store.bucket)) this.#delivered.set(host, delivered);
    if ('outputBytes' in started) stream.skipBeyondLimit(started.outputBytes);
    known.attached(started, stream.position);
    this.#silence?.reading(host, started, () => stream.position);
    this.#around.warnings.attached(host, started);
    let read = metrics.outputFrom(stream.position);
    const ship = (bytes: Buffer): void | Promise<void> => {
      metrics.output(bytes);
      const chunk = bytes.subarray(Math.max(0, stream.position - read));
      read += bytes.length;
      if (chunk.length === 0) return undefined;
      this.#silence?.heard(host, chunk.length);
      this.#lastOutput.heard(host, chunk);
      const stored = stream.append(chunk);
      known.read(stream.position);
      return stored;
    };
    for (;;) {
      await this.#caller.on(target, (connection) => {
        const file = { offset: metrics.fileFrom, onChunk: (bytes: Buffer) => metrics.file(bytes) };
        return connection.followOutput(this.#runId, read, ship, this.#around.signal, file);
      });
      const status = await this.#statusOf(host);
      this.#silence?.said(host, status);
      if ('outputBytes' in status && stream.position >= status.outputBytes) known.read(stream.position);
      const end = await this.#endOn(host, status);
      if (end) {
        this.#heard(host, end);
        await Promise.all([stream.flush(), metrics.flush()]);
        this.#stored.add(host);
        return end;
      }
    }
  }

  async #metricsOf(host: AttemptHost): Promise<MetricsOfHost> {
    const { job, attempt } = this.#input;
    const metrics = await MetricsOfHost.open(this.#shipping, { job: job.id, attempt, host: host.number });
    this.#metrics.set(host, metrics);
    return metrics;
  }

  #heard(host: AttemptHost, end: HostEnd): void {
    this.#ended.set(host, end);
    this.#around.news.put({ of: 'host', end, isStored: false });
  }

  /**
   * The stored end of a command that another worker has started, on a host that no longer knows the run. A command that has ended
   * is not started again.
   */
  async #endBeforeStart(host: AttemptHost, connection: HostConnection): Promise<HostEnd | undefined> {
    if (this.#input.runsSince === undefined) return undefined;
    const { kind } = await connection.runStatus(this.#runId);
    return kind === 'absent' ? this.#storedEnd(host) : undefined;
  }

  /** The host's own report counts if it has one. For a run that it has lost, the record that it or a worker has stored counts. */
  async #endOn(host: AttemptHost, status: RunStatus): Promise<HostEnd | undefined> {
    const end = this.#lastOutput.with(host, endOf(status, placeOf(host.target)));
    if (end === undefined) return undefined;
    if (isUnrecorded(status)) return (await this.#storedEnd(host)) ?? end;
    if (status.kind !== 'exited') return end;
    this.#endedAt.set(end, Date.now() - (status.quietMs ?? 0));
    // Most attempts are over by then, and their history has the reason of their end.
    void pause(KEEP_AFTER_MS, this.#around.signal).then(
      () => keepEnd(this.#dependencies, this.#input, host, status),
      () => undefined,
    );
    return end;
  }

  async #storedEnd({ target }: AttemptHost): Promise<HostEnd | undefined> {
    return (await this.storedEnds([placeOf(target)]))[0];
  }

  readonly #secretsOnce = (): ReturnType<typeof secretVariables> =>
    (this.#secrets ??= secretVariables(ofJob(this.#dependencies.installation, this.#input.settings), this.#input.spec));
}

/** Pause between two looks at a command that waits for an accelerator. */
const WAIT_LOOK_MS = 1_000;
/** Time after which a reported end is stored, unless the attempt is over by then. */
const KEEP_AFTER_MS = 2_000;
/** Shortest look at the slices of which the job is told. */
const TELL_AFTER_MS = 3_000;

/** Time limit for reading stored ends. A store that does not answer must not hide a loss from its job for longer. */
const STORED_ENDS_MS = 10_000;

const LAST_FLUSH_MS = 10_000;

/** Messages of many senders, for one reader that takes them in the order in which they came. */
export class MessageQueue<Message> {
  readonly #messages: Message[] = [];
  #failure: { readonly error: unknown } | undefined;
  #wake: () => void = () => undefined;

  put(message: Message): void {
    this.#messages.push(message);
    this.#wake();
  }

  /** The reader gets this error in place of the next message. The first one counts. */
  readonly fail = (error: unknown): void => {
    this.#failure ??= { error };
    this.#wake();
  };

  async take(): Promise<Message> {
    for (;;) {
      if (this.#failure !== undefined) throw this.#failure.error;
      if (this.#messages.length > 0) return this.#messages.shift() as Message;
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }
}
