import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A command of a page, whole: with its continuation lines, its quoted lines and its here-document. */
export interface DocCommand {
  /** From the root of the repository. */
  readonly page: string;
  readonly line: number;
  readonly text: string;
}

/** Every page that a reader of the documentation may open; decisions and the log of runs hold no instructions. */
export function docPages(root: string): string[] {
  const pages = readdirSync(join(root, 'docs')).filter((name) => name.endsWith('.md') && name !== 'runs.md');
  return ['README.md', ...pages.map((name) => `docs/${name}`), 'examples/README.md'];
}

/** Commands in blocks marked `sh`, in order. Comments alone are no commands. */
export function commandsOf(root: string, page: string): DocCommand[] {
  const commands: DocCommand[] = [];
  let isShell = false;
  let begun: { line: number; text: string } | undefined;
  for (const [index, line] of readFileSync(join(root, page), 'utf8').split('\n').entries()) {
    if (line.startsWith('```')) {
      if (begun !== undefined)
        throw new Error(`${page}:${begun.line}: the command does not end within its block:\n${begun.text}`);
      isShell = line === '```sh';
    } else if (isShell && (begun !== undefined || !/^\s*(#.*)?$/u.test(line))) {
      begun = begun === undefined ? { line: index + 1, text: line } : { ...begun, text: `${begun.text}\n${line}` };
      if (isWhole(begun.text)) {
        commands.push({ page, ...begun });
        begun = undefined;
      }
    }
  }
  return commands;
}

function isWhole(text: string): boolean {
  const [, word] = /<<-?\s*'?(\w+)'?/u.exec(text) ?? [];
  if (word !== undefined && !text.split('\n').includes(word)) return false;
  return !text.endsWith('\\') && spawnSync('bash', ['-n', '-c', text]).status === 0;
}
