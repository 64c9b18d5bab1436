import { condition, getExternalWorkflowHandle, isCancellation, log, workflowInfo } from '@temporalio/workflow';
import type { SignalDefinition } from '@temporalio/common';
import { followedSignal, otherEndedSignal, type OthersCarry } from '../contract/after.js';
import { followedForm, otherEndedForm } from '../contract/job-forms.js';
import { type AfterDue, afterDue, type AfterSpec, awaitedText, idsAfter, type PastState } from '../domain/after.js';
import { isValidJobId } from '../domain/identity.js';
import { firingOf } from '../domain/schedule/schedule.js';
import { OWN_ID_PREFIXES } from '../domain/temporal-server.js';
import { count, type EpochMs } from '../domain/units.js';
import { othersReading } from './activity-options.js';
import type { Inbox } from './inbox.js';

// Jobs, groups and firings of schedules that wait for the ends of others (docs/adr/0158).

/** Time to the next look at others that have told nothing, doubled up to the last: one that is terminated tells nobody. */
const FIRST_LOOK_MS = 20_000;
const LAST_LOOK_MS = 10 * 60_000;
const AFTER_NEWS_MS = 500;

/** The others that this workflow waits for. It asks each open one to tell its end, and looks by itself now and then. */
export class Others {
  readonly #id: string;
  readonly #lastLookMs: number;
  readonly #ends: Map<string, PastState>;
  readonly #followed = new Set<string>();
  /** Open ones that could not be told. */
  readonly #deaf = new Set<string>();
  #overAt: EpochMs | undefined;
  #lookMs: number;
  #hasNews = false;
  #hasWaited: true | undefined;

  /**
   * @param id of this job or group, which cannot wait for itself
   * @param lastLookMs the longest time between two looks
   */
  constructor(
    id: string,
    { ends = [], overAt, lookMs = FIRST_LOOK_MS, hasWaited }: OthersCarry = {},
    lastLookMs = LAST_LOOK_MS,
  ) {
    this.#id = id;
    this.#lastLookMs = lastLookMs;
    this.#ends = new Map(ends.map(({ id: other, state }) => [other, state]));
    this.#overAt = overAt;
    this.#lookMs = lookMs;
    this.#hasWaited = hasWaited;
  }

  listen(inbox: Inbox): void {
    inbox.on(otherEndedSignal, otherEndedForm, () => {
      this.#hasNews = true;
      // Temporal may show it as open for a moment more.
      this.#lookMs = AFTER_NEWS_MS;
    });
  }

  /** The time at which the wait was over. Undefined: it is not. */
  get overAt(): EpochMs | undefined {
    return this.#overAt;
  }

  /** It waited, and a person has taken `after` away. */
  get isLeft(): boolean {
    return this.#hasWaited === true && this.#overAt === undefined;
  }

  /** The end of another one, if it was looked at and has ended. */
  endOf(id: string): PastState | undefined {
    return this.#ends.get(id);
  }

  over(): void {
    this.#overAt = Date.now();
  }

  /** Looks once. A wait that is over stays so, whatever becomes of the others. */
  async look(after: AfterSpec): Promise<AfterDue & { readonly awaited: string }> {
    const ids = idsAfter(after);
    if (ids.includes(this.#id)) return { do: 'give up', why: `it was to run after itself, ${this.#id}`, awaited: '' };
    this.#hasNews = false;
    const open = await this.#openOf(ids.filter((id) => !this.#ends.has(id)));
    const due = afterDue(after, this.#ends);
    if (due.do === 'go') this.over();
    if (due.do === 'wait') {
      this.#hasWaited = true;
      await this.#follow(open);
    }
    return { ...due, awaited: awaitedText(after, new Set(open.keys())) };
  }

  /** Ids that are open, with their workflows. */
  async #openOf(ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const seen =
      ids.length === 0 ? [] : await othersReading(`look at ${count(ids.length, 'other job')}`).lookAtOthers({ ids });
    for (const { id, state } of seen) if (state !== 'open') this.#ends.set(id, state);
    return new Map(
      seen.flatMap(({ id, state, workflow }) => (state === 'open' && workflow !== undefined ? [[id, workflow]] : [])),
    );
  }

  async #follow(open: ReadonlyMap<string, string>): Promise<void> {
    const fresh = [...open].filter(([id]) => !this.#followed.has(id));
    const { workflowId: follower } = workflowInfo();
    const told = await Promise.all(fresh.map(([, workflow]) => tell(workflow, followedSignal, { v: 1, follower })));
    fresh.forEach(([id], at) => {
      if (told[at] === true) this.#followed.add(id);
      else if (!this.#deaf.has(id)) {
        // It has ended since it was looked at, or takes no more signals: one look soon, and others as ever.
        this.#deaf.add(id);
        this.#lookMs = AFTER_NEWS_MS;
      }
    });
  }

  /** Waits until another look is due. */
  async news(isUnwanted: () => boolean): Promise<void> {
    const summary = 'until others that told nothing are looked at again';
    const isNews = await condition(() => this.#hasNews || isUnwanted(), this.#lookMs, { summary });
    if (!isNews) this.#lookMs = Math.min(this.#lastLookMs, this.#lookMs * 2);
  }

  /** Undefined: it has not waited. */
  carry(): OthersCarry | undefined {
    if (this.#overAt !== undefined) return { overAt: this.#overAt };
    if (this.#hasWaited === undefined) return undefined;
    return { hasWaited: true, ends: [...this.#ends].map(([id, state]) => ({ id, state })), lookMs: this.#lookMs };
  }
}

/** Most workflows that one job or group tells its end. Others find it by themselves, within ten minutes. */
const MOST_FOLLOWERS = 1_000;
const AT_ONCE = 100;

/** Workflows that wait for the end of this one. */
export class Followers {
  readonly #id: string;
  readonly #untold: Set<string>;

  /** @param id of this job or group */
  constructor(id: string, carry: readonly string[] = []) {
    this.#id = id;
    this.#untold = new Set(carry);
  }

  listen(inbox: Inbox): void {
    inbox.on(followedSignal, followedForm, ({ follower }) => {
      if (mayFollow(follower) && this.#untold.size < MOST_FOLLOWERS) this.#untold.add(follower);
    });
  }

  /** Tells all that have asked until now. Never throws: one that hears nothing looks by itself. Call it in a nonCancellable scope. */
  async tell(): Promise<void> {
    while (this.#untold.size > 0) {
      const some = [...this.#untold].slice(0, AT_ONCE);
      for (const each of some) this.#untold.delete(each);
      await Promise.all(some.map((follower) => tell(follower, otherEndedSignal, { v: 1, id: this.#id })));
    }
  }

  get carry(): readonly string[] {
    return [...this.#untold];
  }
}

const mayFollow = (workflow: string): boolean =>
  firingOf(workflow) !== undefined ||
  isValidJobId(workflow.startsWith(OWN_ID_PREFIXES.group) ? workflow.slice(OWN_ID_PREFIXES.group.length) : workflow);

/** Sends a signal. @returns false if there is no such open workflow */
export async function tell<Message>(
  workflow: string,
  definition: SignalDefinition<[Message]>,
  message: Message,
): Promise<boolean> {
  try {
    await getExternalWorkflowHandle(workflow).signal(definition, message);
    return true;
  } catch (error) {
    if (isCancellation(error)) throw error;
    log.debug(`${workflow} is not open: ${String(error)}`);
    return false;
  }
}
