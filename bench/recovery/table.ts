import { percentile } from '../start/statistics.js';
import type { ApiFigures } from './api-calls.js';
import type { Calls, DeletionFigures, WaitingFigures } from './asked-together.js';
import type { KindFigures } from './measure.js';
import { type Stage, STAGES } from './stages.js';

const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;
const WIDTH = { what: 42, figure: 12 };

function line(print: (text: string) => void, what: string, ...figures: readonly string[]): void {
  print(`${what.padEnd(WIDTH.what)}${figures.map((figure) => figure.padStart(WIDTH.figure)).join('')}`.trimEnd());
}

/** Prints times from the preemption to each stage (p50, p99), and the median time from the stage before. */
export function printKind({ kind, jobs, samples, calls }: KindFigures, print: (text: string) => void): void {
  print(`${kind.title}; ${jobs} jobs side by side`);
  line(print, 'from the preemption to', 'p50', 'p99', 'n', 'step p50');
  let previous: Stage | undefined;
  for (const stage of Object.keys(STAGES) as Stage[]) {
    const times = samples.flatMap((sample) => sample[stage] ?? []);
    if (times.length === 0) continue;
    const steps = samples.flatMap((sample) => {
      const [at, before] = [sample[stage], previous === undefined ? 0 : sample[previous]];
      return at === undefined || before === undefined ? [] : [at - before];
    });
    const figures = [percentile(times, 50), percentile(times, 99)].map(seconds);
    line(print, STAGES[stage], ...figures, String(times.length), seconds(percentile(steps, 50)));
    previous = stage;
  }
  const each = [...calls].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([method, n]) => `${method} ${n.toFixed(1)}`);
  print(`API calls a recovery, listings apart: ${each.join(', ')}`);
}

/** Prints API calls in an hour of running jobs, by the number of jobs. */
export function printApi(figures: readonly ApiFigures[], print: (text: string) => void): void {
  print('API calls an hour while all jobs run, all in one zone');
  line(print, 'jobs', 'calls', 'by method');
  for (const { jobs, seconds: over, calls } of figures) {
    const hourly = [...calls].map(([method, count]) => [method, Math.round((count * 3600) / over)] as const);
    const all = hourly.reduce((sum, [, count]) => sum + count, 0);
    line(print, String(jobs), String(all), `  ${hourly.map(([method, count]) => `${method} ${count}`).join(', ')}`);
  }
}

/** Prints API calls of waiting jobs, by their number: in an hour of waiting, and for one move of one job to another zone. */
export function printWaiting(figures: readonly WaitingFigures[], print: (text: string) => void): void {
  print('API calls while all jobs wait, each in two of three zones');
  for (const { jobs, seconds: over, calls, moving } of figures) {
    const hourly = new Map([...calls].map(([method, count]) => [method, (count * 3600) / over]));
    line(print, `${jobs} jobs: an hour`, sumOf(hourly), `  ${byMethod(hourly, 0)}`);
    const perMove = new Map([...moving].map(([method, count]) => [method, count / jobs]));
    line(print, `${jobs} jobs: each move of a job`, sumOf(perMove), `  ${byMethod(perMove, 1)}`);
  }
}

export function printDeletions(figures: readonly DeletionFigures[], print: (text: string) => void): void {
  print('API calls of deletions at once, all in one zone');
  for (const { slices, seconds: over, calls } of figures)
    line(print, `${slices} slices, gone within ${over.toFixed(0)} s`, sumOf(calls), `  ${byMethod(calls, 0)}`);
}

const sumOf = (calls: Calls): string => [...calls.values()].reduce((sum, count) => sum + count, 0).toFixed(0);
const byMethod = (calls: Calls, digits: number): string =>
  [...calls]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([method, count]) => `${method} ${count.toFixed(digits)}`)
    .join(', ');
