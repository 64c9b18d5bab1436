import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { splitShellWords } from '../../domain/shell-quote.js';

/** A command of a page, whole: with its continuation lines, its quoted lines and its here-document. */
export interface DocCommand {
  /** From the root of the repository. */
  readonly page: string;
  readonly line: number;
  readonly text: string;
  /** Of a block that shows what is typed and what is printed. */
  readonly isTranscript: boolean;
}

/** Every page that a reader of the documentation may open; decisions and the log of runs hold no instructions. */
export function docPages(root: string): string[] {
  const pages = readdirSync(join(root, 'docs')).filter((name) => name.endsWith('.md') && name !== 'runs.md');
  const examples = ['', 'python-http/', 'python-service/', 'typescript-service/'].map(
    (folder) => `examples/${folder}README.md`,
  );
  const others = ['worker/README.md', 'rehearsal/README.md', 'python/README.md', 'CONTRIBUTING.md', 'SECURITY.md'];
  return ['README.md', ...pages.map((name) => `docs/${name}`), ...examples, ...others];
}

const FENCE = /^ *```(\w*)/u;

/**
 * Commands in blocks marked `sh`, also in those of a list, and in the transcripts of blocks without a mark (`$ jobctl list`), in
 * order. Comments alone are no commands.
 */
export function commandsOf(root: string, page: string): DocCommand[] {
  const commands: DocCommand[] = [];
  let language: string | undefined;
  let begun: { line: number; text: string } | undefined;
  for (const [index, whole] of readFileSync(join(root, page), 'utf8').split('\n').entries()) {
    const mark = FENCE.exec(whole)?.[1];
    if (mark !== undefined) {
      if (begun !== undefined)
        throw new Error(`${page}:${begun.line}: the command does not end within its block:\n${begun.text}`);
      language = language === undefined ? mark : undefined;
    } else if (language === '' && whole.startsWith('$ ')) {
      commands.push({ page, line: index + 1, text: whole.slice(2), isTranscript: true });
    } else if (language === 'sh' && (begun !== undefined || !/^\s*(#.*)?$/u.test(whole))) {
      begun =
        begun === undefined ? { line: index + 1, text: whole.trim() } : { ...begun, text: `${begun.text}\n${whole}` };
      if (isWhole(begun.text)) {
        commands.push({ page, ...begun, isTranscript: false });
        begun = undefined;
      }
    }
  }
  return commands;
}

/** Words, quoted ones too, in a pipe or a list, of which none opens anything: most commands, and bash need not be asked about them. */
const PLAIN =
  /^(?!(?:if|for|while|until|case|select|function|time|coproc)\b)(?:[\w ./:=,@%+~-]|'[^']*'|"[^"\\`$]*"|\$[A-Z_]+| \\\n| (?:\||&&) (?=\w)| #.*$)+$/u;

function isWhole(text: string): boolean {
  if (PLAIN.test(text)) return true;
  const [, word] = /<<-?\s*'?(\w+)'?/u.exec(text) ?? [];
  if (word !== undefined && !text.split('\n').includes(word)) return false;
  return !text.endsWith('\\') && spawnSync('bash', ['-n', '-c', text]).status === 0;
}

/** Text in `code` outside of blocks, with its line. */
export function codeSpansOf(root: string, page: string): { readonly line: number; readonly text: string }[] {
  const blank = (text: string): string => text.replaceAll(/[^\n]/gu, '');
  const text = readFileSync(join(root, page), 'utf8').replaceAll(/^ *```[\s\S]*?^ *```/gmu, blank);
  return [...text.matchAll(/`([^`]+)`/gu)].map(({ index, 1: code = '' }) => ({
    line: text.slice(0, index).split('\n').length,
    text: code.replaceAll(String.raw`\|`, '|').replaceAll('\n', ' '),
  }));
}

/** The words behind `jobctl` of each call of it in a shell command, in pipes, lists and `$(..)` too. */
export function jobctlCallsIn(command: string): (readonly string[])[] {
  const calls: (readonly string[])[] = [];
  for (const piece of simpleCommandsIn(command)) {
    const [, rest] = /^(?:\w+=\S* |timeout \d+ |xargs (?:-\S+ )*)*(?:npx )?jobctl(?= |$)(.*)/su.exec(piece) ?? [];
    const words = rest === undefined ? undefined : splitShellWords(rest);
    if (words !== undefined) calls.push(words);
  }
  return calls;
}

/** As much of a shell's grammar as the pages use. Here-documents and comments are no commands. */
function simpleCommandsIn(command: string): string[] {
  const text = command.replace(/<<-?\s*'?(\w+)'?[\s\S]*\n\1$/u, '');
  const nested = [...text.matchAll(/\$\(([^()]*)\)/gu)].flatMap(([, inner = '']) => simpleCommandsIn(inner));
  const PIECE = /'[^']*'|"(?:\\.|[^"\\])*"|\\.|(?<=\s)#[^\n]*|([|&;\n<>()])|[^'"\\|&;\n<>()]/gsu;
  const pieces = [''];
  for (const [piece, end] of text.matchAll(PIECE)) {
    if (end !== undefined) pieces.push('');
    else if (!piece.startsWith('#')) pieces[pieces.length - 1] += piece;
  }
  return [...pieces, ...nested].map((piece) => piece.trim());
}
