import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import type { Attack, Result } from './attack.js';
import { OLD_COMMIT, ROOT } from './old-tree.js';

const TITLE = `## Attacks, at ${OLD_COMMIT} and now`;

/** Writes the section with what the run saw, in place of the one before. */
export function writeTable(
  file: string,
  attacks: readonly Attack[],
  seen: ReadonlyMap<string, { readonly old?: Result; readonly now?: Result }>,
): void {
  const text = readFileSync(file, 'utf8');
  const start = text.indexOf(`${TITLE}\n`);
  // A new one stands before the last section, behind which .ci/long writes.
  const from = start === -1 ? text.lastIndexOf('\n## ') + 1 : start;
  const to = start === -1 ? from : text.indexOf('\n## ', start + TITLE.length) + 1;
  const rows = attacks.map(({ finding, title }) => {
    const { old, now } = seen.get(finding) ?? {};
    return `| ${finding} | ${cell(title)} | ${cell(wordOf(old))} | ${cell(wordOf(now))} |`;
  });
  const commit = git('rev-parse', '--short', 'HEAD');
  const words = `${new Date().toISOString().slice(0, 10)}, \`test/long/security/against-${OLD_COMMIT}.test.ts\`, which wrote this table; now is ${commit}.`;
  const head = ['| finding | attack | at the commit of the findings | now |', '| --- | --- | --- | --- |'];
  writeFileSync(
    file,
    `${text.slice(0, from)}${[TITLE, '', words, '', ...head, ...rows, '', ''].join('\n')}${text.slice(to)}`,
  );
}

const wordOf = (result: Result | undefined): string =>
  result === undefined ? 'not run' : `${result.hasSucceeded ? 'succeeded' : 'failed'}: ${result.seen}`;

const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('\n', ' ');

const git = (...args: readonly string[]): string =>
  execFileSync('git', [...args], { cwd: ROOT, encoding: 'utf8' }).trim();
