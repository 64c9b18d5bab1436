import { parseTOML } from 'toml-eslint-parser';
import type { AST } from 'toml-eslint-parser';
import type { Problem } from '../../domain/problem.js';
import { readToml, TomlPositions } from './toml-text.js';

type Piece = AST.Token | AST.Comment;

/** One line of the result. The value of a pair may continue in later lines. */
interface Line {
  readonly kind: 'header' | 'pair' | 'comment' | 'inside';
  /** For a pair: the key without ` = `. */
  readonly key: string;
  readonly rest: string;
  readonly isAfterBlank: boolean;
}

/**
 * Lays out a quota or pool file in its normal spacing: the `=` of neighbouring lines below one another, one blank line before
 * each table, two blanks of indent inside a list. Only white space changes, so comments and order stay. Repeating it changes
 * nothing.
 * @param file its name, for messages
 */
export function formatToml(
  text: string,
  file: string,
): { readonly ok: true; readonly text: string } | { readonly ok: false; readonly problems: readonly Problem[] } {
  const tree = readToml(text, new TomlPositions(text));
  if (!tree.ok) return { ok: false, problems: [{ file, ...tree.problem }] };
  const pieces = piecesOf(text);
  const formatted = layOut(new Lines(text, pieces).lines);
  const after = piecesOf(formatted).map((piece) => textOf(formatted, piece));
  const isSame = after.length === pieces.length && pieces.every((piece, at) => textOf(text, piece) === after[at]);
  if (!isSame) throw new Error(`${file}: formatting would change more than white space; nothing was done`);
  return { ok: true, text: formatted };
}

function piecesOf(text: string): readonly Piece[] {
  const { tokens, comments } = parseTOML(text, { tomlVersion: '1.1' });
  return [...tokens, ...comments].toSorted((a, b) => a.range[0] - b.range[0]);
}

const textOf = (text: string, { range: [start, end] }: Piece): string => text.slice(start, end).trimEnd();

const OPENS = ['[', '{'];
const CLOSES = [']', '}'];

/** Goes through the pieces in order, with the brackets that are open. */
class Lines {
  readonly lines: Line[] = [];
  #depth = 0;
  #isHeader = false;
  #open: { kind: Line['kind']; key: string; rest: string; isAfterBlank: boolean } | undefined;
  #last: { readonly text: string; readonly line: number } | undefined;

  constructor(source: string, pieces: readonly Piece[]) {
    for (const piece of pieces) this.#add(piece, textOf(source, piece));
    this.#end();
  }

  #add(piece: Piece, text: string): void {
    const isClosing = this.#depth > 0 && !this.#isHeader && isPunctuator(piece, CLOSES);
    if (isClosing) this.#depth--;
    const { line } = piece.loc.start;
    if (this.#last === undefined || line > this.#last.line) this.#begin(piece, text, line);
    else this.#append(text, piece.type === 'Block');
    if (!this.#isHeader && isPunctuator(piece, OPENS)) this.#depth++;
    this.#last = { text, line: piece.loc.end.line };
  }

  #begin(piece: Piece, text: string, line: number): void {
    this.#end();
    const isInside = this.#depth > 0 || isPunctuator(piece, CLOSES);
    this.#isHeader = !isInside && isPunctuator(piece, OPENS);
    const kind = isInside ? 'inside' : this.#isHeader ? 'header' : piece.type === 'Block' ? 'comment' : 'pair';
    const isAfterBlank = this.#last !== undefined && line > this.#last.line + 1;
    this.#open = { kind, key: '', rest: isInside ? INDENT.repeat(this.#depth) + text : text, isAfterBlank };
  }

  #append(text: string, isComment: boolean): void {
    const open = this.#open;
    if (open === undefined) return;
    if (text === '=' && open.kind === 'pair' && this.#depth === 0 && open.key === '') {
      open.key = open.rest;
      open.rest = '';
    } else if (open.key !== '' && open.rest === '') open.rest = text;
    else open.rest += `${isComment ? ' ' : this.#between(text)}${text}`;
  }

  /** White space between two pieces of one line. */
  #between(text: string): string {
    const before = this.#last?.text ?? '';
    if (this.#isHeader || text === ',' || text === '.' || before === '.') return '';
    if (before === '[' || text === ']') return '';
    return before === '{' && text === '}' ? '' : ' ';
  }

  #end(): void {
    if (this.#open) this.lines.push(this.#open);
    this.#open = undefined;
  }
}

const INDENT = '  ';

function isPunctuator(piece: Piece, marks: readonly string[]): boolean {
  return piece.type === 'Punctuator' && marks.includes(piece.value);
}

function layOut(lines: readonly Line[]): string {
  const isFirstOfTable = tableStarts(lines);
  const widths = keyWidths(lines);
  const texts = lines.map(({ kind, key, rest, isAfterBlank }, at) => {
    const blank = at > 0 && (isAfterBlank || isFirstOfTable.has(at)) ? '\n' : '';
    return `${blank}${kind === 'pair' ? `${key.padEnd(widths[at] ?? 0)} = ` : ''}${rest}\n`;
  });
  return texts.join('');
}

/** Lines that get a blank line before them: each header, or the first of the comments right above it. */
function tableStarts(lines: readonly Line[]): Set<number> {
  const starts = lines.flatMap(({ kind }, header) => {
    if (kind !== 'header') return [];
    let start = header;
    while (!lines[start]?.isAfterBlank && lines[start - 1]?.kind === 'comment') start--;
    return [start];
  });
  return new Set(starts);
}

/** For each pair, the length of the longest key among its neighbours: those with no blank line or header between. */
function keyWidths(lines: readonly Line[]): readonly number[] {
  const widths: number[] = [];
  let group: number[] = [];
  const close = (): void => {
    const width = Math.max(0, ...group.map((at) => lines[at]?.key.length ?? 0));
    for (const at of group) widths[at] = width;
    group = [];
  };
  lines.forEach(({ kind, isAfterBlank }, at) => {
    if (kind === 'header' || isAfterBlank) close();
    if (kind === 'pair') group.push(at);
  });
  close();
  return widths;
}
