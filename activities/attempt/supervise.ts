import { log } from '@temporalio/activity';
import { messageOf } from '../../domain/errors.js';
import type { AttemptEnd, AttemptInput } from '../../contract/job-activities.js';
import { leftReport } from '../../domain/left-processes.js';
import { rayOf } from '../../domain/modules/command.js';
import { evidenceOf, deadHostText, nodeFact, SignRecord, signSeen } from '../../domain/recovery/evidence.js';
import { begin, next } from '../../domain/recovery/supervision.js';
import type { Effect, News, Over } from '../../domain/recovery/supervision-state.js';
import { MOST_RECORD_BYTES, type StorePort } from '../../cloud/store/port.js';
import { DEFAULT_UNREACHABLE_SECONDS } from '../../domain/job-spec.js';
import { decide } from '../../domain/recovery/decide.js';
import type { Fact, Facts } from '../../domain/recovery/facts.js';
import { connectingKey } from '../connecting-key.js';
import type { ActivityDependencies } from '../dependencies.js';
import { ofJob } from '../secret-values.js';
import { ActivityEnd, pause } from './activity-end.js';
import { HostCaller, runIdOf, placeOf } from './attempt-hosts.js';
import { HostRuns, MessageQueue } from './host-runs.js';
import { HostWarnings } from './host-warnings.js';
import { outputsAfter } from './outputs.js';
import { type Routes, watchedHosts, type WatchedHost } from './routes.js';
import { SliceGuard } from './slice-guard.js';
import { unreachableHosts, type UnreachableHosts } from './unreachable-hosts.js';

/** `warning`: the provider's warning of this slice has changed, or the slice was first seen. */
type Message = News | { readonly of: 'warning'; readonly slice: number };

/**
 * Starts the command on every host that runs it, or attaches to it if it was started, ships its output, and ends with the
 * attempt. The on-host runner does the start, only once however often this is repeated. All that happens comes as news, one after
 * the other, and domain/recovery/supervision.ts says what to do about it.
 */
export async function superviseAttempt(
  dependencies: ActivityDependencies,
  input: AttemptInput,
  routes: Routes,
): Promise<AttemptEnd> {
  const key = await connectingKey(ofJob(dependencies.installation, input.settings), input);
  const end = new ActivityEnd();
  const { signal } = end;
  const news = new MessageQueue<Message>();
  const guard = new SliceGuard(dependencies.machinesOf, input.slices, input.settings.timings.notFoundApartMs, signal, {
    loss: (slice) => news.put({ of: 'loss', slice }),
    warning: (slice) => news.put({ of: 'warning', slice }),
  });
  const unreachable = unreachableHosts(input);
  const callerUntil = (until: AbortSignal): HostCaller =>
    new HostCaller(dependencies.hosts, key, until, guard, unreachable);
  const warnings = new HostWarnings(runIdOf(input), callerUntil(signal), guard, signal);
  const runs = new HostRuns(dependencies, input, { callerUntil, guard, warnings, news, signal });
  const hosts = watchedHosts(input, (target) => dependencies.hosts.connect(target, key, signal), unreachable);
  const watch = new DeadHostWatch({ ...dependencies, routes, guard, unreachable, hosts, input, signal });
  watch.run().catch((error: unknown) => {
    log.error(`hosts are no longer watched: ${messageOf(error)}`);
  });
  end.handedOver.then(() => news.put({ of: 'handed over' }), news.fail);
  pause(input.settings.timings.superviseMs, signal).then(() => news.put({ of: 'time is up' }), news.fail);
  let result: AttemptEnd | undefined;
  try {
    const over = await untilOver(input, news, { runs, warnings, signal });
    result = over.end;
    const outputs = await outputsAfter(result, { ...dependencies, input, caller: callerUntil, guard, end });
    if (outputs === 'handed over') result = { kind: 'handed-over' };
    return { ...withEvidence(result, input, over, guard), ...(typeof outputs === 'object' && { outputs }) };
  } finally {
    await runs.shipRest();
    if (result !== undefined) await runs.sayWhatIsLost(result);
    end.finish();
  }
}

interface Hands {
  readonly runs: HostRuns;
  readonly warnings: HostWarnings;
  readonly signal: AbortSignal;
}

async function untilOver(input: AttemptInput, news: MessageQueue<Message>, hands: Hands): Promise<Over> {
  const hosts = hands.runs.start();
  const { command } = input.spec;
  let state = begin({ hosts, isLed: rayOf(input.spec) !== undefined, success: command?.success ?? 'all' });
  while (state.step.at !== 'over') {
    const message = await news.take();
    if (message.of === 'warning') {
      hands.warnings.changed(message.slice);
      continue;
    }
    const { state: after, effects } = next(state, message);
    for (const effect of effects) act(effect, hands).then((answer) => answer && news.put(answer), news.fail);
    state = after;
  }
  return state.step;
}

async function act(effect: Effect, { runs, signal }: Hands): Promise<News | undefined> {
  switch (effect.do) {
    case 'stop':
      log.info(`stopping the hosts: ${effect.reason}`);
      await runs.stops.where(() => true, effect.reason);
      return { of: 'stopped' };
    case 'tell gang':
      log.info(`the hosts of slice ${effect.of.slice} shut down: waiting for what they save`);
      runs.stops.tellGangOf(effect.of);
      return undefined;
    case 'tell left':
      runs.stops.tellLeft(effect.slices);
      return undefined;
    case 'wait':
      await pause(effect.ms, signal);
      return { of: 'wait over', step: effect.step };
    case 'read stored ends':
      return { of: 'stored ends', ends: await runs.storedEnds(effect.hosts) };
    case 'look at slices':
      return { of: 'look', isLost: await runs.lookAtSlices(effect) };
    case 'store stacks':
      return { of: 'stacks', hosts: await runs.storeStacks() };
    case 'end rest':
      await runs.stops.endWithout(effect.slices);
      return { of: 'rest ended' };
  }
}

/** Adds the evidence to an end that hosts or slices decided. */
function withEvidence(end: AttemptEnd, { spec }: AttemptInput, { decidedBy }: Over, guard: SliceGuard): AttemptEnd {
  if (decidedBy === undefined || end.kind === 'handed-over' || end.kind === 'still-running') return end;
  const left = leftReport(
    decidedBy.ends.filter((each) => each.kind === 'done'),
    spec.slices,
  );
  return {
    ...end,
    ...(end.kind === 'exited' && left && { left }),
    evidence: evidenceOf({ ...decidedBy, ...guard.evidence }),
  };
}

export interface DeadHostParts {
  readonly store: Pick<StorePort, 'read'>;
  readonly routes: Routes;
  readonly guard: SliceGuard;
  readonly unreachable: UnreachableHosts;
  readonly hosts: readonly WatchedHost[];
  readonly input: Pick<AttemptInput, 'spec' | 'settings'>;
  readonly signal: AbortSignal;
}

/**
 * Gathers evidence about the hosts that do not answer and reports the slice of a dead one: docs/recovery.md, "host silent", and
 * docs/adr/0046. While all hosts answer it asks nothing. Otherwise, for each silent host and look (a minute): one read of its
 * sign of life, one of another host's, a question to that host. The API is asked only when all other evidence points to a loss.
 */
export class DeadHostWatch {
  readonly #parts: DeadHostParts;
  /** Signs of life by object. */
  readonly #signs = new Map<string, SignRecord>();

  constructor(parts: DeadHostParts) {
    this.#parts = parts;
  }

  /** Ends with the signal. */
  async run(): Promise<void> {
    const { input, routes, hosts, signal } = this.#parts;
    const unwatch = routes.watch(hosts);
    try {
      for (;;) {
        await pause(input.settings.timings.unreachableLookMs, signal);
        await Promise.all(hosts.map((host) => this.#look(host)));
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      unwatch();
    }
  }

  async #look(host: WatchedHost): Promise<void> {
    const { unreachable, guard, input } = this.#parts;
    const since = unreachable.since(host.target);
    if (since === undefined) return;
    const [sign, other] = await Promise.all([this.#signOf(host), this.#answering(host)]);
    const limitMs = (input.spec.timeouts?.unreachable ?? DEFAULT_UNREACHABLE_SECONDS) * 1000;
    const silence = Date.now() - since < limitMs ? 'within timeouts.unreachable' : 'longer';
    const facts: Facts<'host silent'> = { sign, others: othersFact(other), silence, node: 'not looked at' };
    if (decide('host silent', facts).do !== 'look at node') return;
    const looked = { ...facts, node: nodeFact(await guard.lookAt(host.target.slice)) };
    const decision = decide('host silent', looked);
    // The host may have answered meanwhile.
    if (decision.do !== 'report loss' || unreachable.since(host.target) === undefined) return;
    const at = placeOf(host.target);
    const text = deadHostText(at, facts, { since, limitMs, staleMs: this.#staleMs });
    guard.reportDead({ at: Date.now(), ...at, ...looked, text }, decision.cause);
  }

  async #signOf({ sign }: WatchedHost): Promise<Fact<'host silent', 'sign'>> {
    const record = await this.#read(sign);
    return record.fact(performance.now(), this.#staleMs);
  }

  get #staleMs(): number {
    return this.#parts.input.settings.timings.signStaleMs;
  }

  async #read(object: string): Promise<SignRecord> {
    const record = this.#signs.get(object) ?? new SignRecord();
    this.#signs.set(object, record);
    try {
      const content = await this.#parts.store.read(object, { start: 0, end: MOST_RECORD_BYTES });
      record.look(signSeen(content?.toString()), performance.now());
    } catch (error) {
      log.info(`the sign of life ${object} cannot be read: ${messageOf(error)}`);
      record.look('unknown', performance.now());
    }
    return record;
  }

  /** Another host that answers over the same route now. If its sign of life is renewed, the store works too. */
  async #answering(host: WatchedHost): Promise<{ readonly hasFreshSign: boolean } | undefined> {
    const answers = await Promise.all(
      this.#parts.routes
        .beside(host)
        .slice(0, MOST_ASKED)
        .map(async (other) => {
          const [isThere, record] = await Promise.all([this.#ask(other), this.#read(other.sign)]);
          const hasFreshSign = record.isRenewed(performance.now(), this.#staleMs);
          return isThere ? [{ hasFreshSign }] : [];
        }),
    );
    const all = answers.flat();
    return all.find(({ hasFreshSign }) => hasFreshSign) ?? all[0];
  }

  async #ask(other: WatchedHost): Promise<boolean> {
    const { signal } = this.#parts;
    try {
      // A connection that hangs does not notice the signal.
      return await Promise.race([other.ask().then(() => true), pause(ANSWER_MS, signal).then(() => false)]);
    } catch {
      return false;
    }
  }
}

function othersFact(other: { readonly hasFreshSign: boolean } | undefined): Fact<'host silent', 'others'> {
  if (other === undefined) return 'silent';
  return other.hasFreshSign ? 'answer, with fresh signs' : 'answer';
}

const MOST_ASKED = 2;
/** Time limit for the answer of a host that can be reached. */
const ANSWER_MS = 20_000;
