import { log } from '@temporalio/activity';
import { commandScript } from '../../domain/modules/command.js';
import { type HostConnection, reachesStore, type RunStatus } from '../../cloud/hosts/port.js';
import { decide } from '../../domain/recovery/decide.js';
import { patienceLeftMs } from '../../domain/recovery/decisions.js';
import type { Fact } from '../../domain/recovery/facts.js';
import { endBeforeLoss, type Evidence, evidenceOf, reportedEnd } from '../../domain/recovery/evidence.js';
import { type HostEnd, hostsFact } from '../../domain/recovery/host-ends.js';
import { kindOfJob, machineKind } from '../../domain/machines.js';
import { leftReport } from '../../domain/left-processes.js';
import { logPrefix } from '../../domain/store-layout.js';
import type { EpochMs } from '../../domain/units.js';
import type { AttemptEnd, AttemptInput } from '../../contract/job-activities.js';
import type { ActivityDependencies } from '../dependencies.js';
import type { LostSlice } from '../../domain/recovery/slice-loss.js';
import { connectingKey } from '../connecting-key.js';
import { ofJob } from '../job-secrets.js';
import { messageOf } from '../failures.js';
import { secretVariables } from '../secret-values.js';
import { type AcceleratorWaits, acceleratorWaits } from './accelerator-waits.js';
import { ActivityEnd } from './activity-end.js';
import { type ExitProofOf, exitProofs } from './exit-proof.js';
import { decidingHosts, decisive, untilEnded } from './decisive-ends.js';
import { leadingHost, untilLeaderEnded } from './leading-host.js';
import { HostStops } from './host-stops.js';
import { type AttemptHost, commandHostsOf, HostCaller, runIdOf } from './attempt-hosts.js';
import { HostWarnings } from './host-warnings.js';
import { logLimitOf } from './log-limit.js';
import { LastOutput } from './last-output.js';
import { LogStream, type Shipping } from './log-stream.js';
import { isOver, KnownOutput, lostTailText } from './lost-tail.js';
import { DeliveredOutputs } from './delivered-outputs.js';
import { outputsAfter } from './outputs.js';
import { pause } from './pause.js';
import { attend } from './own-ends.js';
import { DeadHostWatch } from './dead-host-watch.js';
import type { Routes } from './routes.js';
import { endOf, isUnrecorded } from './run-end.js';
import { runRequest, startRun } from './run-request.js';
import { type AskStatus, silenceEnd, SilenceWatch, tellOfSilentHosts } from './silence-watch.js';
import { STACKS_MS, storeStacks } from './silent-stacks.js';
import { SliceGuard } from './slice-guard.js';
import { StorePatience, tellJobOfEnd, tellJobOfTrouble } from './store-patience.js';
import { unreachableHosts } from './unreachable-hosts.js';
import { keepEnd, storedEnds } from './stored-ends.js';
import { watchedHosts } from './watched-hosts.js';
import { largest } from '../../domain/extremes.js';

/**
 * Starts the command on every host that runs it, or attaches to it if it was started, ships its output, and ends with the
 * attempt. The on-host runner does the start, only once however often this is repeated.
 */
export async function superviseAttempt(
  dependencies: ActivityDependencies,
  input: AttemptInput,
  routes: Routes,
): Promise<AttemptEnd> {
  const key = await connectingKey(ofJob(dependencies.installation, input.settings), input);
  const end = new ActivityEnd();
  const guard = new SliceGuard(
    dependencies.machinesOf,
    input.slices,
    input.settings.timings.notFoundApartMs,
    end.signal,
  );
  const unreachable = unreachableHosts(input);
  const callerUntil = (signal: AbortSignal): HostCaller =>
    new HostCaller(dependencies.hosts, key, signal, guard, unreachable);
  const supervision = new Supervision(dependencies, input, callerUntil, guard, end.signal);
  guard.onWarning = (slice) => supervision.warnings.changed(slice);
  const ended = supervision.run();
  ended.catch(() => undefined);
  const hosts = watchedHosts(input, (target) => dependencies.hosts.connect(target, key, end.signal), unreachable);
  const watch = new DeadHostWatch({ ...dependencies, routes, guard, unreachable, hosts, input, signal: end.signal });
  watch.run().catch((error: unknown) => {
    log.error(`hosts are no longer watched: ${messageOf(error)}`);
  });
  let result: AttemptEnd | undefined;
  try {
    result = await Promise.race([
      ended,
      guard.lost.then((slices) => supervision.afterLoss(slices)),
      end.handedOver.then((): AttemptEnd => ({ kind: 'handed-over' })),
      pause(input.settings.timings.superviseMs, end.signal).then((): AttemptEnd => ({ kind: 'still-running' })),
    ]);
    const outputs = await outputsAfter(result, { ...dependencies, input, caller: callerUntil, guard, end });
    if (outputs === 'handed over') result = { kind: 'handed-over' };
    return { ...supervision.withEvidence(result), ...(typeof outputs === 'object' && { outputs }) };
  } finally {
    await supervision.shipRest();
    if (result !== undefined) await supervision.sayWhatIsLost(result);
    end.finish();
  }
}

class Supervision {
  readonly warnings: HostWarnings;
  readonly #input: AttemptInput;
  readonly #caller: HostCaller;
  readonly #callerUntil: (signal: AbortSignal) => HostCaller;
  readonly #guard: SliceGuard;
  readonly #signal: AbortSignal;
  readonly #shipping: Shipping;
  readonly #streams = new Map<AttemptHost, LogStream>();
  /** Hosts whose whole output is stored. */
  readonly #stored = new Set<AttemptHost>();
  readonly #known: ReadonlyMap<AttemptHost, KnownOutput>;
  /** Includes the proof that a host's exit record must bear. */
  readonly #dependencies: ActivityDependencies & { readonly proofOf: ExitProofOf };
  readonly #runId: string;
  readonly #hosts: readonly AttemptHost[];
  /** Hosts whose end is the attempt's: all of them, unless one leads the others. */
  readonly #deciding: readonly AttemptHost[];
  readonly #running = new Map<AttemptHost, Promise<HostEnd>>();
  /** Ends that hosts have reported, even while their last lines are being shipped. */
  readonly #ended = new Map<AttemptHost, HostEnd>();
  /** Times of the ends, by this worker's clock. */
  readonly #endedAt = new Map<HostEnd, EpochMs>();
  /** For hosts whose files the worker stores: resolves when it has stored them. */
  readonly #delivered = new Map<AttemptHost, Promise<void>>();
  readonly #stops: HostStops;
  readonly #silence: SilenceWatch | undefined;
  readonly #lastOutput = new LastOutput();
  readonly #outputs: DeliveredOutputs;
  readonly #waits: AcceleratorWaits;
  /** Evidence by which the attempt's end was decided. */
  #decidedBy: Pick<Evidence, 'by' | 'ends' | 'hosts'> | undefined;
  #secrets: ReturnType<typeof secretVariables> | undefined;

  constructor(
    dependencies: ActivityDependencies,
    input: AttemptInput,
    callerUntil: (signal: AbortSignal) => HostCaller,
    guard: SliceGuard,
    signal: AbortSignal,
  ) {
    this.#input = input;
    this.#caller = callerUntil(signal);
    this.#callerUntil = callerUntil;
    this.#guard = guard;
    this.#signal = signal;
    this.#runId = runIdOf(input);
    this.#waits = acceleratorWaits(input);
    this.#outputs = new DeliveredOutputs(dependencies.store, input, this.#caller, signal);
    this.#dependencies = { ...dependencies, proofOf: exitProofs(dependencies.installation, input) };
    this.warnings = new HostWarnings(this.#runId, this.#caller, guard, signal);
    this.#hosts = commandHostsOf(input);
    this.#shipping = {
      ...{ ...dependencies, patience: new StorePatience(signal, tellJobOfTrouble(input)) },
      ...logLimitOf(input, this.#hosts.length),
    };
    this.#deciding = decidingHosts(input.spec, this.#hosts);
    const [running, ended, delivered] = [this.#running, this.#ended, this.#delivered];
    this.#stops = new HostStops({ input, caller: this.#caller, guard, signal, running, ended, delivered });
    this.#known = new Map(this.#hosts.map((host) => [host, new KnownOutput(input.runsSince)]));
    const limitSeconds = input.spec.timeouts?.noOutput;
    if (limitSeconds === undefined) return;
    const ask: AskStatus = ({ target }, until) =>
      callerUntil(until).on(target, (connection) => connection.runStatus(this.#runId));
    this.#silence = new SilenceWatch(limitSeconds * 1000, this.#hosts, ask, signal);
    this.#silence.onAlone = tellOfSilentHosts(input);
  }

  async run(): Promise<AttemptEnd> {
    const script = commandScript(this.#input.spec);
    // A job without a command holds its slices until it is cancelled; only the guard can end it.
    if (script === undefined) return new Promise(() => undefined);
    for (const host of this.#hosts) this.#running.set(host, this.#runOn(host, script));
    const word = ({ target }: AttemptHost): Promise<unknown> =>
      this.#caller.on(target, (connection) => connection.runStatus(this.#runId));
    void attend(this.#input.spec, this.#running, word, this.#signal);
    const silent = this.#silence?.silent() ?? new Promise<never>(() => undefined);
    const ends = await Promise.race([this.#untilDecided(), silent]);
    if (!('kind' in ends)) return this.#report(hostsFact(ends), ends);
    // Made now, because the next steps take time.
    const end = silenceEnd(ends);
    const stacks = await this.#storeStacks();
    // The command came to its own end meanwhile.
    const known = this.#deciding.flatMap((host) => this.#ended.get(host) ?? []);
    if (known.length === this.#deciding.length) return this.#report(hostsFact(known), known);
    return this.#report('silent', [], stacks === 0 ? end : { ...end, stacks });
  }

  #storeStacks(): Promise<number> {
    const { store, pySpy } = this.#dependencies;
    const place = { store, pySpy, callerUntil: this.#callerUntil, limitMs: STACKS_MS, signal: this.#signal };
    return storeStacks(place, this.#input, this.#hosts);
  }

  /** The end of the attempt. It never resolves if a slice is found to be lost: then the guard's report is the attempt's end. */
  async #report(
    hosts: Fact<'command ended', 'hosts'>,
    ends: readonly HostEnd[],
    silence?: AttemptEnd,
  ): Promise<AttemptEnd> {
    let decision = decide('command ended', { hosts, slices: 'not looked at' });
    if (decision.do === 'look at slices') {
      const isLost = await this.#lookAtSlices(hosts, ends, decision.patience);
      decision = decide('command ended', { hosts, slices: isLost ? 'lost' : 'there' });
    }
    const end = silence && decision.do === 'report end' ? silence : reportedEnd(decision.do, ends);
    if (end === undefined) return new Promise(() => undefined);
    this.#decidedBy = { by: silence ? 'silence' : 'ends', ...this.#decisive(ends) };
    if (end.kind === 'slices-lost') return this.#lostWith(end.slices);
    if (decision.do === 'report lost run') await this.#stops.where(() => true, 'a host of the job shut down');
    return end;
  }

  /** Whether a slice is lost. If the look takes long, the job is told that nothing of its command is left to wait for. */
  async #lookAtSlices(
    hosts: Fact<'command ended', 'hosts'>,
    ends: readonly HostEnd[],
    patience: 'none' | 'shutdown',
  ): Promise<boolean> {
    const now = Date.now();
    const endedAt = largest(ends.map((end) => this.#endedAt.get(end) ?? now));
    const { areTakenBack } = machineKind(kindOfJob(this.#input.spec));
    const leftMs = patienceLeftMs(patience, { hosts, endedAt, now, areTakenBack });
    if (leftMs < TELL_AFTER_MS) return this.#guard.lookAtAll(leftMs);
    const tell = tellJobOfEnd(this.#input);
    tell(`its command has ended; looking for ${Math.ceil(leftMs / 1000)} s whether its machines were taken`);
    try {
      return await this.#guard.lookAtAll(leftMs);
    } finally {
      tell();
    }
  }

  async afterLoss(slices: readonly LostSlice[]): Promise<AttemptEnd> {
    // Before anything is read, because the time of the hosts that are left has begun.
    this.#stops.tellLeft(slices);
    const stored = await this.#storedEnds(this.#unheard);
    const known = [...this.#deciding.flatMap((host) => this.#ended.get(host) ?? []), ...stored];
    const { ends, hosts } = this.#decisive(known);
    this.#decidedBy = { by: 'loss', ends, hosts };
    return endBeforeLoss(ends, hosts) ?? this.#lostWith(slices);
  }

  async #lostWith(slices: readonly LostSlice[]): Promise<AttemptEnd> {
    await this.#stops.endWithout(slices);
    const lost = new Set(slices.map(({ index }) => index));
    const later = this.#guard.lostByNow.filter(({ index }) => !lost.has(index));
    return { kind: 'slices-lost', slices: [...slices, ...later] };
  }

  get #unheard(): readonly AttemptHost[] {
    return this.#deciding.filter((host) => this.#running.has(host) && !this.#ended.has(host));
  }

  /** Ends of all of these hosts, or of none. A job without a command has none, and asks no store. */
  async #storedEnds(hosts: readonly AttemptHost[]): Promise<readonly HostEnd[]> {
    if (hosts.length === 0) return [];
    const none = pause(STORED_ENDS_MS, this.#signal).then(() => []);
    return Promise.race([storedEnds(this.#dependencies, this.#input, hosts), none]);
  }

  /** Adds the evidence to an end that hosts or slices decided. */
  withEvidence(end: AttemptEnd): AttemptEnd {
    if (this.#decidedBy === undefined || end.kind === 'handed-over' || end.kind === 'still-running') return end;
    const left = leftReport(
      this.#decidedBy.ends.filter((each) => each.kind === 'done'),
      this.#input.spec.slices,
    );
    return {
      ...end,
      ...(end.kind === 'exited' && left && { left }),
      evidence: evidenceOf({ ...this.#decidedBy, ...this.#guard.evidence }),
    };
  }

  #decisive(ends: readonly HostEnd[]): ReturnType<typeof decisive> {
    return decisive(this.#input.spec, ends, this.#deciding.length);
  }

  async shipRest(): Promise<void> {
    const patience = pause(LAST_FLUSH_MS, this.#signal).catch(() => undefined);
    await Promise.race([Promise.allSettled([...this.#streams.values()].map((stream) => stream.flush())), patience]);
  }

  /**
   * The output of a host whose end was not seen may go on after the stored bytes. Its log says so, and since when
   * (docs/adr/0043).
   */
  async sayWhatIsLost(end: AttemptEnd): Promise<void> {
    if (!isOver(end)) return;
    const cut = [...this.#streams].filter(([host]) => !this.#stored.has(host));
    const said = cut.map(async ([host, stream]) => {
      const knownUntil = stream.heldSince ?? this.#known.get(host)?.until(stream.storedSince);
      if (knownUntil !== undefined) await stream.lostTail(lostTailText(knownUntil, end));
    });
    const patience = pause(LAST_FLUSH_MS, this.#signal).catch(() => undefined);
    await Promise.race([Promise.allSettled(said), patience]);
  }

  #untilDecided(): Promise<readonly HostEnd[]> {
    const { spec } = this.#input;
    if (leadingHost(spec, this.#hosts) !== undefined && this.#hosts.length > 1) return this.#untilLeaderEnded();
    const enough = spec.command?.success === undefined ? [] : this.#deciding;
    return untilEnded({
      ends: [...this.#running.values()],
      enough: enough.map((host) => this.#running.get(host) as Promise<HostEnd>),
      stop: (reason) => this.#stopAll(reason),
      untilSaved: (first) => this.#untilSaved(first),
      wait: (ms) => pause(ms, this.#signal).then(() => undefined),
    });
  }

  #stopAll(reason: string): Promise<void> {
    log.info(`stopping the hosts: ${reason}`);
    return this.#stops.where(() => true, reason);
  }

  #untilLeaderEnded(): Promise<readonly HostEnd[]> {
    const [leader, ...others] = this.#running.values();
    return untilLeaderEnded({
      ...{ leader: leader as Promise<HostEnd>, others },
      stop: (reason) => this.#stopAll(reason),
      storedEnd: async () => (await this.#storedEnds(this.#unheard))[0],
      untilSaved: (first) => this.#untilSaved(first),
      wait: (ms) => pause(ms, this.#signal).then(() => undefined),
    });
  }

  /**
   * Waits for the files that the other hosts of its slice save. If machines are taken together, their own
   * system tells them, and a stop from here would be a second signal. If not, they are told now.
   */
  async #untilSaved(first: HostEnd & { readonly at: { readonly slice: number } }): Promise<readonly HostEnd[]> {
    log.info(`the hosts of slice ${first.at.slice} shut down: waiting for what they save`);
    this.#stops.tellGangOf(first.at);
    const same = [...this.#running].filter(([{ target }]) => target.slice === first.at.slice).map(([, end]) => end);
    await Promise.race([Promise.all(same), pause(SHUTDOWN_GRACE_MS, this.#signal)]);
    const ended = [...this.#ended].filter(([{ target }]) => target.slice === first.at.slice).map(([, end]) => end);
    return ended.length === 0 ? [first] : ended;
  }

  async #runOn(host: AttemptHost, script: string): Promise<HostEnd> {
    const { target } = host;
    const at = { slice: target.slice, host: target.index };
    const prefix = logPrefix(this.#input.job.id, this.#input.attempt, 'command');
    const known = this.#known.get(host) as KnownOutput;
    const [stream, asked] = await Promise.all([
      LogStream.open(this.#shipping, prefix, host.number, this.#signal).then((opened) => {
        // Set before the host answers, so that a host that never does has a log too.
        this.#streams.set(host, opened);
        return opened;
      }),
      this.#caller.on(target, async (connection) => {
        const end = await this.#endBeforeStart(host, connection);
        if (end !== undefined) return { kind: 'ended before', end } as const;
        known.asked();
        const request = runRequest(this.#dependencies, this.#input, host, script);
        return startRun(connection, request, this.#input.spec.secrets && this.#secretsOnce);
      }),
    ]);
    if (asked.kind === 'ended before') {
      this.#ended.set(host, asked.end);
      return asked.end;
    }
    const started = await this.#waits.through(host, asked, async () => {
      await pause(WAIT_LOOK_MS, this.#signal);
      return this.#caller.on(target, (connection) => connection.runStatus(this.#runId));
    });
    if (started.kind === 'fenced') {
      this.#stored.add(host);
      return { kind: 'fenced', at, epoch: started.epoch };
    }
    const delivered = this.#outputs.from(host);
    if (!reachesStore(target, this.#dependencies.store.bucket)) this.#delivered.set(host, delivered);
    if ('outputBytes' in started) stream.skipBeyondLimit(started.outputBytes);
    known.attached(started, stream.position);
    this.#silence?.reading(host, started, () => stream.position);
    this.warnings.attached(host, started);
    const ship = (chunk: Buffer): void | Promise<void> => {
      this.#silence?.heard(host, chunk.length);
      this.#lastOutput.heard(host, chunk);
      const stored = stream.append(chunk);
      known.read(stream.position);
      return stored;
    };
    for (;;) {
      await this.#caller.on(target, (connection) =>
        connection.followOutput(this.#runId, stream.position, ship, this.#signal),
      );
      const status = await this.#caller.on(target, (connection) => connection.runStatus(this.#runId));
      this.#silence?.said(host, status);
      if ('outputBytes' in status && stream.position >= status.outputBytes) known.read(stream.position);
      const end = await this.#endOn(host, status);
      if (end) {
        this.#ended.set(host, end);
        await stream.flush();
        this.#stored.add(host);
        return end;
      }
    }
  }

  /**
   * The end of a command that another worker has started, on a host that no longer knows of it. It is not started again if it has
   * ended.
   */
  async #endBeforeStart(host: AttemptHost, connection: HostConnection): Promise<HostEnd | undefined> {
    if (this.#input.runsSince === undefined) return undefined;
    const { kind } = await connection.runStatus(this.#runId);
    return kind === 'absent' ? (await this.#storedEnds([host]))[0] : undefined;
  }

  /** The host's own report counts if it has one. For a run that it has lost, the record that it or a worker has stored counts. */
  async #endOn(host: AttemptHost, status: RunStatus): Promise<HostEnd | undefined> {
    const end = this.#lastOutput.with(host, endOf(status, { slice: host.target.slice, host: host.target.index }));
    if (end === undefined) return undefined;
    if (isUnrecorded(status)) return (await this.#storedEnds([host]))[0] ?? end;
    if (status.kind !== 'exited') return end;
    this.#endedAt.set(end, Date.now() - (status.quietMs ?? 0));
    // Most attempts are over by then, and their history has the reason of their end.
    void pause(KEEP_AFTER_MS, this.#signal).then(
      () => keepEnd(this.#dependencies, this.#input, host, status),
      () => undefined,
    );
    return end;
  }

  readonly #secretsOnce = (): ReturnType<typeof secretVariables> =>
    (this.#secrets ??= secretVariables(ofJob(this.#dependencies.installation, this.#input.settings), this.#input.spec));
}

/** Pause between two looks at a command that waits for an accelerator. */
const WAIT_LOOK_MS = 1_000;
/** An end that a worker has heard is kept, if the attempt is not over by then. */
const KEEP_AFTER_MS = 2_000;
/** A look that lasts no longer is not told. */
const TELL_AFTER_MS = 3_000;

/** A store that does not answer must not hide a loss from its job for longer than this. */
const STORED_ENDS_MS = 10_000;

/** ACPI's hard off follows its soft off by 30 s on a Spot VM. */
const SHUTDOWN_GRACE_MS = 30_000;

const LAST_FLUSH_MS = 10_000;
