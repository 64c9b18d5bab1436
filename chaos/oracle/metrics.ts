import { attemptsOf, type CommandProcess, processesOf } from './commands.js';
import type { Evidence, SeenMetric } from './evidence.js';
import type { Finding } from './verdict.js';

/** The metric that each line of a chaos command tells, and its value and step in that line. */
export const METRIC = 'chaos';
const LINE = /JOBCTL_METRIC chaos=(?<value>\d+) step=(?<step>\d+)$/u;

interface Point {
  readonly step: number;
  readonly value: number;
}

/**
 * Compares the metric that `jobctl plot` shows of each job with the lines that its first host told. Each attempt begins at
 * step 1, and takes back what attempts before it told (docs/job-metrics.md). So the points of all attempts are those of the
 * last one that told any.
 */
export function wrongMetrics({ told, jobs, results, metrics, stored }: Evidence): readonly Finding[] {
  if (metrics === undefined) return [];
  const processes = processesOf(told);
  return jobs.flatMap(({ id, isTheirs }): readonly Finding[] => {
    const phase = results.find((each) => each.id === id)?.phase;
    if (isTheirs || phase === undefined) return [];
    const attempts = attemptsOf(processes, id).map(({ number, processes: of }) => ({ number, points: pointsOf(of) }));
    const last = attempts.findLast(({ points }) => points.length > 0);
    const isWhole = stored.some(
      (log) => log.job === id && log.host === 0 && log.attempt === last?.number && log.lost === undefined,
    );
    const why = wrong(
      attempts.flatMap(({ points }) => points),
      phase === 'succeeded' && isWhole ? last?.points : undefined,
      metrics.find((each) => each.job === id),
    );
    return why === undefined ? [] : [{ count: 'wrong metrics', subject: id, text: why }];
  });
}

const pointsOf = (of: readonly CommandProcess[]): readonly Point[] =>
  of
    .filter(({ slice, host }) => slice === 0 && host === 0)
    .flatMap(({ lines }) => lines)
    .flatMap((line) => {
      const { step, value } = LINE.exec(line)?.groups ?? {};
      return value === undefined ? [] : [{ step: Number(step), value: Number(value) }];
    });

/** @param all points that any attempt told @param last the points that must be shown; absent: some may be missing */
function wrong(
  all: readonly Point[],
  last: readonly Point[] | undefined,
  seen: SeenMetric | undefined,
): string | undefined {
  const shown = seen?.points ?? [];
  const [madeUp] = shown.filter(({ step, value }) => !all.some((each) => each.step === step && each.value === value));
  if (madeUp !== undefined) return `step ${madeUp.step} is shown as ${madeUp.value}, which its program never told`;
  const steps = shown.map(({ step }) => step);
  const twice = steps.find((step, index) => steps.indexOf(step) < index);
  if (twice !== undefined) return `step ${twice} is shown twice`;
  if (seen !== undefined && seen.count > all.length)
    return `${seen.count} values are counted, and ${all.length} were told`;
  if (last === undefined || last.length === 0 || (seen?.missedBytes ?? 0) > 0) return undefined;
  if (shown.length < last.length) return `${shown.length} of ${last.length} points of its last attempt are shown`;
  const end = last.at(-1);
  const { step, value } = seen?.last ?? {};
  return step === end?.step && value === end?.value
    ? undefined
    : `its last value is shown as ${value}, and the program told ${end?.value}`;
}
