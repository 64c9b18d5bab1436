import { useEffect, useRef, useSyncExternalStore } from 'react';
import uPlot from 'uplot';
import { clock } from '../words.js';

/** One line of a chart, or its points. */
export interface Line {
  readonly label: string;
  /** A variable of the style sheet. */
  readonly colour: `--${string}`;
  readonly isDashed?: boolean;
  /** The area below it is filled. */
  readonly isFilled?: boolean;
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
  /** Places are times in milliseconds since 1970. */
  readonly isTime?: boolean;
  /** A value counts from its place to the next one. */
  readonly isStepped?: boolean;
  readonly heightPx?: number;
  /** Values that the legend shows of each line, if they are not those that are drawn. */
  readonly values?: readonly (readonly (number | null | undefined)[])[];
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
export function Chart({ label, data, values, heightPx = HEIGHT_PX, ...shape }: ChartParts) {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>(undefined);
  const told = useRef(values);
  told.current = values;
  const isDark = useSyncExternalStore(onScheme, () => dark.matches);
  const drawn = JSON.stringify(shape);
  const shown = data as unknown as uPlot.AlignedData;
  useEffect(() => {
    const element = place.current;
    if (element === null) return undefined;
    const valueAt: ValueAt = (line, at) => told.current?.[line]?.[at];
    const made = new uPlot(optionsOf(element, heightPx, { ...shape, valueAt }), shown, element);
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

/** The value of a line at a place. Undefined: the one that is drawn. */
type ValueAt = (line: number, at: number) => number | null | undefined;
type Shape = Omit<ChartParts, 'label' | 'data' | 'values' | 'heightPx'> & { readonly valueAt: ValueAt };

function optionsOf(
  element: HTMLElement,
  height: number,
  { lines, across, isLogAcross, isLog, arePoints = false, isTime = false, isStepped, valueAt }: Shape,
): uPlot.Options {
  const style = getComputedStyle(element);
  const { stepped } = uPlot.paths;
  const colourOf = (variable: string): string => style.getPropertyValue(variable);
  const grid = { stroke: colourOf('--line'), width: 1 };
  const axis = { stroke: colourOf('--dim'), grid, ticks: grid };
  return {
    width: element.clientWidth,
    height,
    ...(isTime && { ms: 1 as const }),
    scales: { x: { time: isTime, ...(isLogAcross && { distr: LOG }) }, y: isLog ? { distr: LOG } : {} },
    axes: [
      { ...axis, ...(isTime && { values: (_, at) => at.map(timeWords) }) },
      { ...axis, size: 62 },
    ],
    series: [
      {
        label: across,
        ...(isTime && { value: (_: uPlot, at: number | null) => (at === null ? '--' : timeWords(at)) }),
      },
      ...lines.map(({ label, colour, isDashed = false, isFilled = false }, line): uPlot.Series => ({
        label,
        value: (_, drawn: number | null, __, at) => wordsOf(at === null ? null : (valueAt(line, at) ?? drawn)),
        ...(isFilled && { fill: `color-mix(in srgb, ${colourOf(colour)} 45%, ${colourOf('--paper')})` }),
        ...(isStepped === true && stepped && { paths: stepped({ align: 1 }), points: { show: false } }),
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

/** `--`: nothing is known there, or the pointer is elsewhere. */
const wordsOf = (value: number | null): string => (value === null ? '--' : String(Number(value.toPrecision(6))));

/** `14:02`; of midnight the day that begins. */
function timeWords(at: number): string {
  const words = clock(at, at);
  return words === '00:00' ? clock(at, 0).slice(5, 10) : words;
}
