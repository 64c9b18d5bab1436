/**
 * Finds lines of a shell text whose failure the exit code hides: the code is that of the last command, unless `set -e` is on.
 * The reader of shell knows quotes, comments, here-documents and blocks. It does not judge the content of a block.
 */

/** One command, or several in a pipe or joined by && and ||, at the top level of the text. */
interface TopCommand {
  readonly text: string;
  readonly line: number;
  /** The text that ends it: `;`, a newline or `&`. */
  readonly end: string;
  /** The command is a block (if, for, {}, (), a function), or is joined by ||. */
  readonly isOpaque: boolean;
}

/** Commands whose failure does not matter. */
const HARMLESS =
  /^(?:[A-Za-z_]\w*\+?=\S*\s*$|(?::|alias|date|declare|df|echo|env\s*$|export|free|hostname|id|ls|nvidia-smi|printf|ps|pwd|readonly|set|shopt|sleep|sync|time\s*$|touch|trap|true|ulimit|umask|uname|unset|wait|whoami)(?:\s|$))/;
const ENTERS = /^(?:cd|pushd)(?:\s|$)/;
const STOPS_AT_FAILURE = /(?:^|[\s;&])(?:set\s+(?:-\S+\s+)*-[a-zA-Z]*e|set\s.*-o\s+errexit|trap\s.*\sERR)/;
/** Options with which grep ends before its input does. */
const GREP_ENDS_EARLY = /^(?:-[a-zA-Z]*[qm]|--quiet|--max-count)/;

/** Returns whether the last program of a pipe may end first: SIGPIPE then ends the one before it, code 141. */
function endsEarly(text: string): boolean {
  const [program, ...words] = text
    .slice(text.lastIndexOf('|') + 1)
    .split(/\s+/)
    .filter((word) => word !== '');
  return program === 'head' || (program === 'grep' && words.some((word) => GREP_ENDS_EARLY.test(word)));
}

/** A longer text is a program, and would take more time than a warning is worth. */
const MOST_JUDGED = 20_000;

/**
 * Returns one sentence, with its line, for each sort of hidden failure.
 * @param isPlain the exit code of a pipe is that of its last program
 */
export function hiddenFailures(text: string, isPlain: boolean): readonly string[] {
  if (text.length > MOST_JUDGED) return [];
  const commands = topCommands(text);
  const last = commands.at(-1);
  if (last === undefined) return [];
  const pipe = pipeSentence(last, isPlain && !/set\s.*-\w*o\s+pipefail/.test(withoutQuoted(text)));
  const judged = STOPS_AT_FAILURE.test(withoutQuoted(text)) ? [] : commands.slice(0, -1);
  const hidden = judged.filter(({ isOpaque, end }) => !isOpaque && end !== '&');
  const entered = hidden.find((each) => ENTERS.test(each.text));
  const acts = hidden.filter((each) => !HARMLESS.test(each.text) && !ENTERS.test(each.text));
  const lastAct = commands.findLastIndex(({ text: line, isOpaque }) => isOpaque || !HARMLESS.test(line));
  const lost = acts.find((each) => each.end === ';' || commands.indexOf(each) === lastAct);
  return [
    ...(entered === undefined ? [] : [enterSentence(entered)]),
    ...(lost === undefined ? [] : [lostSentence(lost)]),
    ...(pipe === undefined ? [] : [pipe]),
  ];
}

const remedy = 'begin the text with set -e, or join the two by &&';
const enterSentence = ({ line }: TopCommand): string =>
  `line ${line}: if this cd fails, the next line runs all the same, in another folder; ${remedy}`;
const lostSentence = ({ line }: TopCommand): string =>
  `line ${line}: if this fails, the command goes on, and its exit code is that of its last line; ${remedy}`;

function pipeSentence({ text, line }: TopCommand, isPlain: boolean): string | undefined {
  const isPiped = /[^|]\|&?(?!\|)/.test(withoutQuoted(text));
  if (!isPiped) return undefined;
  if (isPlain)
    return `line ${line}: the exit code of this pipe is that of its last program alone (command.shell: plain); set -o pipefail counts all`;
  return endsEarly(text)
    ? `line ${line}: its reader may end first, which ends the program before it by SIGPIPE (code 141), and that counts as a failure; write to a file, or set command.shell: plain`
    : undefined;
}

const withoutQuoted = (text: string): string =>
  text.replaceAll(/'[^']*'|"(?:[^"\\]|\\[^])*"/g, (quoted) => quoted.replaceAll(/[^\n]/g, '_'));

const OPENS = /^(?:if|for|while|until|case|select|\{)$/;
const CLOSES = /^(?:fi|done|esac|\})$/;
/** Words that are followed by another command. */
const LEADS = /^(?:if|then|elif|else|while|until|do|\{|!|time)$/;

/** Reads each character once. */
function topCommands(source: string): readonly TopCommand[] {
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

  take({ token, kind }: Token): void {
    if (this.#isEmpty) this.#begun = this.#line;
    this.#line += token.split('\n').length - 1;
    if (kind === 'heredoc') return;
    if (kind === 'word') this.#word += token;
    else this.#endWord();
    if (kind === 'parenthesis') this.#parenthesis(token);
    const isInside = this.#blocks + this.#parentheses > 0;
    if (kind === 'end' && !isInside) return this.#endCommand(token);
    if (kind === 'end' || kind === 'join') this.#isFirst = true;
    if (token === '||' && !isInside) this.#isOpaque = true;
    this.#text += token;
    this.#isEmpty &&= kind === 'blank';
  }

  #endWord(): void {
    const word = this.#word;
    if (word === '') return;
    if (this.#isFirst && OPENS.test(word)) [this.#blocks, this.#isOpaque] = [this.#blocks + 1, true];
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

  #endCommand(end: string): void {
    const text = this.#text.trim();
    if (text !== '') this.commands.push({ text, line: this.#begun, end, isOpaque: this.#isOpaque });
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
