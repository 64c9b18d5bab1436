/** One preemption of a seed's plan. */
export interface PlannedPreemption {
  /** Number of printed marks after which an attempt is preempted. */
  readonly afterMarks: number;
  /** Wall time between the notice and the preemption; absent: no notice. */
  readonly noticeMs?: number;
  /** `vanish`: NOT_FOUND at once. With notice, the mode is always `preempted`. */
  readonly mode: 'preempted' | 'vanish';
  /** Chooses one of the job's slices in the order of their names: 0 is the first, just under 1 the last. */
  readonly slice: number;
}

/** `mixed`: every other preemption has 5 seconds of notice. */
export type NoticeWish = 'none' | 'mixed' | { readonly ms: number };

/** Least number of marks before a preemption. By then most jobs have stored a checkpoint, and a short job is not over. */
const LEAST_MARKS = 12;
const MOST_MARKS = 30;
/** Notice before a preemption. Google's is up to 30 seconds: a job rehearsed for a minute or two would mostly be over. */
const NOTICE_MS = 5_000;

/** An attempt is preempted at the latest this long after its first mark, or after its start. */
export const DEFAULT_AFTER_MS = 120_000;

/** Returns the plan for a seed, always the same one. */
export function preemptionPlan(seed: number, count: number, notice: NoticeWish): readonly PlannedPreemption[] {
  const random = seededRandom(seed);
  const isFirstWithNotice = random() < 0.5;
  return Array.from({ length: count }, (_, index) => {
    const afterMarks = LEAST_MARKS + Math.floor(random() * (MOST_MARKS - LEAST_MARKS + 1));
    const isVanishing = random() < 0.5;
    const slice = random();
    const noticeMs = noticeOf(notice, (index % 2 === 0) === isFirstWithNotice);
    if (noticeMs !== undefined) return { afterMarks, noticeMs, mode: 'preempted', slice };
    return { afterMarks, mode: isVanishing ? 'vanish' : 'preempted', slice };
  });
}

function noticeOf(notice: NoticeWish, isTurn: boolean): number | undefined {
  if (notice === 'none') return undefined;
  if (notice === 'mixed') return isTurn ? NOTICE_MS : undefined;
  return notice.ms;
}

/** Random numbers from 0 up to 1, the same for the same seed (mulberry32, public domain). */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
