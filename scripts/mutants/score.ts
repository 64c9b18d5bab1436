import { withRow as inTable } from '../runs-page.js';
import type { MutantReport } from './stryker.js';

export interface Score {
  readonly mutants: number;
  /** A test failed, or the tests took too long: the change made a loop endless. */
  readonly killed: number;
  /** No test failed, or no test reaches the place. */
  readonly survived: number;
  /** A comment `Stryker disable next-line` beside the code says why the change alters nothing that anybody can see. */
  readonly argued: number;
  /** Killed or argued, of all; one decimal, rounded down. */
  readonly percent: number;
}

export function scoreOf({ files }: MutantReport): Score {
  const all = Object.values(files).flatMap(({ mutants }) => mutants.map(({ status }) => status));
  const count = (...wanted: readonly string[]): number => all.filter((status) => wanted.includes(status)).length;
  const mutants = all.length - count('CompileError', 'RuntimeError');
  const killed = count('Killed', 'Timeout');
  const argued = count('Ignored');
  const percent = mutants === 0 ? 0 : Math.floor((1000 * (killed + argued)) / mutants) / 10;
  return { mutants, killed, survived: count('Survived', 'NoCoverage'), argued, percent };
}

/** One line for each change that no test noticed, by file and line; then one for each file with its score. */
export function survivorsOf(report: MutantReport): string {
  const lines = Object.entries(report.files).flatMap(([file, { mutants }]) =>
    mutants
      .filter(({ status }) => status === 'Survived' || status === 'NoCoverage')
      .toSorted((a, b) => a.location.start.line - b.location.start.line)
      .map(({ status, location: { start }, mutatorName, replacement = '' }) => {
        const place = `${file}:${start.line}:${start.column}`;
        return `${status === 'Survived' ? 'survived' : 'no test '} ${place} ${mutatorName} -> ${oneLine(replacement)}`;
      }),
  );
  const files = Object.entries(report.files).map(([file, entry]) => {
    const { percent, mutants, survived } = scoreOf({ files: { [file]: entry } });
    return `${String(percent).padStart(5)} %  ${String(mutants).padStart(4)} mutants, ${survived} survive  ${file}`;
  });
  return [...lines, ...files].join('\n');
}

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
