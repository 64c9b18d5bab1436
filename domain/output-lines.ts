import type { Outcome } from './job-state.js';

/** Text between a failure's sentence and the last lines of the step's output. */
export const LAST_LINES = '; its last lines:\n';
/** Put in the place of those lines. */
export const OUTPUT_HIDDEN = ' (the rest is for those who may read its logs)';

/** Matches the sentence on a build without a result. The last line of its output follows (cloud/builds/kubernetes-builds.ts). */
const BUILD_LINE = /(BuildKit ended with (?:code -?\d+|\w+)): .*/;

/**
 * A failure's text without lines that a program of the job printed: its step, place and code. Output always follows the first
 * line, so any other text with more lines is cut too, rather than shown by mistake.
 */
export function withoutOutput(text: string): string {
  const end = text.indexOf('\n');
  const first = (end === -1 ? text : text.slice(0, end)).replace(BUILD_LINE, '$1');
  const told =
    end === -1 || !text.slice(0, end + 1).endsWith(LAST_LINES) ? first : first.slice(0, 1 - LAST_LINES.length);
  return told === text ? text : `${told}${OUTPUT_HIDDEN}`;
}

interface Told {
  readonly why?: string;
  readonly outcome?: Outcome;
  readonly events?: readonly { readonly text: string }[];
}

/** Takes a job's row, its view, or its end. Returns the same object if there is nothing to hide. */
export function toldWithoutOutput<T extends Told>(told: T): T {
  const why = told.why === undefined ? undefined : withoutOutput(told.why);
  const outcome = told.outcome && outcomeWithoutOutput(told.outcome);
  const events = told.events?.map(eventWithoutOutput);
  const isSame = events?.every((event, at) => event === told.events?.[at]) ?? true;
  if (why === told.why && outcome === told.outcome && isSame) return told;
  return {
    ...told,
    ...(why === undefined ? {} : { why }),
    ...(outcome === undefined ? {} : { outcome }),
    ...(events === undefined ? {} : { events }),
  };
}

/** An event's sentence has all texts of its facts. So if it holds no output, neither do they. */
const eventWithoutOutput = <Event extends { readonly text: string }>(event: Event): Event =>
  withoutOutput(event.text) === event.text ? event : (eachWithoutOutput(event) as Event);

function eachWithoutOutput(value: unknown): unknown {
  if (typeof value === 'string') return withoutOutput(value);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(eachWithoutOutput);
  return Object.fromEntries(Object.entries(value).map(([key, child]) => [key, eachWithoutOutput(child)]));
}

function outcomeWithoutOutput(outcome: Outcome): Outcome {
  const { cause, hooks } = outcome;
  const message = cause && withoutOutput(cause.message);
  const shown = hooks?.map((hook) =>
    hook.message === undefined ? hook : { ...hook, message: withoutOutput(hook.message) },
  );
  const isSame = message === cause?.message && (hooks ?? []).every((hook, at) => hook.message === shown?.[at]?.message);
  if (isSame) return outcome;
  return {
    ...outcome,
    ...(cause === undefined || message === undefined ? {} : { cause: { ...cause, message } }),
    ...(shown === undefined ? {} : { hooks: shown }),
  };
}

/**
 * Time in ms for which a stretch of log may be held back before it is cut into an object. Each cut costs one object per host
 * (docs/design.md, "Logs and the store"). Cuts are frequent while somebody follows the job (docs/adr/0150), or while a run is
 * young, because people look at it then. Otherwise they are rare: 2,880 objects a day.
 * @param ageMs since this stream was opened.
 */
export function cutAfterMs(ageMs: number, isFollowed: boolean): number {
  if (isFollowed || ageMs < FINE_MS) return 300;
  return ageMs < 10 * 60_000 ? 2_000 : 30_000;
}

/** Age in ms until which cuts are frequent, whether the stream is followed or not. */
export const FINE_MS = 60_000;

/** Bytes after which a stretch is cut at once. They also bound the memory per host. */
export const CUT_BYTES = 1_048_576;
