import { count, formatUnits } from '../../../domain/units.js';
import type { ApplyEffect, MovedJob } from './apply-effect.js';
import type { ConfigChange } from './config-difference.js';
import { renderTable } from '../../terminal/render/columns.js';

const MOST_JOBS = 20;

/**
 * Renders the preview of `quota apply` before its question.
 * @param effect undefined: the pool never ran, so nothing is known of it
 */
export function renderApply(
  pool: string,
  changes: readonly ConfigChange[] | undefined,
  effect: ApplyEffect | undefined,
  width?: number,
): readonly string[] {
  if (changes === undefined)
    return [`pool ${pool}: its quota file is the workers' own, so what changes is not known here`];
  return [
    changes.length === 0 ? `pool ${pool}: the files say what is in force already` : `pool ${pool}: what changes`,
    ...renderTable(
      changes.map(({ what, before, after }) => [`  ${what}`, before, '->', after]),
      width,
    ),
    ...(effect === undefined ? ['  it never ran: this starts it'] : effectLines(effect)),
  ];
}

function effectLines({ preempted, starts, stranded, over }: ApplyEffect): readonly string[] {
  return [
    ...jobLines(preempted, 'preempted at once, with notice'),
    ...jobLines(starts, 'started at once'),
    ...(preempted.length + starts.length === 0 ? ['nobody is preempted, nobody starts'] : []),
    ...jobLines(stranded, 'that can never start under it'),
    ...over.map(
      ({ tier, type, units }) =>
        `tier ${tier + 1} has ${units} ${type} less than are leased: nothing starts there until leases have ended`,
    ),
  ];
}

function jobLines(jobs: readonly MovedJob[], what: string): readonly string[] {
  if (jobs.length === 0) return [];
  const rows = jobs
    .slice(0, MOST_JOBS)
    .map((moved) => [
      `  ${moved.job}`,
      moved.project,
      moved.user,
      formatUnits(moved.units),
      moved.for === undefined ? '' : `for ${moved.for}`,
    ]);
  const hidden = jobs.length - rows.length;
  return [
    `${count(jobs.length, 'job')} ${what}`,
    ...renderTable(rows),
    ...(hidden > 0 ? [`  .. and ${hidden} more`] : []),
  ];
}
