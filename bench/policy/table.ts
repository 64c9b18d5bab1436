import type { Figures } from './figures.js';

export interface Result {
  readonly title: string;
  readonly figures: Figures;
}

/** One line of the table. */
interface Measure {
  readonly what: string;
  readonly figure: (figures: Figures) => number;
  readonly shown: (figure: number) => string;
  readonly better: 'less' | 'more';
  /** Wanted ratio of jobctl's figure to Bastion's. */
  readonly aim?: number;
}

const percent = (part: number): string => `${(part * 100).toFixed(1)} %`;
const minutes = (count: number): string => (count < 100 ? `${count.toFixed(1)} min` : `${(count / 60).toFixed(1)} h`);
const whole = (count: number): string => count.toFixed(0);

const MEASURES: readonly Measure[] = [
  { what: 'chips held by jobs', figure: (all) => all.utilisation, shown: percent, better: 'more', aim: 1 },
  { what: '  at work that is kept', figure: (all) => all.goodput, shown: percent, better: 'more', aim: 1 },
  ...waitMeasures('submit to first grant', ({ firstWait }) => firstWait),
  ...waitMeasures('all time in the queue', ({ allWait }) => allWait),
  {
    what: 'chip-hours lost to preemption by quota',
    figure: (all) => all.lostUnitHours,
    shown: whole,
    better: 'less',
    aim: 0.5,
  },
  { what: 'preemptions by quota', figure: (all) => all.preemptions, shown: whole, better: 'less' },
  { what: '  jobs they hit', figure: (all) => all.preemptedJobs, shown: whole, better: 'less' },
  { what: '  most of one job', figure: (all) => all.mostPreemptionsOfOneJob, shown: whole, better: 'less' },
  { what: 'last end, days', figure: (all) => all.lastEndDays, shown: (days) => days.toFixed(2), better: 'less' },
];

function waitMeasures(what: string, waits: (figures: Figures) => Figures['firstWait']): Measure[] {
  const line = (part: string, of: (waits: Figures['firstWait']) => number, aim?: number): Measure => ({
    what: `${what}, ${part}`,
    figure: (figures) => of(waits(figures)),
    shown: minutes,
    better: 'less',
    ...(aim === undefined ? {} : { aim }),
  });
  return [
    line('in quota p50', ({ inQuota }) => inQuota.p50),
    line('in quota p95', ({ inQuota }) => inQuota.p95, 0.5),
    line('in quota p99', ({ inQuota }) => inQuota.p99),
    line('over quota p50', ({ overQuota }) => overQuota.p50),
    line('over quota p95', ({ overQuota }) => overQuota.p95),
  ];
}

const WIDTH = { what: 44, figure: 20 };

/** Prints one column per policy, with jobctl's ratio to Bastion at the end of each line. */
export function printPolicies(results: readonly Result[], print: (line: string) => void): void {
  const row = (what: string, cells: readonly string[], note: string): void =>
    print(`${what.padEnd(WIDTH.what)}${cells.map((cell) => cell.padStart(WIDTH.figure)).join('')}  ${note}`.trimEnd());
  row(
    '',
    results.map(({ title }) => title),
    'ours beside Bastion',
  );
  for (const measure of MEASURES) {
    const cells = results.map(({ figures }) => measure.shown(measure.figure(figures)));
    row(measure.what, cells, verdict(measure, results));
  }
}

/** One ratio to Bastion for each of jobctl's columns. A ratio is marked if it misses the aim, or if jobctl loses. */
function verdict({ figure, better, aim }: Measure, results: readonly Result[]): string {
  const theirs = results.find(({ title }) => title === 'Bastion');
  if (theirs === undefined) return '';
  const other = figure(theirs.figures);
  const isWithin = (mine: number, part: number): boolean =>
    better === 'less' ? mine <= part * other : mine >= part * other;
  const ratios = results
    .filter(({ title }) => title.startsWith('jobctl'))
    .map(({ figures }) => {
      const mine = figure(figures);
      const isMissed = aim !== undefined && !isWithin(mine, aim);
      const ratio = other === 0 ? '-' : `${(mine / other).toFixed(2)}x`;
      return `${ratio}${isMissed ? ' MISSED' : ''}${isWithin(mine, 1) ? '' : ' WE LOSE'}`;
    });
  return [ratios.join(' | '), ...(aim === undefined ? [] : [`(aim ${aim}x)`])].join('  ');
}
