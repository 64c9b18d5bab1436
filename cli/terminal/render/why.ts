import { isAwaitedText } from '../../../domain/after.js';
import { hookText } from '../../../domain/hooks.js';
import { isDone } from '../../../domain/job-state.js';
import { awaitedHost } from '../../../domain/modules/command.js';
import { jobOfLeaseKey } from '../../../domain/lease.js';
import { count, type EpochMs } from '../../../domain/units.js';
import {
  andList,
  rebuildingText,
  type Wording,
  releaseRemedy,
  stuckText,
} from '../../../quota/explanation/explain-words.js';
import type { WhyWaiting } from '../../../quota/explanation/why-waiting.js';
import { adoptedName, kindOfJob, machineKind } from '../../../domain/machines.js';
import { whySentences } from '../../../quota/explanation/why-sentences.js';
import type { TierTurns } from '../../../quota/explanation/tier-turns.js';
import type { CapacityRow } from '../../../quota/seen-capacity.js';
import type { PoolSnapshot, Rebuilding, StuckSlice } from '../../../quota/published-state.js';
import type { JobView, SliceView } from '../../../contract/job.js';
import type { JobRow } from '../../../client/job-rows.js';
import type { TaskQueuePolls } from '../../../client/temporal-calls.js';
import { asTyped } from '../print.js';
import {
  FAILING_REMEDY,
  failingText,
  noWorkerRemedy,
  noWorkerText,
  answerTexts,
  nextZoneSentence,
  untilSentence,
} from './job-phrases.js';
import { formatDuration, formatExactDuration } from './quantities.js';
import { reasonOf, endsSentence } from './job-header.js';
import { tierSentences, elsewhereOf, openRequests } from './elsewhere.js';
import { oneLine, wrapped, wrapToWidth } from './columns.js';

/** Wording that names jobs by their ids and gives times on the reader's clock, with a date unless they are today. */
export function wordingFor(hasTiers: boolean, now: EpochMs): Wording {
  return { nameOf: jobOfLeaseKey, timeOf: (at) => clockTime(at, now), hasTiers };
}

function clockTime(at: EpochMs, now: EpochMs): string {
  const [then, today] = [new Date(at), new Date(now)];
  const pad = (value: number): string => String(value).padStart(2, '0');
  const clock = `${pad(then.getHours())}:${pad(then.getMinutes())}`;
  if (then.toDateString() === today.toDateString()) return clock;
  return `${then.getFullYear()}-${pad(then.getMonth() + 1)}-${pad(then.getDate())} ${clock}`;
}

/** Renders `jobctl why` for a job that waits for its pool. */
export function renderWaiting(row: JobRow, waiting: WhyWaiting, now: EpochMs, width?: number): readonly string[] {
  const { pool, at, admission, problem } = waiting;
  const { head, reasons, outlook } = whySentences(row.id, waiting, wordingFor(waiting.hasTiers, now));
  return [
    ...wrapped(head, width, ''),
    ...[...reasons, ...adminTexts(waiting, now)].flatMap((text, index) => numbered(index + 1, oneLine(text), width)),
    ...wrapped(outlook, width, ''),
    ...(admission === 'open' ? [] : wrapped(thawText(pool), width, '')),
    ...wrapped(untilSentence(row, now), width, ''),
    ...renderStuck(waiting.stuck ?? [], pool, now, width),
    ...(problem === undefined ? [] : wrapped(`The pool's files have a problem: ${oneLine(problem)}`, width, '')),
    ...wrapped(`Pool ${pool} as of ${formatDuration(now - at)} ago.${labelOf(row)}`, width, ''),
  ];
}

/** `alice froze it at 14:02, 3m 00s ago; the admin's reason: maintenance`; empty for an open pool, and if nothing is known. */
function adminTexts({ admission, admissionReason, admissionSet: set }: WhyWaiting, now: EpochMs): readonly string[] {
  if (admission === 'open') return [];
  const did = admission === 'draining' ? 'drained' : 'froze';
  const parts = [
    ...(set === undefined
      ? []
      : [`${set.by} ${did} it at ${clockTime(set.at, now)}, ${formatDuration(now - set.at)} ago`]),
    ...(admissionReason === undefined ? [] : [`the admin's reason: ${admissionReason}`]),
  ];
  return parts.length === 0 ? [] : [parts.join('; ')];
}

const thawText = (pool: string): string =>
  asTyped(`An admin of the pool opens it again: jobctl quota thaw${pool === 'default' ? '' : ` --pool ${pool}`}`);

/** Slices that hold chips because their deletion does not end. */
export function renderStuck(
  stuck: readonly StuckSlice[],
  pool: string,
  now: EpochMs,
  width?: number,
): readonly string[] {
  const [first] = stuck;
  if (first === undefined) return [];
  const shown = stuck.slice(0, MOST_STUCK_SHOWN).map((each) => withStop(oneLine(stuckText(each, now))));
  const more = stuck.length - shown.length;
  return [
    ...shown.flatMap((text) => wrapped(`${text.charAt(0).toUpperCase()}${text.slice(1)}`, width, '')),
    ...(more > 0
      ? wrapped(asTyped(`And ${count(more, 'more slice')}: jobctl quota show --pool ${pool}`), width, '')
      : []),
    ...wrapped(asTyped(asSentence(releaseRemedy(jobOfLeaseKey(first.id), pool))), width, ''),
  ];
}

const MOST_STUCK_SHOWN = 3;

export type RebuildingPool = Pick<PoolSnapshot, 'pool' | 'at'> & { readonly rebuilding: Rebuilding };

/** Renders `jobctl why` for a job that waits for a pool whose workflow lost its memory. */
export function renderRebuilding(row: JobRow, state: RebuildingPool, now: EpochMs, width?: number): readonly string[] {
  const { pool, at, rebuilding } = state;
  const text = rebuildingText(pool, rebuilding, (time) => clockTime(time, now));
  return [
    ...wrapped(`${row.id} waits: ${oneLine(text)}.`, width, ''),
    ...wrapped(`Pool ${pool} as of ${formatDuration(now - at)} ago.${labelOf(row)}`, width, ''),
  ];
}

/** Lines for a job whose workflow is blocked; empty for others. */
export function renderFailing({ failingTask }: JobRow, now: EpochMs, width?: number): readonly string[] {
  if (failingTask === undefined) return [];
  return [
    ...wrapped(`Its workflow ${withStop(failingText(failingTask, now))}`, width, ''),
    ...wrapped(FAILING_REMEDY, width, ''),
  ];
}

/** The most important reason: without a worker nothing else changes. Empty if a worker polls. */
export function renderUnattended(
  { id }: JobRow,
  polls: TaskQueuePolls | undefined,
  now: EpochMs,
  width?: number,
): readonly string[] {
  if (polls === undefined) return [];
  const text = `${id} stands still: ${noWorkerText(polls, now)}.`;
  return [...wrapped(text, width, ''), ...wrapped(asSentence(noWorkerRemedy()), width, '')];
}

const withStop = (text: string): string => (text.endsWith('.') ? text : `${text}.`);
const asSentence = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;

/** Renders `jobctl why` for a job that does not wait for its pool, or whose pool has published nothing about its wait. */
export function renderWhy(row: JobRow, view: JobView | undefined, now: EpochMs, width?: number): readonly string[] {
  const reason = reasonOf(row);
  const because = reason === '' ? '' : `: ${reason}`;
  return [
    ...wrapped(`${row.id} ${withStop(`${doing(row, now)}${because}`)}${labelOf(row)}`, width, ''),
    ...causeOf(row).flatMap((line) => wrapped(line, width, '')),
    ...(view === undefined ? [] : openRequests(view)).flatMap((slice) => wrapped(sliceText(slice, now), width, '  ')),
    ...answerTexts(view, now).flatMap((text) => wrapped(text, width, '  ')),
    ...waitSentences(view).flatMap((line) => wrapped(line, width, '')),
    ...wrapped(nextZoneSentence(view, now), width, ''),
    ...wrapped(untilSentence(row, now), width, ''),
    ...(view === undefined ? [] : awaited(view, now)).flatMap((line) => wrapped(line, width, '')),
  ];
}

/** The note for a job whose workflow did not answer: its shown state may be out of date. */
export const renderUnasked = (missing: string | undefined, width?: number): readonly string[] =>
  missing === undefined
    ? []
    : wrapped(`What its requests wait for now is missing, and its reason may be out of date: ${missing}.`, width, '');

/** Sentences about the chips that a job asks for and that its provider does not have yet. */
function waitSentences(view: JobView | undefined): readonly string[] {
  if (view?.phase !== 'provisioning') return [];
  // A node that is adopted is there: its owner is waited for.
  if (openRequests(view).some(({ ref }) => adoptedName(ref) !== undefined)) return [];
  if (openRequests(view).length === 0 && (view.answers ?? []).length === 0) return [];
  return machineKind(kindOfJob(view.spec)).waitText?.(view.spec) ?? [];
}

/** Sentences about what ends the job: the success of certain hosts, and the time at which the provider ends its slices. */
function awaited(view: JobView, now: EpochMs): readonly string[] {
  const { phase, spec } = view;
  const host = phase === 'running' && spec.command !== undefined ? awaitedHost(spec.command) : undefined;
  const ends = isDone(phase) ? undefined : endsSentence(view, now);
  return [
    ...(host === undefined ? [] : [`It waits for the success of ${host} (command.success).`]),
    ...(ends === undefined ? [] : [`${ends}.`]),
  ];
}

function doing({ phase, phaseSince, submittedAt, endedAt, attempts, why = '' }: JobRow, now: EpochMs): string {
  const since = formatDuration(now - phaseSince);
  if (endedAt !== undefined) return `${phase} after ${formatExactDuration(endedAt - submittedAt)}`;
  if (phase === 'queued') return `waits for ${isAwaitedText(why) ? 'other jobs' : 'its pool'}, for ${since}`;
  const attempt = attempts > 0 ? `, attempt ${attempts}` : '';
  return `is ${phase.replace('-', ' ')}${attempt}, for ${since}`;
}

function causeOf({ outcome }: JobRow): readonly string[] {
  if (outcome === undefined) return [];
  const { result, cause, preemptions, quotaPreemptions = 0, requestedRestarts = 0, hooks = [] } = outcome;
  const bad = hooks.filter(({ status }) => status !== 'done');
  const lost = [
    ...(preemptions > 0 ? [`${count(preemptions, 'preemption')} by the provider`] : []),
    ...(quotaPreemptions > 0 ? [`${count(quotaPreemptions, 'preemption')} by quota`] : []),
    ...(requestedRestarts > 0 ? [`${count(requestedRestarts, 'restart')} that its exit code asked for`] : []),
  ];
  return [
    ...(cause === undefined || result === 'succeeded'
      ? []
      : [`On account of the ${cause.by}: ${oneLine(cause.message)}`]),
    ...(lost.length === 0 ? [] : [`It had ${andList(lost)}.`]),
    ...bad.map((report) => withStop(`Its hook ${oneLine(hookText(report))}`)),
  ];
}

function sliceText({ ref, state, detail, since }: SliceView, now: EpochMs): string {
  const lasting = since === undefined ? '' : `, for ${formatDuration(now - since)}`;
  const adopted = adoptedName(ref);
  return `${adopted === undefined ? ref.name : `node ${adopted}, to be adopted,`} in ${ref.zone}: ${state}${detail === undefined ? '' : `, ${oneLine(detail)}${lasting}`}`;
}

export const renderTiers = (turns: TierTurns | undefined, now: EpochMs, width?: number): readonly string[] =>
  tierSentences(turns, now).flatMap((line) => wrapped(line, width, ''));

/**
 * For programs: requests to the provider with their times, the next zone, and other places with chips (elsewhere.ts). Times are
 * in ms since 1970. Undefined: the job does not wait for chips.
 */
export function askingOf(view: JobView | undefined, rows: readonly CapacityRow[], now: EpochMs): object | undefined {
  if (view?.phase !== 'provisioning') return undefined;
  return {
    asks: openRequests(view).map(({ ref: { name, zone }, state, detail, since }) => ({
      ...{ name, zone, state },
      ...(detail !== undefined && { detail }),
      ...(since !== undefined && { since }),
    })),
    ...(view.answers && { answers: view.answers }),
    ...(view.nextZone && { nextZone: view.nextZone }),
    ...(view.waitsUntil !== undefined && { waitsUntil: view.waitsUntil }),
    ...elsewhereOf(view, rows, now),
  };
}

const labelOf = ({ label }: JobRow): string => (label === undefined ? '' : ` ${label}: not on real Cloud TPUs.`);

function numbered(number: number, text: string, width: number | undefined): readonly string[] {
  const head = `${String(number).padStart(2)}. `;
  const lines = width === undefined ? [text] : wrapToWidth(text, Math.max(20, width - head.length));
  return lines.map((line, index) => `${index === 0 ? head : ' '.repeat(head.length)}${line}`);
}
