import { log } from '@temporalio/activity';
import { messageOf } from '../../domain/error-words.js';
import { MOST_RECORD_BYTES, type StorePort } from '../../cloud/store/port.js';
import type { AttemptInput } from '../../contract/job-activities.js';
import { DEFAULT_UNREACHABLE_SECONDS } from '../../domain/job-spec.js';
import { decide } from '../../domain/recovery/decide.js';
import type { Fact, Facts } from '../../domain/recovery/facts.js';
import { deadHostText, nodeFact, SignRecord, signSeen } from '../../domain/recovery/signs-of-life.js';
import { placeOf } from './attempt-hosts.js';
import { pause } from './pause.js';
import type { Routes, WatchedHost } from './routes.js';
import type { SliceGuard } from './slice-guard.js';
import type { UnreachableHosts } from './unreachable-hosts.js';

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
/** A host that can be reached has answered within this time. */
const ANSWER_MS = 20_000;
