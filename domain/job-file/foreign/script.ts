import { splitShellWords } from '../../shell-quote.js';

/** One command of a shell script. */
export interface ScriptCommand {
  /** Number from 1. */
  readonly line: number;
  /** Words in which variables that the script sets to plain texts have their values. */
  readonly words: readonly string[];
}

/** Limit of a command: a quote that is never closed would take the rest of the script. */
const MOST_LINES = 80;

/** The commands of a shell script as far as they can be read without running it. */
export function commandsOf(script: string): readonly ScriptCommand[] {
  const variables = new Map<string, string>();
  const lines = script.split('\n');
  const commands: ScriptCommand[] = [];
  for (let at = 0; at < lines.length;) {
    const { words, next } = commandAt(lines, at);
    const known = words.map((word) => withValues(word, variables));
    remember(known, variables);
    if (known.length > 0) commands.push({ line: at + 1, words: known });
    at = next;
  }
  return commands;
}

/** Joins lines where a quote is open or a backslash ends them, and leaves out a document behind `<<`. */
function commandAt(
  lines: readonly string[],
  from: number,
): { readonly words: readonly string[]; readonly next: number } {
  if (/^\s*#/.test(lines[from] ?? '')) return { words: [], next: from + 1 };
  let text = '';
  const end = Math.min(lines.length, from + MOST_LINES);
  for (let at = from; at < end; at++) {
    const line = (lines[at] ?? '').trimEnd();
    if (/(^|[^\\])(\\\\)*\\$/.test(line)) {
      text += `${line.slice(0, -1).trim()} `;
      continue;
    }
    text += withoutComment(text.endsWith(' ') ? line.trimStart() : line, text);
    const words = splitShellWords(text);
    if (words !== undefined) return { words, next: behindDocument(lines, at + 1, text) };
    text += '\n';
  }
  const words = splitShellWords(text);
  return words === undefined ? { words: [], next: from + 1 } : { words, next: end };
}

/** @param before the text that the line continues */
function withoutComment(line: string, before: string): string {
  const at = line.indexOf(' #');
  return at !== -1 && splitShellWords(`${before}${line.slice(0, at)}`) !== undefined ? line.slice(0, at) : line;
}

function behindDocument(lines: readonly string[], next: number, text: string): number {
  const end = /<<-?\s*['"]?(\w+)/.exec(text)?.[1];
  if (end === undefined) return next;
  const at = lines.findIndex((line, index) => index >= next && line.trim() === end);
  return at === -1 ? next : at + 1;
}

const ASSIGNMENT = /^([A-Za-z_]\w*)=([\s\S]*)$/;
/** Matches `${NAME:=value}` of `: "${NAME:=value}"`. */
const DEFAULT = /^\$\{([A-Za-z_]\w*):=([^{}]*)\}$/;

function remember(words: readonly string[], variables: Map<string, string>): void {
  const [first = ''] = words;
  const assignments = ['export', 'local', 'readonly', 'declare'].includes(first) ? words.slice(1) : words;
  if (first === ':') {
    for (const word of words) {
      const [, name, value = ''] = DEFAULT.exec(word) ?? [];
      if (name !== undefined && !variables.has(name)) variables.set(name, value);
    }
    return;
  }
  if (!ASSIGNMENT.test(assignments[0] ?? '')) return;
  for (const word of assignments) {
    const [, name, value = ''] = ASSIGNMENT.exec(word.replace(/;$/, '')) ?? [];
    if (name === undefined) return;
    if (isKnown(value)) variables.set(name, value);
    else variables.delete(name);
  }
}

/** Whether a word holds nothing that only a shell could work out. */
export const isKnown = (word: string): boolean => !/[$`]/.test(word);

/** Fills in `$NAME`, `${NAME}` and `${NAME:-value}`. Whatever else a shell would work out stays as it is. */
const withValues = (word: string, variables: ReadonlyMap<string, string>): string =>
  word.replace(
    /\$(?:([A-Za-z_]\w*)|\{([A-Za-z_]\w*)(?::-([^{}$]*))?\})/g,
    (whole, plain: string | undefined, braced: string | undefined, fallback: string | undefined) =>
      variables.get(plain ?? braced ?? '') ?? fallback ?? whole,
  );

/** A command by which a script asks for machines, or starts a job on some. */
export interface Launch {
  readonly line: number;
  /** Words of the program, such as `tpu-vm create`. */
  readonly verb: string;
  readonly flags: ReadonlyMap<string, readonly string[]>;
}

/** The value of a flag; undefined if it is not given, or only a shell could work it out. */
export function knownValue({ flags }: Launch, ...names: readonly string[]): string | undefined {
  const value = names.flatMap((name) => flags.get(name) ?? []).at(-1);
  return value !== undefined && value !== '' && isKnown(value) ? value : undefined;
}
