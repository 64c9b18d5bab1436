import { ordinal } from '../../../quota/explanation/explain-words.js';
import type { FirstVerdict } from './first-verdict.js';
import { oneLine } from '../../terminal/render/columns.js';
import { noWorkerRemedy, noWorkerText } from '../../terminal/render/job-phrases.js';
import { formatDuration } from '../../terminal/render/quantities.js';
import { asTyped } from '../../terminal/print.js';

/** Shown during the wait for the verdict. */
export const VERDICT_IS_WAITED_FOR = 'waiting for the first answer of its pool ..';

/** Lines of `submit` about a submitted job: a line, then indented remedies. Empty for a refused job. */
export function verdictLines(id: string, verdict: FirstVerdict, now: number): readonly string[] {
  switch (verdict.kind) {
    case 'granted':
    case 'ended': {
      const { phase, why } = verdict;
      return [why === undefined ? phase : `${phase}: ${oneLine(why)}`];
    }
    case 'queued':
      return queuedLines(id, verdict);
    case 'no-worker':
      return [
        `queued: ${noWorkerText(verdict, now)}`,
        `  ${noWorkerRemedy('starts')}`,
        '  if your workers poll another queue, name it: --task-queue or JOBCTL_TASK_QUEUE',
      ];
    case 'unknown': {
      const { waitedMs, why } = verdict;
      return [
        `not known yet: no worker has answered for it within ${formatDuration(waitedMs)}${why === undefined ? '' : ` (${oneLine(why)})`}`,
        asTyped(`  the job is kept; \`jobctl status ${id}\` tells when one has`),
      ];
    }
    case 'refused':
      return [];
  }
}

function queuedLines(id: string, { why, position, of }: Extract<FirstVerdict, { kind: 'queued' }>): readonly string[] {
  if (position === undefined || of === undefined)
    return [`queued: ${oneLine(why)}`, asTyped(`  its place in line is not known yet; \`jobctl why ${id}\` tells it`)];
  return [
    `queued, ${ordinal(position)} of ${of} in line: ${oneLine(why)}`,
    asTyped(`  \`jobctl why ${id}\` tells every reason, and what would help`),
  ];
}

/** The error for a refused job: problem, reason and remedy. */
export function refusalLines(id: string, message: string): readonly [string, ...string[]] {
  const [first = '', ...more] = message.trimEnd().split('\n');
  return [
    `${id} was refused: ${first}`,
    // Continuation lines are indented already.
    ...more.map((line) => line.replace(/^ {2}/, '')),
    'nothing of it runs, and its name is free; submit again when that is mended',
  ];
}
