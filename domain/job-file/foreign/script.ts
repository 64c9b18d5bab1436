import { splitShellWords } from '../../shell-quote.js';
import type { Translation } from './translation.js';

export interface ScriptCommand {
  /** Number from 1. */
  readonly line: number;
  /** The command's words. Variables that the script sets to plain texts are replaced by their values. */
  readonly words: readonly string[];
  /** The loop that the command is in. */
  readonly loop?: Loop | undefined;
}

/** Most lines of one command. Without a bound, a quote that is never closed would take the rest of the script. */
const MOST_LINES = 80;

/** The commands of a shell script as far as they can be read without running it. */
export function commandsOf(script: string): readonly ScriptCommand[] {
  const variables = new Map<string, string>();
  const lines = script.split('\n');
  const commands: ScriptCommand[] = [];
  const loops: Loop[] = [];
  for (let at = 0; at < lines.length;) {
    const { words, next } = commandAt(lines, at);
    const known = words.map((word) => withValues(word, variables));
    remember(known, variables);
    const loop = loopIn(words, at + 1);
    if (loop !== undefined) loops.push(loop);
    if (known.length > 0) commands.push({ line: at + 1, words: known, loop: loops.at(-1) });
    if (words.some((word) => /^done;?$/.test(word))) loops.pop();
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
    const words = splitShellWords(withLiterals(text));
    if (words !== undefined) return { words, next: behindDocument(lines, at + 1, text) };
    text += '\n';
  }
  const words = splitShellWords(withLiterals(text));
  return words === undefined ? { words: [], next: from + 1 } : { words, next: end };
}

/** Stand for a `$` and a backtick in single quotes or behind a backslash, which the script's shell leaves as they are. */
const [DOLLAR, TICK] = ['\uE000', '\uE001'];
const QUOTED = /'[^']*'|\\[^]|"(?:\\[^]|[^"\\])*"/g;

const withLiterals = (text: string): string =>
  text.replace(QUOTED, (quoted) => {
    if (quoted.startsWith("'")) return quoted.replaceAll('$', DOLLAR).replaceAll('`', TICK);
    return quoted.replaceAll(/\\([^])/g, (whole, escaped: string) =>
      escaped === '$' ? DOLLAR : escaped === '`' ? TICK : whole,
    );
  });

/** The text that a program gets: with `$` and backtick in the place of what stands for them. */
export const asGiven = (word: string): string => word.replaceAll(DOLLAR, '$').replaceAll(TICK, '`');

/** Names in a text that the script's shell would fill in. */
export const openNames = (text: string): readonly string[] => [
  ...new Set([...text.matchAll(/\$\{?([A-Za-z_]\w*)/g)].map(([, name = '']) => `$${name}`)),
];

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
export interface Launch extends InLoop {
  readonly line: number;
  /** Words of the program, such as `tpu-vm create`. */
  readonly verb: string;
  /** The first word that is no flag. */
  readonly name?: string | undefined;
}

/** The value of a flag; undefined if it is not given, or only a shell could work it out. */
export function knownValue({ flags }: Launch, ...names: readonly string[]): string | undefined {
  const value = names.flatMap((name) => flags.get(name) ?? []).at(-1);
  return value !== undefined && value !== '' && isKnown(value) ? asGiven(value) : undefined;
}

interface Loop {
  readonly line: number;
  /** Its beginning, such as `for i in 0 1 2`. */
  readonly text: string;
}

/** A command that asks for machines, perhaps in a loop. */
interface InLoop {
  readonly flags: ReadonlyMap<string, readonly string[]>;
  readonly loop?: Loop | undefined;
}

/** The loop that a line begins, if it does. */
function loopIn(words: readonly string[], line: number): Loop | undefined {
  if (!['for', 'while', 'until'].includes(words[0] ?? '')) return undefined;
  // The semicolons of `for ((i = 0; i < 3; i++)); do` stand inside of its brackets.
  const from = words[1]?.startsWith('((') === true ? words.findIndex((word) => /\)\);?$/.test(word)) : 0;
  const end = words.findIndex((word, at) => at >= from && (word === 'do' || word === ';' || word.endsWith(';')));
  const head = words.slice(0, end === -1 ? words.length : end + 1).filter((word) => word !== 'do');
  return { line, text: head.join(' ').replace(/;$/, '').trim() };
}

/** Notes loops around commands that ask for machines. A loop that only asks again is not needed: a job asks again by itself. */
export function tellLoops(into: Translation, launches: readonly InLoop[]): void {
  for (const { loop, flags } of launches) {
    if (loop === undefined) continue;
    const shown = `\`${loop.text}\` of line ${loop.line}`;
    const [, variable] = /^for (\w+) in\b/.exec(loop.text) ?? [];
    const isIn = (zone: string): boolean => zone.includes('$') && zone.split(/\W+/).includes(variable ?? '');
    const isOfZones = variable !== undefined && (flags.get('--zone') ?? []).some(isIn);
    if (/^until |^while (true|:|1|!)( |$)/.test(loop.text)) into.note(`${shown}: a job asks again by itself`);
    else if (isOfZones) into.lose('a job asks in each of tpu.zones: write them there', shown);
    else into.lose('a job for each: `jobctl submit` in the loop, with what differs by --set', shown);
  }
}
