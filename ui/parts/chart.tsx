import { useEffect, useRef, useSyncExternalStore } from 'react';
import uPlot from 'uplot';

/** One line of a chart, or its points. */
export interface Line {
  readonly label: string;
  /** A variable of the style sheet. */
  readonly colour: `--${string}`;
  readonly isDashed?: boolean;
}

interface ChartParts {
  /** Describes the chart for screen readers. */
  readonly label: string;
  readonly lines: readonly Line[];
  /** Places on the horizontal axis in ascending order, then the values of each line. */
  readonly data: readonly [readonly number[], ...(readonly (number | null | undefined)[])[]];
  readonly across: string;
  readonly isLogAcross?: boolean;
  readonly isLog?: boolean;
  readonly arePoints?: boolean;
  readonly heightPx?: number;
}

const HEIGHT_PX = 160;
const POINT_PX = 9;
/** The value of uPlot's `distr` for a logarithmic scale. */
const LOG = 3;

const dark = matchMedia('(prefers-color-scheme: dark)');
const onScheme = (listener: () => void): (() => void) => {
  dark.addEventListener('change', listener);
  return () => dark.removeEventListener('change', listener);
};

/** A chart on a canvas. A table or a caption beside it holds the same data. */
export function Chart({ label, data, heightPx = HEIGHT_PX, ...shape }: ChartParts) {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>(undefined);
  const isDark = useSyncExternalStore(onScheme, () => dark.matches);
  const drawn = JSON.stringify(shape);
  const shown = data as unknown as uPlot.AlignedData;
  useEffect(() => {
    const element = place.current;
    if (element === null) return undefined;
    const made = new uPlot(optionsOf(element, heightPx, shape), shown, element);
    plot.current = made;
    const sized = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height: heightPx }));
    sized.observe(element);
    return () => {
      sized.disconnect();
      made.destroy();
    };
  }, [drawn, isDark, heightPx]);
  useEffect(() => plot.current?.setData(shown), [data]);
  return <div ref={place} className="chart" role="img" aria-label={label} />;
}

function optionsOf(
  element: HTMLElement,
  height: number,
  { lines, across, isLogAcross = false, isLog = false, arePoints = false }: Omit<ChartParts, 'label' | 'data'>,
): uPlot.Options {
  const style = getComputedStyle(element);
  const colourOf = (variable: string): string => style.getPropertyValue(variable);
  const grid = { stroke: colourOf('--line'), width: 1 };
  const axis = { stroke: colourOf('--dim'), grid, ticks: grid };
  return {
    width: element.clientWidth,
    height,
    scales: { x: { time: false, ...(isLogAcross && { distr: LOG }) }, y: isLog ? { distr: LOG } : {} },
    axes: [axis, { ...axis, size: 62 }],
    series: [
      { label: across },
      ...lines.map(({ label, colour, isDashed = false }): uPlot.Series => ({
        label,
        stroke: colourOf(colour),
        width: 1.5,
        ...(isDashed && { dash: [6, 4] }),
        ...(arePoints && {
          paths: () => null,
          points: { show: true, size: POINT_PX, ...(!isDashed && { fill: colourOf(colour) }) },
        }),
      })),
    ],
    // The values of points are in the table below; the legend shows the values of lines at the pointer.
    legend: {
      show: !arePoints,
      markers: { width: 2, dash: (_, at) => (lines[at - 1]?.isDashed ? 'dashed' : 'solid') },
    },
    cursor: { drag: { x: true, y: false } },
  };
}
