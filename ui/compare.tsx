import { useQueries } from '@tanstack/react-query';
import { useMemo } from 'react';
import { addressOf } from './address.js';
import { call } from './api.js';
import {
  bestOf,
  digits,
  isFar,
  isLowBetter,
  type Metric,
  metricNames,
  numericAxes,
  overParameter,
  overSteps,
  type Read,
  READS,
  type Told,
  valueOf,
} from './comparison.js';
import { Problem } from './parts/answer.js';
import { Chart, type Line } from './parts/chart.js';
import { changeSearch, Link, useAddress } from './parts/link.js';
import { type Column, Table } from './parts/table.js';

/** Interval between reads of an open member's metrics. */
const LOOK_MS = 15_000;
const POINTS = 400;
const HEIGHT_PX = 260;

export interface Compared {
  readonly index: number;
  readonly id: string;
  readonly values: Readonly<Record<string, string | number | boolean>>;
  readonly isOver: boolean;
}

interface CompareParts {
  readonly members: readonly Compared[];
  /** Parameters of the group. */
  readonly axes: readonly string[];
}

/** The first six lines differ by colour. The next six repeat the colours with dashes. */
const COLOURS = ['--c4', '--c1', '--c2', '--c5', '--c3', '--c6'] as const;
const lineOf = (at: number, label: string): Line => ({
  label,
  colour: COLOURS[at % COLOURS.length] ?? '--c0',
  isDashed: at >= COLOURS.length,
});

/** Compares chosen members of a group: a metric over its steps and over a parameter, and the member with the best value. */
// Loaded with the first members that are chosen.
export function Compare({ members, axes }: CompareParts) {
  const { told, asking, isReading } = useTold(members);
  const { search } = useAddress();
  const said = new URLSearchParams(search);
  const names = metricNames(told);
  const name = names.find((each) => each === said.get('metric')) ?? names[0];
  const read = READS.find((each) => each === said.get('value')) ?? 'last';
  const isLow = said.has('best') ? said.get('best') === 'low' : isLowBetter(name ?? '');
  const over = numericAxes(axes, members);
  const axis = over.find((each) => each === said.get('over')) ?? over[0];
  const metrics = useMemo(() => told.map((each) => each?.metrics.find((one) => one.name === name)), [told, name]);
  const values = useMemo(() => metrics.map((metric) => valueOf(metric, read)), [metrics, read]);
  const best = bestOf(values, isLow);
  const lines = members.map((member, at) => lineOf(at, labelOf(member, axes)));
  return (
    <section aria-labelledby="compare-title" className="compare">
      <h2 id="compare-title">Comparison of {members.length}</h2>
      <Problem {...asking} />
      {name === undefined ? (
        <p className="note">{isReading ? 'Metrics are being read ..' : 'None of them has reported a metric.'}</p>
      ) : (
        <>
          <div className="filters">
            <Choose label="Metric" name="metric" value={name} of={names} />
            <Choose label="Value" name="value" value={read} of={READS} words={READ_WORDS} />
            <Choose
              label="Best is"
              name="best"
              value={isLow ? 'low' : 'high'}
              of={['low', 'high']}
              words={BEST_WORDS}
            />
            {over.length > 1 && <Choose label="Over" name="over" value={axis ?? ''} of={over} />}
          </div>
          <div className="plots wide">
            <OverSteps name={name} metrics={metrics} lines={lines} />
            {axis !== undefined && (
              <OverParameter {...{ name, axis, members, values, lines }} words={READ_WORDS[read] ?? read} />
            )}
          </div>
          <Table
            caption={`${name} of the chosen members`}
            columns={columnsOf(axes, lines, read)}
            rows={members.map((member, at): Row => ({ ...member, at, metric: metrics[at], isBest: at === best }))}
            keyOf={({ index }) => String(index)}
            nothing=""
          />
        </>
      )}
    </section>
  );
}

const READ_WORDS: Readonly<Record<string, string>> = { last: 'last', least: 'lowest', most: 'highest' };
const BEST_WORDS: Readonly<Record<string, string>> = { low: 'the lowest', high: 'the highest' };

function useTold(members: readonly Compared[]) {
  return useQueries({
    queries: members.map(({ id, isOver }) => ({
      queryKey: ['metrics of a member', id],
      queryFn: ({ signal }: { readonly signal: AbortSignal }): Promise<Told> =>
        call('GET /v1/jobs/:id/metrics', { of: id, query: { points: POINTS }, signal }),
      refetchInterval: isOver ? (false as const) : LOOK_MS,
    })),
    combine: (results) => ({
      told: results.map(({ data }) => data),
      isReading: results.some(({ isPending }) => isPending),
      asking: results.find(({ error }) => error !== null) ?? { error: null, data: undefined, dataUpdatedAt: 0 },
    }),
  });
}

interface ChooseParts {
  readonly label: string;
  /** The key in the address. */
  readonly name: string;
  readonly value: string;
  readonly of: readonly string[];
  readonly words?: Readonly<Record<string, string>>;
}

function Choose({ label, name, value, of, words = {} }: ChooseParts) {
  return (
    <label>
      {label}{' '}
      <select value={value} onChange={(event) => changeSearch({ [name]: event.target.value })}>
        {of.map((each) => (
          <option key={each} value={each}>
            {words[each] ?? each}
          </option>
        ))}
      </select>
    </label>
  );
}

interface OverStepsParts {
  readonly name: string;
  readonly metrics: readonly (Metric | undefined)[];
  readonly lines: readonly Line[];
}

function OverSteps({ name, metrics, lines }: OverStepsParts) {
  const data = useMemo(() => overSteps(metrics), [metrics]);
  const isLog = isFar(data.slice(1).flat());
  return (
    <figure>
      <figcaption>
        {name} <span className="note">over its steps{isLog && ', logarithmic'}</span>
      </figcaption>
      <Chart
        label={`${name} over steps of ${lines.length} members; their values are in the table below`}
        {...{ lines, data, isLog }}
        across="step"
        heightPx={HEIGHT_PX}
      />
    </figure>
  );
}

interface OverParameterParts {
  readonly name: string;
  readonly axis: string;
  readonly words: string;
  readonly members: readonly Compared[];
  readonly values: readonly (number | undefined)[];
  readonly lines: readonly Line[];
}

function OverParameter({ name, axis, words, members, values, lines }: OverParameterParts) {
  const data = useMemo(() => overParameter(axis, members, values), [axis, members, values]);
  const scales = { isLogAcross: isFar(data[0]), isLog: isFar(values) };
  return (
    <figure>
      <figcaption>
        {words} {name}{' '}
        <span className="note">
          over {axis}
          {scales.isLogAcross && ', logarithmic'}
        </span>
      </figcaption>
      <Chart
        label={`${words} ${name} over ${axis}; the values are in the table below`}
        {...{ lines, data, ...scales }}
        across={axis}
        arePoints
        heightPx={HEIGHT_PX}
      />
    </figure>
  );
}

interface Row extends Compared {
  readonly at: number;
  readonly metric: Metric | undefined;
  readonly isBest: boolean;
}

function columnsOf(axes: readonly string[], lines: readonly Line[], read: Read): readonly Column<Row>[] {
  const valueColumn = (each: Read): Column<Row> => ({
    title: READ_WORDS[each] ?? each,
    cell: ({ metric, isBest }) => (
      <>
        {each === read && isBest && <b className="good">best </b>}
        {digits(valueOf(metric, each))}
      </>
    ),
    by: ({ metric }) => valueOf(metric, each) ?? Infinity,
    isNumber: true,
  });
  return [
    {
      title: 'member',
      cell: ({ id, at, index }) => (
        <>
          <Swatch line={lines[at]} /> <Link to={addressOf({ name: 'job', id })}>{index}</Link>
        </>
      ),
      by: ({ index }) => index,
    },
    ...axes.map((axis): Column<Row> => ({
      title: axis,
      cell: ({ values }) => cellText(values[axis]),
      by: ({ values }) => values[axis] ?? '',
      isNumber: true,
    })),
    ...READS.map(valueColumn),
    {
      title: 'at step',
      cell: ({ metric }) => metric?.[read]?.step ?? 'none told',
      by: ({ metric }) => metric?.[read]?.step ?? -1,
      isNumber: true,
      isMinor: true,
    },
  ];
}

/** The line of a member in the charts. */
function Swatch({ line }: { readonly line: Line | undefined }) {
  if (line === undefined) return null;
  return (
    <svg className={line.colour.slice(2)} width="22" height="8" aria-hidden="true">
      <line
        x1="1"
        y1="4"
        x2="21"
        y2="4"
        strokeWidth="2.5"
        strokeDasharray={line.isDashed === true ? '6 4' : undefined}
      />
    </svg>
  );
}

/** Longest value in a legend. */
const MOST_OF_VALUE = 24;
const cellText = (value: string | number | boolean | undefined): string => String(value ?? '').slice(0, 60);
const labelOf = ({ index, values }: Compared, axes: readonly string[]): string =>
  [index, ...axes.slice(0, 2).map((axis) => `${axis}=${String(values[axis]).slice(0, MOST_OF_VALUE)}`)].join(' ');
