import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { readMetrics } from './api.js';
import { Chart } from './parts/chart.js';
import type { Series } from './series.js';

/** Interval between reads of an open job's metrics. */
const LOOK_MS = 10_000;

/** Plots of what a command reports. Nothing is shown if it reports nothing. */
// Loaded with the first job.
export function Metrics({ job, isOver }: { readonly job: string; readonly isOver: boolean }) {
  const { data = [] } = useQuery({
    queryKey: ['metrics', job],
    queryFn: ({ signal }) => readMetrics(job, signal),
    refetchInterval: (query) => (isOver || query.state.error !== null ? false : LOOK_MS),
  });
  if (data.length === 0) return null;
  return (
    <section aria-label="Metrics" className="plots">
      {data.map((series) => (
        <Plot key={series.name} series={series} />
      ))}
    </section>
  );
}

const LINES = [{ label: 'value', colour: '--link' }] as const;

function Plot({ series }: { readonly series: Series }) {
  const { name, step, value } = series;
  const data = useMemo(() => [step, value] as const, [step, value]);
  const last = value.findLast((each) => each !== null);
  return (
    <figure>
      <figcaption>
        {name} <b>{last?.toPrecision(5)}</b> <span className="note">at step {step.at(-1)}</span>
      </figcaption>
      <Chart label={`${name} by step; the last value is ${last}`} lines={LINES} data={data} across="step" />
    </figure>
  );
}
