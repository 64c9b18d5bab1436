import type { JobMetrics } from '../../../client/job-metrics.js';
import type { MergedMetric } from '../../../domain/job-metrics/merged-metrics.js';
import type { MetricPoint } from '../../../domain/job-metrics/metric-series.js';
import { count, type EpochMs } from '../../../domain/units.js';
import { asTyped } from '../../terminal/print.js';
import { type Chart, type Curve, numberText } from '../../terminal/render/chart.js';
import { oneLine, renderTable } from '../../terminal/render/columns.js';
import { formatDuration } from '../../terminal/render/quantities.js';
import type { MetricJob } from './metric-jobs.js';

/** Words for metrics of jobs: tables, a line of `status`, curves of a chart, CSV. */

/** `--best`: whether the smallest or the largest value of a metric is the best. */
export type Best = 'min' | 'max';

export const bestOf = ({ least, most }: MergedMetric, best: Best): MetricPoint | undefined =>
  best === 'min' ? least : most;

const metricOf = ({ metrics }: JobMetrics, name: string): MergedMetric | undefined =>
  metrics.find((metric) => metric.name === name);

const MOST_IN_STATUS = 8;

/** `loss 0.312, acc 0.81 (step 120, 14s ago)`: the last values, those of one line of the program together. */
export function lastMetricsText(id: string, { metrics }: JobMetrics, now: EpochMs): string | undefined {
  const told = metrics.filter(({ name }) => name !== 'step');
  const shown = told.length === 0 ? metrics : told;
  const lines = new Map<string, { readonly last: MetricPoint; readonly texts: string[] }>();
  for (const { name, last } of shown.slice(0, MOST_IN_STATUS)) {
    const place = `${last.step} ${last.time}`;
    const line = lines.get(place) ?? { last, texts: [] };
    lines.set(place, line);
    line.texts.push(`${name} ${numberText(last.value)}`);
  }
  if (lines.size === 0) return undefined;
  const texts = [...lines.values()].map(
    ({ last, texts: told }) => `${told.join(', ')} (step ${last.step}, ${formatDuration(now - last.time)} ago)`,
  );
  const rest = shown.length - MOST_IN_STATUS;
  return oneLine([...texts, ...(rest > 0 ? [asTyped(`and ${rest} more: jobctl plot ${id}`)] : [])].join('; '));
}

/** All metrics of jobs, with what is known of each. */
export function metricsTable(jobs: readonly MetricJob[], now: EpochMs, width: number | undefined): readonly string[] {
  const isSeveral = jobs.length > 1;
  const rows = jobs.flatMap(({ label, found }) =>
    found.metrics.map(({ name, last, least, most, count: values }) => [
      ...(isSeveral ? [label] : []),
      name,
      numberText(last.value),
      String(last.step),
      `${formatDuration(now - last.time)} ago`,
      least === undefined ? '-' : numberText(least.value),
      most === undefined ? '-' : numberText(most.value),
      String(values),
    ]),
  );
  const heads = [...(isSeveral ? ['JOB'] : []), 'METRIC', 'LAST', 'STEP', 'AGE', 'LEAST', 'MOST', 'VALUES'];
  return renderTable([heads, ...rows], width);
}

/** One metric of jobs as a chart. Over time, each job begins at its first value. */
export function chartOf(name: string, axis: Chart['axis'], jobs: readonly MetricJob[]): Chart {
  const curves = jobs.flatMap(({ label, found }): readonly Curve[] => {
    const metric = metricOf(found, name);
    if (metric === undefined) return [];
    const { step, time, value } = metric.points;
    const [first = 0] = time;
    return [
      {
        label: `${label}  last ${numberText(metric.last.value)}`,
        x: axis === 'step' ? step : time.map((at) => at - first),
        y: value,
      },
    ];
  });
  const of = jobs.length === 1 ? ` of ${jobs[0]?.label ?? ''}` : '';
  return { title: oneLine(`${name}${of}`), axis, curves };
}

/** The jobs that told the metric, best first if `best` says what that is. Those without a finite value come last. */
export function ranked(jobs: readonly MetricJob[], name: string, best: Best | undefined): readonly MetricJob[] {
  const told = jobs.filter(({ found }) => metricOf(found, name) !== undefined);
  if (best === undefined) return told;
  const sign = best === 'min' ? 1 : -1;
  const rank = ({ found }: MetricJob): number => {
    const metric = metricOf(found, name);
    const value = metric && bestOf(metric, best)?.value;
    return value === undefined || value === null ? Infinity : sign * value;
  };
  return told
    .map((job) => ({ job, at: rank(job) }))
    .toSorted((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : 0))
    .map(({ job }) => job);
}

/** Sentences that a reader of the values has to know, for stderr. */
export function notesOf(jobs: readonly MetricJob[], names: readonly string[], axis: Chart['axis']): readonly string[] {
  return jobs.flatMap(({ id, found }) => {
    const metrics = found.metrics.filter(({ name }) => names.includes(name));
    const infinite = metrics.reduce(
      (sum, { points }) => sum + points.value.filter((value) => value === null).length,
      0,
    );
    const falling = axis === 'step' ? metrics.filter(({ falls }) => falls > 0).map(({ name }) => name) : [];
    return [
      ...(metrics.some(({ isThinned }) => isThinned)
        ? [`${id}: the points are some of its values, evenly chosen`]
        : []),
      ...(infinite > 0 ? [`${id}: ${count(infinite, 'value')} NaN or infinite: a gap`] : []),
      ...(falling.length > 0
        ? [
            `${id}: steps of ${falling.join(', ')} go backwards, and of equal ones the last is shown; --x time shows all`,
          ]
        : []),
      ...(found.refused > 0
        ? [`${id}: ${count(found.refused, 'value')} or lines were no metrics (docs/job-metrics.md)`]
        : []),
      ...(found.beyondNames > 0
        ? [`${id}: ${count(found.beyondNames, 'value')} of metrics beyond the first 100 were not kept`]
        : []),
      ...(found.missedBytes > 0
        ? [`${id}: ${found.missedBytes} bytes of output were not looked through, after the death of a worker`]
        : []),
    ];
  });
}

/** All points as CSV (RFC 4180), one a row. */
export function metricsCsv(jobs: readonly MetricJob[]): string {
  const lines = ['job,metric,step,time,value'];
  for (const { id, found } of jobs)
    for (const { name, points } of found.metrics)
      for (const [index, step] of points.step.entries()) {
        const value = points.value[index];
        const time = new Date(points.time[index] ?? 0).toISOString();
        lines.push([field(id), field(name), step, time, value ?? ''].join(','));
      }
  return `${lines.join('\n')}\n`;
}

/** A spreadsheet would run a text that begins as a formula does. */
const field = (text: string): string => {
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
};
