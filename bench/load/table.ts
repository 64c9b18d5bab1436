import type { ScenarioFigures } from './scenario.js';

/** One line of the table: a figure for each scenario, and its aim. */
interface Measure {
  readonly what: string;
  readonly shown: (figures: ScenarioFigures) => string;
  readonly aim?: string;
  readonly isMet?: (figures: ScenarioFigures) => boolean;
}

const MEGABYTE = 1_000_000;
const PAYLOAD_LIMIT = 2 * 1024 * 1024;
const EVENT_LIMIT = 51_200;
const HISTORY_LIMIT = 50 * MEGABYTE;

const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;
const ms = (value: number): string => `${value.toFixed(0)} ms`;
const megabytes = (bytes: number): string => `${(bytes / MEGABYTE).toFixed(0)} MB`;
const kilobytes = (bytes: number): string => `${(bytes / 1000).toFixed(0)} kB`;

const MEASURES: readonly Measure[] = [
  { what: 'starts a second', shown: ({ startsPerSecond }) => startsPerSecond.toFixed(0) },
  { what: 'first submit until the pool knows all', shown: ({ allKnownMs }) => seconds(allKnownMs) },
  {
    what: 'worker, resident peak until then',
    shown: ({ workerMemory }) => megabytes(workerMemory.peakBytes),
    aim: '500 MB',
    isMet: ({ workerMemory }) => workerMemory.peakBytes <= 500 * MEGABYTE,
  },
  { what: 'worker, resident then', shown: ({ workerMemory }) => megabytes(workerMemory.bytes) },
  { what: 'worker, peak after all were cancelled', shown: (all) => megabytes(all.workerPeakAfterCancel) },
  {
    what: 'dev server, resident peak',
    shown: ({ serverMemory }) => (serverMemory ? megabytes(serverMemory.peakBytes) : '-'),
  },
  {
    what: '`jobctl list`, the whole process',
    shown: ({ list }) => ms(list.processMs),
    aim: '500 ms',
    isMet: ({ list }) => list.processMs <= 500,
  },
  { what: '  its client call alone', shown: ({ list }) => ms(list.callMs) },
  { what: '  `node -e 0` beside it', shown: ({ list }) => ms(list.bareNodeMs) },
  { what: 'quota workflow: runs', shown: ({ pool }) => String(pool.runs) },
  { what: '  signals', shown: ({ pool }) => String(pool.signals) },
  {
    what: '  most events in a run',
    shown: ({ poolAtEnd }) => String(poolAtEnd.mostEvents),
    aim: `limit ${EVENT_LIMIT}`,
    isMet: ({ poolAtEnd }) => poolAtEnd.mostEvents < EVENT_LIMIT,
  },
  {
    what: '  most bytes in a run',
    shown: ({ poolAtEnd }) => kilobytes(poolAtEnd.mostBytes),
    aim: `limit ${megabytes(HISTORY_LIMIT)}`,
    isMet: ({ poolAtEnd }) => poolAtEnd.mostBytes < HISTORY_LIMIT,
  },
  {
    what: '  biggest payload',
    shown: ({ poolAtEnd: { biggest } }) => kilobytes(biggest.bytes),
    aim: `limit ${kilobytes(PAYLOAD_LIMIT)}`,
    isMet: ({ poolAtEnd }) => poolAtEnd.biggest.bytes < PAYLOAD_LIMIT,
  },
  { what: '    which is in', shown: ({ poolAtEnd }) => poolAtEnd.biggest.where },
  { what: '  carried into its last run, full', shown: ({ pool }) => kilobytes(pool.carriedBytes) },
  { what: '  carried into its last run, emptied', shown: ({ poolAtEnd }) => kilobytes(poolAtEnd.carriedBytes) },
  {
    what: '  answer of the query `state`',
    shown: ({ state }) => (state.kind === 'answered' ? kilobytes(state.bytes) : 'refused'),
    aim: `limit ${kilobytes(PAYLOAD_LIMIT)}`,
    isMet: ({ state }) => state.kind === 'answered' && state.bytes < PAYLOAD_LIMIT,
  },
  { what: '  workflow task, median', shown: ({ pool }) => ms(pool.taskMs.median) },
  {
    what: '  workflow task, longest',
    shown: ({ poolAtEnd }) => ms(poolAtEnd.taskMs.most),
    aim: '2000 ms',
    isMet: ({ poolAtEnd }) => poolAtEnd.taskMs.most <= 2_000,
  },
  {
    what: '  workflow tasks lost',
    shown: ({ poolAtEnd }) => String(poolAtEnd.lostTasks),
    aim: '0',
    isMet: ({ poolAtEnd }) => poolAtEnd.lostTasks === 0,
  },
  { what: 'job in another pool, before: to its end', shown: ({ canaryBefore }) => seconds(canaryBefore.totalMs) },
  { what: '  behind the queue', shown: ({ canaryAfter }) => seconds(canaryAfter.totalMs) },
  { what: '  submit to grant, before', shown: ({ canaryBefore }) => ms(canaryBefore.grantMs) },
  { what: '  submit to grant, behind', shown: ({ canaryAfter }) => ms(canaryAfter.grantMs) },
  {
    what: '  longest schedule-to-start, before',
    shown: ({ canaryBefore }) => ms(canaryBefore.longestScheduleToStartMs),
  },
  {
    what: '  longest schedule-to-start, behind',
    shown: ({ canaryAfter }) => ms(canaryAfter.longestScheduleToStartMs),
  },
  { what: 'cancel all, until every job is closed', shown: ({ cancelMs }) => seconds(cancelMs) },
];

const WIDTH = { what: 42, figure: 24 };

/** Prints one column per scenario and one line per measure. */
export function printTable(scenarios: readonly ScenarioFigures[], print: (line: string) => void): void {
  const line = (what: string, figures: readonly string[], note: string): void =>
    print(
      `${what.padEnd(WIDTH.what)}${figures.map((figure) => figure.padStart(WIDTH.figure)).join('')}  ${note}`.trimEnd(),
    );
  line(
    'queued jobs',
    scenarios.map(({ scenario }) => scenario.title),
    'aim',
  );
  for (const { what, shown, aim = '', isMet } of MEASURES) {
    const missed = scenarios.filter((figures) => isMet?.(figures) === false).map(({ scenario }) => scenario.title);
    line(what, scenarios.map(shown), missed.length === 0 ? aim : `${aim}  MISSED: ${missed.join('; ')}`);
  }
}
