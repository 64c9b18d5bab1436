/** Reads a shell text: quotes, comments, here-documents and blocks. It does not judge what it reads. */

/** One command, or several in a pipe or joined by && and ||, at the top level of the text. */
export interface TopCommand {
  readonly text: string;
  readonly line: number;
  /** The text that ends it: `;`, a newline or `&`. */
  readonly end: string;
  /** The command is a block (if, for, {}, (), a function), or is joined by ||. */
  readonly isOpaque: boolean;
  /** Whether a `&` stands inside of the block. */
  readonly spawns: boolean;
  /** Its parts between && and || at the top level. */
  readonly parts: readonly Part[];
  /** Places in `text` of then, elif, else and fi of a block at the top level, with their words. */
  readonly marks: readonly { readonly word: string; readonly at: number }[];
}

export interface Part {
  /** The operator between it and the part before. */
  readonly join: '' | '&&' | '||';
  readonly text: string;
}

export const withoutQuoted = (text: string): string =>
  text.replaceAll(/'[^']*'|"(?:[^"\\]|\\[^])*"/g, (quoted) => quoted.replaceAll(/[^\n]/g, '_'));

const OPENS = /^(?:if|for|while|until|case|select|\{)$/;
const CLOSES = /^(?:fi|done|esac|\})$/;
const MARKS = /^(?:then|elif|else|fi)$/;
/** Words that are followed by another command. */
const LEADS = /^(?:if|then|elif|else|while|until|do|\{|!|time)$/;

/** Reads each character once. */
export function topCommands(source: string): readonly TopCommand[] {
  const reader = new Reader();
  for (const token of tokens(source)) reader.take(token);
  reader.take({ token: '\n', kind: 'end' });
  return reader.commands;
}

class Reader {
  readonly commands: TopCommand[] = [];
  #blocks = 0;
  #parentheses = 0;
  #isOpaque = false;
  #text = '';
  #isEmpty = true;
  #word = '';
  #isFirst = true;
  #line = 1;
  #begun = 1;
  #spawns = false;
  #marks: { word: string; at: number }[] = [];
  #parts: Part[] = [];
  #join: Part['join'] = '';
  #from = 0;
  #isJoined = false;

  take({ token, kind }: Token): void {
    if (this.#isEmpty) this.#begun = this.#line;
    this.#line += token.split('\n').length - 1;
    if (kind === 'heredoc' && this.#blocks + this.#parentheses > 0) this.#text += token;
    if (kind === 'heredoc' || (this.#isEmpty && kind === 'blank')) return;
    if (kind === 'word') this.#word += token;
    else this.#endWord();
    if (kind === 'parenthesis') this.#parenthesis(token);
    const isInside = this.#blocks + this.#parentheses > 0;
    const goesOn = token === '\n' && this.#isJoined;
    if (kind !== 'blank' && !goesOn) this.#isJoined = kind === 'join';
    if (kind === 'end' && !isInside && !goesOn) return this.#endCommand(token);
    if (kind === 'end' || kind === 'join') this.#isFirst = true;
    if (token === '||' && !isInside) this.#isOpaque = true;
    if ((token === '||' || token === '&&') && !isInside) this.#endPart(token);
    if (token === '&' && kind === 'end') this.#spawns = true;
    this.#text += token;
    if (this.#from < 0) this.#from = this.#text.length;
    this.#isEmpty &&= kind === 'blank';
  }

  #endWord(): void {
    const word = this.#word;
    if (word === '') return;
    if (this.#isFirst && OPENS.test(word)) [this.#blocks, this.#isOpaque] = [this.#blocks + 1, true];
    if (this.#isFirst && this.#blocks === 1 && this.#parentheses === 0 && MARKS.test(word))
      this.#marks.push({ word, at: this.#text.length - word.length });
    if (this.#isFirst && CLOSES.test(word)) this.#blocks = Math.max(0, this.#blocks - 1);
    this.#isFirst &&= LEADS.test(word);
    this.#word = '';
  }

  /** A `)` without an open parenthesis is that of `a)` in a case. */
  #parenthesis(token: string): void {
    if (token === ')') this.#parentheses = Math.max(0, this.#parentheses - 1);
    else this.#parentheses += 1;
    if (token === '(' && !this.#text.endsWith('$')) this.#isOpaque = true;
    this.#isFirst = true;
  }

  #endPart(join: Part['join']): void {
    this.#parts.push({ join: this.#join, text: this.#text.slice(this.#from).trim() });
    [this.#join, this.#from] = [join, -1];
  }

  #endCommand(end: string): void {
    this.#endPart('');
    const text = this.#text.trimEnd();
    const [isOpaque, spawns, parts, marks] = [this.#isOpaque, this.#spawns, this.#parts, this.#marks];
    if (text !== '') this.commands.push({ text, line: this.#begun, end, isOpaque, spawns, parts, marks });
    [this.#parts, this.#marks, this.#spawns, this.#from] = [[], [], false, 0];
    [this.#text, this.#isEmpty, this.#isOpaque, this.#isFirst] = ['', true, false, true];
  }
}

interface Token {
  readonly token: string;
  readonly kind: 'word' | 'blank' | 'parenthesis' | 'end' | 'join' | 'heredoc';
}

const TOKEN =
  /(?<quoted>\\[^]|'[^']*'|"(?:[^"\\]|\\[^])*"|`(?:[^`\\]|\\[^])*`|\$\{[^}\n]{0,200}\})|(?<here><<-?[ \t]*(?:'[^']*'|"[^"]*"|\\?\w+))|(?<join>&&|\|\||\|&?)|(?<redirect>[0-9]*[<>]&[0-9-]*|&>>?)|(?<end>;;|[;&\n])|(?<parenthesis>[()])|(?<blank>[ \t]+)|(?<word>[^])/y;

const KINDS = ['join', 'end', 'blank', 'parenthesis'] as const;

function* tokens(source: string): Generator<Token> {
  const waiting: string[] = [];
  let before = '\n';
  let at = 0;
  while (at < source.length) {
    if (source[at] === '#' && /[\s;&|()]/.test(before)) {
      const end = source.indexOf('\n', at);
      at = end === -1 ? source.length : end;
      continue;
    }
    TOKEN.lastIndex = at;
    const found = TOKEN.exec(source);
    const token = found?.[0] ?? source.charAt(at);
    at += token.length;
    before = token.at(-1) ?? '';
    const kinds = found?.groups ?? {};
    const { here } = kinds;
    if (here !== undefined) waiting.push(here.replace(/^<<-?[ \t]*\\?/, '').replaceAll(/['"]/g, ''));
    yield { token, kind: KINDS.find((kind) => kinds[kind] !== undefined) ?? 'word' };
    if (token !== '\n') continue;
    for (const mark of waiting.splice(0)) {
      const body = heredocAt(source, at, mark);
      at += body.length;
      yield { token: body, kind: 'heredoc' };
    }
  }
}

/** Returns the here-document, including the line of its end mark. */
function heredocAt(source: string, from: number, mark: string): string {
  let at = from;
  while (at < source.length) {
    const found = source.indexOf('\n', at);
    const end = found === -1 ? source.length : found + 1;
    if (source.slice(at, end).trim() === mark) return source.slice(from, end);
    at = end;
  }
  return source.slice(from);
}
