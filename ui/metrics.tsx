import { useQuery } from '@tanstack/react-query';
import { useEffect, useRef } from 'react';
import uPlot from 'uplot';
import { readMetrics } from './api.js';
import type { Series } from './series.js';

/** How often the metrics of an open job are read. */
const LOOK_MS = 10_000;
const HEIGHT_PX = 160;

/** Plots of what a command reports. Nothing is shown if it reports nothing, or if the server is older and knows no metrics. */
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

function Plot({ series }: { readonly series: Series }) {
  const { name, step, value } = series;
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>(undefined);
  useEffect(() => {
    const element = place.current;
    if (element === null) return undefined;
    const style = getComputedStyle(element);
    const [line, grid, text] = ['--link', '--line', '--dim'].map((variable) => style.getPropertyValue(variable));
    const axis = {
      stroke: text ?? '',
      grid: { stroke: grid ?? '', width: 1 },
      ticks: { stroke: grid ?? '', width: 1 },
    };
    const options: uPlot.Options = {
      width: element.clientWidth,
      height: HEIGHT_PX,
      scales: { x: { time: false } },
      axes: [axis, { ...axis, size: 56 }],
      series: [{ label: 'step' }, { label: 'value', stroke: line ?? '', width: 1.5 }],
      cursor: { drag: { x: true, y: false } },
    };
    const made = new uPlot(options, [[], []], element);
    plot.current = made;
    const sized = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height: HEIGHT_PX }));
    sized.observe(element);
    return () => {
      sized.disconnect();
      made.destroy();
    };
  }, []);
  useEffect(() => plot.current?.setData([[...step], [...value]]), [step, value]);
  const last = value.findLast((each) => each !== null);
  return (
    <figure>
      <figcaption>
        {name} <b>{last?.toPrecision(5)}</b> <span className="note">at step {step.at(-1)}</span>
      </figcaption>
      <div ref={place} role="img" aria-label={`${name} by step; the last value is ${last}`} />
    </figure>
  );
}
