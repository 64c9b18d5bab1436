import { nearestWord } from '../../../domain/nearest-word.js';
import { metricJobs, type MetricJob } from '../../jobs/metrics/metric-jobs.js';
import { type Best, chartOf, metricsCsv, metricsTable, notesOf, ranked } from '../../jobs/metrics/shown-metrics.js';
import { openReader } from '../../place/connect.js';
import { type ContextFlags, resolveContext, storeOf } from '../../place/context.js';
import { CliError, ExitCode } from '../../terminal/cli-error.js';
import { writeWhole } from '../../terminal/file-on-disk.js';
import { asTyped, printErr, printOut, printPainted } from '../../terminal/print.js';
import { type Chart, drawChart, MOST_DRAWN } from '../../terminal/render/chart.js';
import { MOST_SVG_CURVES, svgOf } from '../../terminal/render/chart-svg.js';
import { oneLine, terminalWidth } from '../../terminal/render/columns.js';
import { lookOf } from '../../terminal/render/look.js';

export interface PlotFlags extends ContextFlags {
  readonly metric?: readonly string[];
  readonly x: Chart['axis'];
  readonly host: number;
  readonly points: number;
  readonly best?: Best;
  readonly svg?: string;
  readonly output: 'text' | 'json' | 'csv';
}

/** `plot JOB..`: draws metrics that programs told. Without `--metric` it lists them. */
export async function plot(ids: readonly string[], flags: PlotFlags): Promise<number> {
  const { metric: names, x: axis, host, points, svg, output } = flags;
  refuseUnclear(flags);
  const context = resolveContext(flags);
  const store = await openReader(storeOf(context, `the metrics of ${ids.join(', ')} cannot be read`));
  const isTable = names === undefined && output === 'text';
  const notes: string[] = [];
  const parts = { store, context, note: (text: string) => void notes.push(text) };
  const jobs = await metricJobs(parts, ids, { names: undefined, axis, host, points: isTable ? 0 : points });
  if (jobs.length === 0) throw nothingTold(notes);
  const known = [...new Set(jobs.flatMap(({ found }) => found.metrics.map(({ name }) => name)))];
  for (const name of names ?? []) if (!known.includes(name)) throw noSuchMetric(name, known);
  const shown = names === undefined ? jobs : jobs.map((job) => only(job, names));
  if (output !== 'text') printOut(output === 'csv' ? metricsCsv(shown) : `${JSON.stringify(jsonOf(shown), null, 2)}\n`);
  else if (names === undefined)
    printOut(`${metricsTable(jobs, Date.now(), terminalWidth(process.stdout)).join('\n')}\n`);
  else draw(names, jobs, flags, notes);
  for (const note of [...notes, ...notesOf(shown, names ?? [], axis)]) printErr(`${asTyped(oneLine(note))}\n`);
  if (isTable && process.stdout.isTTY)
    printErr(
      asTyped(
        `\nTo draw one: jobctl plot ${ids.join(' ')} --metric ${known.find((name) => name !== 'step') ?? 'step'}\n`,
      ),
    );
  if (svg !== undefined) printErr(`written: ${oneLine(svg)}\n`);
  return ExitCode.Done;
}

/** @throws CliError (Usage) */
function refuseUnclear({ metric, svg, best, output }: PlotFlags): void {
  if (metric === undefined && (svg !== undefined || best !== undefined))
    throw new CliError(
      ExitCode.Usage,
      `plot ${svg === undefined ? '--best' : '--svg'}: which metric?`,
      'name one: --metric loss; `jobctl plot JOB` lists them',
    );
  if (svg !== undefined && output !== 'text')
    throw new CliError(ExitCode.Usage, `plot: --svg and --output ${output} are two forms`, 'give one or the other');
}

function draw(names: readonly string[], jobs: readonly MetricJob[], flags: PlotFlags, notes: string[]): void {
  const { x: axis, best, svg } = flags;
  const most = svg === undefined ? MOST_DRAWN : MOST_SVG_CURVES;
  const charts = names.map((name) => {
    const told = ranked(jobs, name, best);
    if (told.length > most)
      notes.push(
        `${name}: ${best === undefined ? 'the first' : 'the best'} ${most} of ${told.length} jobs are drawn` +
          `${best === undefined ? '; --best min or max draws the best' : ''}; -o csv has all`,
      );
    return chartOf(name, axis, told.slice(0, most));
  });
  if (svg !== undefined) return writeWhole(svg, svgOf(charts));
  const look = lookOf(process.stdout, process.env);
  // A chart and its legend fit on the screen.
  const height = Math.max(8, Math.min(16, (process.stdout.rows ?? 24) - 6));
  printPainted(`${charts.map((chart) => drawChart(chart, look, height).join('\n')).join('\n\n')}\n`);
}

const only = (job: MetricJob, names: readonly string[]): MetricJob => ({
  ...job,
  found: { ...job.found, metrics: job.found.metrics.filter(({ name }) => names.includes(name)) },
});

const jsonOf = (jobs: readonly MetricJob[]): object => ({
  jobs: jobs.map(({ id, parameters, found }) => ({ id, ...(parameters && { parameters }), ...found })),
});

const nothingTold = (notes: readonly string[]): CliError =>
  new CliError(
    ExitCode.NotFound,
    `plot: ${notes.join('; ')}`,
    'a program tells metrics by lines such as `JOBCTL_METRIC loss=0.31 step=120`, or in $JOBCTL_METRICS_FILE (docs/job-metrics.md)',
    '--host names another host than the first',
  );

function noSuchMetric(name: string, known: readonly string[]): CliError {
  const near = known.find((each) => each.endsWith(`/${name}`)) ?? nearestWord(name, known);
  return new CliError(
    ExitCode.NotFound,
    `plot --metric ${oneLine(name)}: no job has told it${near === undefined ? '' : `. Did you mean ${near}?`}`,
    `told are: ${oneLine(known.slice(0, 20).join(', '))}${known.length > 20 ? ', ..' : ''}`,
  );
}
