import { activityInfo, cancellationSignal, heartbeat, log, sleep } from '@temporalio/activity';
import { messageOf } from '../domain/errors.js';
import { CloudRefused, type Machines, type RemoveAnswer } from '../cloud/machines/port.js';
import type { DeleteSliceInput } from '../contract/slice.js';
import { MOST_ANSWER, type StuckDeletion } from '../domain/lease.js';
import type { Condition } from '../domain/slice.js';
import { wholeTimings } from '../domain/timings.js';

/** Tells the pool of a deletion that does not end. */
export type TellStuck = (deletion: StuckDeletion) => Promise<void>;

/**
 * Deletes machines until they are seen gone. They are gone only if they were missing in two looks, some time apart, or in one
 * look while the provider says that the removal is done (docs/adr/0051), and not before `notBefore`. Machines of another owner
 * stay. A removal looks before it deletes, which counts as the first look. If no request for a slice was ever accepted, a
 * provider that refuses to look has nothing of it. A deletion that takes long goes on, and the pool is told (docs/adr/0099).
 */
export async function deleteUntilGone(
  machines: Machines,
  input: DeleteSliceInput,
  tell: TellStuck = () => Promise.resolve(),
): Promise<void> {
  const deletion = new Deletion(machines, input, tell);
  // The first heartbeat is sent at once and the next one most of a minute later, so it waits for the first answer
  // (docs/adr/0100).
  const beat = setInterval(() => deletion.beat(), BEAT_MS);
  const leave = DELETIONS.enter();
  await untilGone(deletion, machines, input).finally(() => {
    clearInterval(beat);
    leave();
  });
}

async function untilGone(deletion: Deletion, machines: Machines, input: DeleteSliceInput): Promise<void> {
  const { notBefore, timings } = input;
  const apartMs = Math.min(timings.notFoundApartMs, MISSING_PAUSE_MS);
  let missing = 0;
  let operation: string | undefined;
  for (let pauseMs = FIRST_PAUSE_MS, isFirst = true; ; pauseMs = Math.min(pauseMs * 2, 10_000), isFirst = false) {
    if (!isFirst) {
      deletion.beat();
      await deletion.tellIfStuck();
    }
    let seen = isFirst ? 'present' : await deletion.look(pauseMs);
    if (seen === 'foreign') return;
    if (seen === 'refused' && input.isNeverAccepted) return;
    if (seen === 'present') {
      const answer = await deletion.remove();
      // Only the last removal counts: an earlier one says nothing about machines that are there after it.
      operation = answer?.kind === 'accepted' ? answer.operation : undefined;
      if (answer?.kind === 'gone') seen = 'missing';
    }
    missing = seen === 'missing' ? missing + 1 : 0;
    if (missing > 0) {
      const isProven = missing > 1 || (await isRemovedWithin(machines, operation, apartMs));
      if (isProven && Date.now() >= notBefore) return;
      if (isProven) await sleep(apartMs);
      continue;
    }
    await sleep(pauseMs);
  }
}

const BEAT_MS = 10_000;

/**
 * Pause before the first look after the removal. That look and the next are by name: a quick deletion costs no listing, and waits
 * for none.
 */
const FIRST_PAUSE_MS = 300;

/** Pause between two looks up to which a watch counts as urgent, because a quiet zone's listing would take longer. */
const URGENT_PAUSE_MS = 2_500;

/** Pause between two looks at a name that does not exist. */
const MISSING_PAUSE_MS = 5_000;

/** Returns whether the provider says that the removal is done within this time. If it does not say so, the whole time passes. */
async function isRemovedWithin(machines: Machines, operation: string | undefined, ms: number): Promise<boolean> {
  const end = performance.now() + ms;
  for (let pauseMs = 100; operation !== undefined; pauseMs *= 2) {
    const removal = await machines.removal(operation).catch((error: unknown) => {
      log.warn(`asking for ${operation}: ${messageOf(error)}`);
      return 'under way' as const;
    });
    if (removal === 'done') return true;
    if (removal === 'unknown' || performance.now() + pauseMs >= end) break;
    await sleep(pauseMs);
  }
  await sleep(Math.max(1, end - performance.now()));
  return false;
}

type Seen = 'missing' | 'present' | 'deleting' | 'foreign' | 'refused' | 'unknown';

/** The looks and calls of one deletion, with the last answer. */
class Deletion {
  #last: Pick<StuckDeletion, 'answer' | 'isFinal'> = { answer: 'nothing yet' };
  #told: { readonly at: number; readonly answer: string } | undefined;
  readonly #machines: Machines;
  readonly #input: DeleteSliceInput;
  readonly #tell: TellStuck;

  constructor(machines: Machines, input: DeleteSliceInput, tell: TellStuck) {
    this.#machines = machines;
    this.#input = input;
    this.#tell = tell;
  }

  /** @param afterMs pause since the last look; it doubles with each look */
  async look(afterMs: number): Promise<Seen> {
    const { ref, owner } = this.#input;
    const claim = { ref, ownership: owner };
    const listed = await this.#listed(claim, afterMs);
    try {
      const seen = listed ?? (await this.#machines.observe(claim));
      if (seen.kind === 'deleting') this.#last = { answer: 'it is being deleted' };
      if (seen.kind === 'foreign' || seen.kind === 'deleting') return seen.kind;
      return seen.kind === 'missing' && !seen.isRequestLeft ? 'missing' : 'present';
    } catch (error) {
      // Whatever the error is (an expired token, an outage), it says nothing about the slice, and the chips still count as ours.
      log.warn(`looking for ${ref.name}: ${messageOf(error)}`, { attempt: activityInfo().attempt });
      const isFinal = error instanceof CloudRefused;
      this.#last = { answer: messageOf(error), ...(isFinal && { isFinal }) };
      return isFinal ? 'refused' : 'unknown';
    }
  }

  /**
   * Looks in the zone's listing, so that a hundred deletions share one look. Undefined if the listing does not show that the
   * slice is still being deleted: then it is looked for by name.
   */
  async #listed(claim: Parameters<Machines['watch']>[0], afterMs: number): Promise<Condition | undefined> {
    if (afterMs <= 2 * FIRST_PAUSE_MS && !DELETIONS.isExceeded) return undefined;
    const signal = cancellationSignal();
    const isUrgent = afterMs <= URGENT_PAUSE_MS;
    const listed = await this.#machines.watch(claim, { isUrgent, signal }).catch(() => undefined);
    signal.throwIfAborted();
    return listed?.kind === 'deleting' ? listed : undefined;
  }

  /** Undefined: the result is not known. */
  async remove(): Promise<RemoveAnswer | undefined> {
    const { ref, owner } = this.#input;
    try {
      const answer = await this.#machines.remove(ref, owner);
      if (answer.kind === 'accepted') this.#last = { answer: 'its deletion was accepted, and it is still there' };
      if (answer.kind !== 'refused' && answer.kind !== 'unanswered') return answer;
      log.warn(`deleting ${ref.name}: ${answer.message}`);
      this.#last = { answer: answer.message, ...(answer.kind === 'refused' && { isFinal: true }) };
      return answer;
    } catch (error) {
      log.warn(`deleting ${ref.name}: ${messageOf(error)}`);
      this.#last = { answer: messageOf(error) };
      return undefined;
    }
  }

  /** The deletion as the pool is told of it. Its time counts from the workflow's request, whichever worker carries it out. */
  get #known(): StuckDeletion {
    const since = Math.max(activityInfo().scheduledTimestampMs, this.#input.notBefore);
    // A cut, and a provider too, may leave half a character, which no message may hold.
    const answer = Buffer.from(this.#last.answer.slice(0, MOST_ANSWER)).toString('utf8');
    return { ...this.#last, answer, since };
  }

  /** Heartbeats with the state of the deletion, for users who wait (client/deletions.ts). */
  beat(): void {
    heartbeat(this.#known);
  }

  async tellIfStuck(): Promise<void> {
    const { giveBackMs } = wholeTimings(this.#input.timings);
    const known = this.#known;
    const now = Date.now();
    if (now - known.since < giveBackMs || !this.#isNews(now)) return;
    try {
      await this.#tell(known);
      this.#told = { at: now, answer: this.#last.answer };
    } catch (error) {
      log.warn(`telling the pool that ${this.#input.ref.name} is still there: ${messageOf(error)}`);
    }
  }

  /** Whether the pool has to be told. It is told again now and then, because it may have lost its memory. */
  #isNews(now: number): boolean {
    if (this.#told === undefined) return true;
    return now - this.#told.at >= (this.#told.answer === this.#last.answer ? AGAIN_MS : CHANGED_MS);
  }
}

const AGAIN_MS = 5 * 60_000;
/**
 * Shortest time between two messages. An answer may change with each look, and each message is an event of the pool's history.
 */
const CHANGED_MS = 60_000;

/**
 * Number of slices up to which each is looked at by name. That costs two calls each, of a budget of five per second that all
 * slices share, while one listing shows all slices of its zone.
 */
const FEW = 8;

/** Counts a worker's slices that do the same thing at once. A few look by name, which is quicker; many use the listing. */
export class Few {
  #count = 0;

  get isExceeded(): boolean {
    return this.#count > FEW;
  }

  /** @returns a function to call when that is over; calling it again does no harm */
  enter(): () => void {
    this.#count += 1;
    let isOver = false;
    return () => {
      if (!isOver) this.#count -= 1;
      isOver = true;
    };
  }
}

/** Deletions of this worker. */
const DELETIONS = new Few();
