import { relative } from 'node:path';
import { withRow as inTable } from '../runs-page.js';
import type { Judged } from './judge.js';

export interface Score {
  readonly mutants: number;
  /** Mutants with a failed test, or whose tests took too long because the change made a loop endless. */
  readonly killed: number;
  /** Mutants without a failed test, or in a place that no test reaches. */
  readonly survived: number;
  /** Mutants with a comment `Stryker disable next-line`, which says why nobody can see the change. */
  readonly argued: number;
  /** Killed and argued mutants in percent of all, with one decimal, rounded down. */
  readonly percent: number;
}

export function scoreOf(all: readonly Judged[]): Score {
  const count = (...wanted: readonly Judged['status'][]): number =>
    all.filter(({ status }) => wanted.includes(status)).length;
  const killed = count('Killed', 'Timeout');
  const argued = count('Ignored');
  const percent = all.length === 0 ? 0 : Math.floor((1000 * (killed + argued)) / all.length) / 10;
  return { mutants: all.length, killed, survived: count('Survived', 'NoCoverage'), argued, percent };
}

/** One line for each change that no test noticed, by file and line; then one for each file with its score. */
export function survivorsOf(all: readonly Judged[]): string {
  const byFile = new Map<string, Judged[]>();
  for (const mutant of all) byFile.set(mutant.fileName, [...(byFile.get(mutant.fileName) ?? []), mutant]);
  const lines = [...byFile.values()].flatMap((mutants) =>
    mutants
      .filter(({ status }) => status === 'Survived' || status === 'NoCoverage')
      .toSorted((a, b) => a.location.start.line - b.location.start.line)
      .map(({ status, fileName, location: { start }, mutatorName, replacement }) => {
        const place = `${nameOf(fileName)}:${start.line + 1}:${start.column + 1}`;
        return `${status === 'Survived' ? 'survived' : 'no test '} ${place} ${mutatorName} -> ${oneLine(replacement)}`;
      }),
  );
  const files = [...byFile].map(([file, of]) => {
    const { percent, mutants, survived } = scoreOf(of);
    return `${String(percent).padStart(5)} %  ${String(mutants).padStart(4)} mutants, ${survived} survive  ${nameOf(file)}`;
  });
  return [...lines, ...files].join('\n');
}

const nameOf = (file: string): string => relative(process.cwd(), file);
const oneLine = (text: string): string => text.replaceAll(/\s+/g, ' ').slice(0, 100);

const HEAD = '| area | mutants | killed | argued equivalent | survived | score | commit | date | minutes |';

/** docs/runs.md with the area's row in the table of mutants, in place of an older one. @throws Error if it has no table */
export function withRow(
  text: string,
  name: string,
  { mutants, killed, survived, argued, percent }: Score,
  { commit, day, minutes }: { readonly commit: string; readonly day: string; readonly minutes: number },
): string {
  return inTable(text, HEAD, name, [mutants, killed, argued, survived, `${percent} %`, commit, day, minutes]);
}
