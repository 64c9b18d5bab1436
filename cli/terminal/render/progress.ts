import { doneTwiceText } from '../../../domain/done-twice.js';
import { leftText } from '../../../domain/left-processes.js';
import { outputsText } from '../../../domain/outputs.js';
import { type JobRow, resultOf, type ShownPhase } from '../../../client/job-rows.js';
import { count, type EpochMs } from '../../../domain/units.js';
import { formatDuration, formatExactDuration } from './quantities.js';
import type { Look } from './look.js';
import { cutToWidth, oneLine, padToWidth } from './columns.js';
import { asTyped } from '../print.js';
import { placeOfObject } from '../../../domain/store-place.js';

/** A line for a terminal, for a pipe, or for both. */
export interface ProgressLine {
  readonly live?: string;
  readonly plain?: string;
}

const PHASE_WIDTH = 'provisioning'.length;
const TIME_WIDTH = '10m 00s'.length;
const ORDER: readonly ShownPhase[] = ['queued', 'provisioning', 'setting-up', 'running'];
const isEnd = (phase: ShownPhase): boolean =>
  phase === 'holding' || phase === 'succeeded' || phase === 'failed' || phase === 'cancelled' || phase === 'terminated';

/**
 * Lines to print when a job changes from `before` to `after`. On a terminal, a phase gets its line when it is over, with its
 * duration; in a pipe, when it begins. Looks are half a second apart, so phases may pass unseen.
 */
export function progressLines(before: JobRow | undefined, after: JobRow, look: Look): readonly ProgressLine[] {
  const isNewPhase = before?.phase !== after.phase || before.phaseSince !== after.phaseSince;
  const isNewReason = before?.why !== after.why;
  if (!isNewPhase) return isNewReason ? [{ plain: plainLine(after, look) }] : [];
  return [...(before ? leaving(before, after, look) : []), ...entering(after, look)];
}

function leaving(before: JobRow, after: JobRow, look: Look): ProgressLine[] {
  if (before.phase === 'evicting' || before.phase === 'finishing') return [];
  const lasted = after.phaseSince - before.phaseSince;
  return [{ live: phaseLine(before, unseenBetween(before, after), lasted, leftMark(after, look), look) }];
}

function leftMark(after: JobRow, { symbols, paint }: Look): string {
  if (after.phase === 'evicting') return paint('yellow', symbols.note);
  const result = resultOf(after);
  if (result === 'failed' || result === 'terminated' || result === 'cancelled') return paint('red', symbols.failed);
  return paint('green', symbols.done);
}

/** Phases that passed unseen between two looks. Their time counts for the first one. */
function unseenBetween(before: JobRow, after: JobRow): readonly ShownPhase[] {
  const from = ORDER.indexOf(before.phase);
  const to = ORDER.indexOf(after.phase);
  return from === -1 || to === -1 ? [] : ORDER.slice(from + 1, to);
}

function entering(row: JobRow, look: Look): ProgressLine[] {
  if (isEnd(row.phase) || row.phase === 'finishing') return [];
  const plain = plainLine(row, look);
  if (row.phase !== 'evicting') return [{ plain }];
  const { symbols, paint } = look;
  return [{ live: fitted(` ${paint('yellow', symbols.note)} `, oneLine(row.why ?? row.phase), undefined), plain }];
}

/** `running: attempt 1 on 4 hosts in us-central1-a` */
function plainLine({ phase, why }: JobRow, { symbols }: Look): string {
  if (isEnd(phase) || phase === 'finishing') return '';
  const mark = phase === 'evicting' ? symbols.note : symbols.now;
  return `${mark} ${phase}${why === undefined ? '' : `: ${oneLine(why)}`}`;
}

/** ` ● running      3m 10s   attempt 1 on 4 hosts in us-central1-a`, at most as wide as the terminal. */
export function currentLine(row: JobRow, now: EpochMs, look: Look): string {
  const mark = look.paint('cyan', look.symbols.now);
  return phaseLine(row, [], now - row.phaseSince, mark, look);
}

function phaseLine(
  { phase, why }: JobRow,
  unseen: readonly ShownPhase[],
  lastedMs: number,
  mark: string,
  look: Look,
): string {
  const time = formatDuration(lastedMs).padStart(TIME_WIDTH);
  const phases = [phase, ...unseen].join(', ');
  return fitted(
    ` ${mark} `,
    `${padToWidth(phases, PHASE_WIDTH)} ${time}   ${oneLine(why ?? '')}`.trimEnd(),
    look.width,
  );
}

/** Fits a line into the terminal. `head` takes three columns, regardless of its colour codes. */
function fitted(head: string, text: string, width: number | undefined): string {
  return head + (width === undefined ? text : cutToWidth(text, width - HEAD_WIDTH - 1));
}
const HEAD_WIDTH = 3;

/** The last lines: the result, the duration, and the place of the logs. */
export function summaryLines(row: JobRow, bucket: string | undefined, look: Look): readonly string[] {
  const { id, outcome, submittedAt } = row;
  const phase = resultOf(row);
  const endedAt = row.endedAt ?? outcome?.endedAt ?? submittedAt;
  const { symbols, paint } = look;
  const isGood = phase === 'succeeded';
  const mark = isGood ? paint('green', symbols.done) : paint('red', symbols.failed);
  const facts = [
    `in ${formatExactDuration(endedAt - submittedAt)}`,
    count(outcome?.attempts ?? row.attempts, 'attempt'),
    ...(outcome && outcome.preemptions > 0 ? [count(outcome.preemptions, 'preemption')] : []),
    ...(row.label === undefined ? [] : [row.label]),
  ];
  const why = isGood ? outcome?.cause?.message : (outcome?.cause?.message ?? row.why);
  return [
    ` ${mark} ${phase} ${facts.join(', ')}`,
    ...(row.phase === 'holding'
      ? [asTyped(`   its slices are kept: jobctl ssh ${id}, and jobctl delete ${id} when done`)]
      : []),
    ...(why === undefined ? [] : [`   ${why.trimEnd().replaceAll('\n', '\n   ')}`]),
    ...(outcome?.doneTwice === undefined ? [] : [`   done twice: ${doneTwiceText(outcome.doneTwice)}`]),
    ...(outcome?.left === undefined ? [] : [`   ${paint('yellow', `warning: ${oneLine(leftText(outcome.left))}`)}`]),
    ...(outcome?.outputs === undefined
      ? []
      : [asTyped(`   results: jobctl download ${id}`), `   outputs: ${oneLine(outputsText(outcome.outputs))}`]),
    asTyped(
      `   logs: jobctl logs ${id}${bucket === undefined ? '' : `      files: ${placeOfObject(bucket, `jobs/${id}/`)}`}`,
    ),
  ];
}
