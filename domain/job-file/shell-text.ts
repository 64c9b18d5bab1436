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

/** Returns the commands at the top level of a text. Takes linear time. */
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
    // Around $(..), <(..) and >(..) the outer command counts.
    if (token === '(' && !/[$<>]$/.test(this.#text)) this.#isOpaque = true;
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

/** Judges single programs of a shell text: which do the work of a job, and which return before their work is done. */

/** Commands whose failure does not matter. */
const HARMLESS =
  /^(?:[A-Za-z_]\w*\+?=\S*\s*$|exit\s+0\s*$|(?::|alias|date|declare|df|disown|echo|env\s*$|export|free|hostname|id|jobs|local|ls|nvidia-smi|printf|ps|pwd|readonly|set|shopt|sleep|sync|time\s*$|touch|trap|true|typeset|ulimit|umask|uname|unset|wait|whoami)(?:\s|$))/;

export const isHarmless = (text: string): boolean => HARMLESS.test(text);

/** Programs that tidy up behind the work, or carry its results away. */
const SIDE = new Set(
  'aws chmod cp gcloud gsutil gzip kill killall mkdir mv pkill rclone rm rmdir rsync tar zip'.split(' '),
);

/** Words before a program, and their options and durations: `timeout -k 5 1h`. */
const BEFORE =
  /^(?:time|exec|nohup|sudo|env|nice|ionice|stdbuf|numactl|timeout|command|setsid|-\S+|\d+[smhd]?|\w+=.*)$/;

function programOf(text: string): readonly string[] {
  const words = text.split(/\s+/).filter((word) => word !== '');
  const first = words.findIndex((word) => !BEFORE.test(word));
  return first === -1 ? [] : words.slice(first);
}

export const isSide = (text: string): boolean => SIDE.has(programOf(text)[0] ?? '');

const RUNNERS = /^(?:accelerate|deepspeed|horovodrun|mpiexec|mpirun|srun|torchrun)$/;

/** Returns whether a program surely is work, not a check or tidying up. */
export function isWork(text: string): boolean {
  const [program = '', first = ''] = programOf(text);
  if (/^(?:\S*\/)?python[\d.]*$/.test(program)) return first !== '' && !/^(?:-V|--version)$/.test(first);
  if (/^(?:bash|sh|zsh)$/.test(program)) return first.endsWith('.sh');
  if (/^(?:conda|micromamba|poetry|uv)$/.test(program)) return first === 'run';
  return RUNNERS.test(program) || /^(?:\.{1,2}\/|\S+\.(?:py|sh)$)/.test(program);
}

/** Returns whether the text takes the output of work: `echo $(python3 train.py)`. A one-liner of `python3 -c` does not count. */
export function takesWork(text: string): boolean {
  const taken = text
    .replaceAll(/'[^']*'/g, '_')
    .split(/\$\((?!\()|`/)
    .slice(1);
  return taken.some((inner) => isWork(inner) && !/^\S*python\S*\s+(?:-\S+\s+)*-c/.test(programOf(inner).join(' ')));
}

/** Returns whether a program returns at once, with 0, and another one goes on in the background. */
export function detaches(text: string): boolean {
  const words = programOf(text.replace(/^setsid\s/, 'SETSID '));
  const [program = '', ...rest] = words;
  switch (program) {
    case 'SETSID':
      return rest[0] === '--fork' || /^-[a-z]*f/.test(rest[0] ?? '');
    case 'tmux':
      if (/\s(?:send|send-keys)\s/.test(text)) return true;
      return (
        /^tmux\s+(?:-[LSf]\s+\S+\s+)*(?:new|new-session)\s/.test(text) && rest.some((word) => /^-[A-Z]*d/.test(word))
      );
    case 'screen':
      return rest.some((word) => /^-\w*dm/.test(word)) || (rest.includes('-d') && rest.includes('-m'));
    case 'daemonize':
      return true;
    case 'docker':
    case 'podman':
    case 'nerdctl':
      return rest[0] === 'run'
        ? detachOptions(rest.slice(1)).length > 0
        : /^(?:compose up|start) .*-d\b/.test(rest.join(' '));
    default:
      return false;
  }
}

/** Options of `docker run` without a value. */
const FLAG =
  /^(?:--(?:rm|init|privileged|read-only|interactive|tty|publish-all|no-healthcheck|quiet)|-[itPq]+|--[\w-]+=.*|-[evwupmh]\S+)$/;
const DETACH = /^(?:--detach(?:=true)?|-[itPq]*d[itPq]*)$/;

/**
 * Returns the positions of `-d` among the options of `docker run`. Options behind the image belong to its program.
 * @param words those behind `run`
 */
export function detachOptions(words: readonly string[]): readonly number[] {
  const found: number[] = [];
  for (let at = 0; words[at]?.startsWith('-') === true; at += 1) {
    if (DETACH.test(words[at] ?? '')) found.push(at);
    else if (!FLAG.test(words[at] ?? '')) at += 1;
  }
  return found;
}

/** Texts of shell inside of a command: functions, groups, shells of their own, and the bodies of blocks. */
export interface Nested {
  readonly before: string;
  readonly body: string;
}

const DEFINITION = /^(?:function\s+([\w-]+)[\s()]*|([\w-]+)\s*\(\)\s*)\{/;
/** The name of the function that a command defines. */
export const definedBy = ({ text, isOpaque }: TopCommand): string | undefined => {
  const found = isOpaque ? DEFINITION.exec(text) : null;
  return found?.[1] ?? found?.[2];
};

/** The body of a group or a function. Redirections may follow it. */
export function bodyOf({ text }: TopCommand): Nested | undefined {
  const open = /^[{(]/.exec(text)?.[0] ?? (DEFINITION.test(text) ? '{' : undefined);
  if (open === undefined) return undefined;
  const shown = withoutQuoted(text);
  const [from, to] = [shown.indexOf(open), shown.lastIndexOf(open === '{' ? '}' : ')')];
  // A pipe behind it reads what it prints; a group that follows is another one.
  const isWhole =
    to > from &&
    /^\s*(?:\d*&?>[^;|]*)?(?:\|&?[^|;&(){}]*)*$/.test(shown.slice(to + 1)) &&
    !/[})]\s*\|/.test(shown.slice(from + 1, to));
  return isWhole ? { before: text.slice(0, from), body: text.slice(from + 1, to) } : undefined;
}

/** Matches a shell in a command, behind variables, `sudo` or the like, or a container that ends with the shell's code. */
const INNER =
  /^((?:\w+=\S*\s+)*(?:(?:sudo|exec|env|nohup|time)\s+(?:-\w+\s+|\w+=\S*\s+)*)*(?:(?:docker|podman)\s+(?:run|exec)\s[^'"|;&\n]*?\s)?(?:(?:\S*\/)?(?:bash|sh|zsh)\s+(?:-o\s+\w+\s+|-\w+\s+)*?-\w*c|eval)\s+)('[^']*'|"(?:[^"\\]|\\[^])*")(?![\\'"\w$])/;

interface InnerShell extends Nested {
  readonly hasPipefail: boolean;
  readonly stops: boolean;
  /** `eval` is the same shell, with the same options. */
  readonly isEval: boolean;
}

export function innerShell(text: string): InnerShell | undefined {
  const [, before = '', quoted = ''] = INNER.exec(text) ?? [];
  if (quoted === '') return undefined;
  const body = quoted.slice(1, -1);
  return {
    before,
    body: quoted.startsWith('"') ? body.replaceAll(/\\(["\\$`])/g, '$1') : body,
    isEval: /(?:^|\s)eval\s+$/.test(before),
    hasPipefail: /-\w*o\s+pipefail/.test(before),
    stops: (/(?:^|\s)(?:\S*\/)?(?:bash|sh|zsh)\s[^]*$/.exec(before)?.[0] ?? '')
      .split(/\s+/)
      .some((word) => /^-[a-z]/.test(word) && word.includes('e')),
  };
}

export const BLOCK = /^(?:if|for|while|until|case|select)\s/;
/** Matches a loop without an end, whose exit code nobody ever gets. */
const ENDLESS = /^(?:while\s+(?:true|:|1|\[\s*1\s*\])|until\s+false)\s*[;\n]/;
export const isLoop = (text: string): boolean => /^(?:for|while|until|select)\s/.test(text) && !ENDLESS.test(text);

/** The branches of an `if`, the body of a loop, the arms of a `case`: what may be the last to run. */
export function bodiesOf({ text, marks }: TopCommand): readonly Nested[] {
  const shown = withoutQuoted(text);
  const part = (from: number, to: number): Nested => ({ before: text.slice(0, from), body: text.slice(from, to) });
  if (/^if\s/.test(text))
    return marks.flatMap(({ word, at }, index) => {
      const next = marks[index + 1];
      return next !== undefined && (word === 'then' || word === 'else') ? [part(at + word.length, next.at)] : [];
    });
  if (isLoop(text)) {
    const [from, to] = [/[;\n][ \t]*do\s/.exec(shown), shown.lastIndexOf('done')];
    const at = from === null ? to : from.index + from[0].length;
    return at < to ? [part(at, to)] : [];
  }
  const arms = /^case\s[^\n]*?\sin\s/.exec(shown);
  if (arms === null || /\scase\s/.test(shown)) return [];
  const found: Nested[] = [];
  let from = arms[0].length;
  for (const { index } of shown.matchAll(/;;|\besac\b/g)) {
    const opens = shown.indexOf(')', from);
    if (opens !== -1 && opens < index) found.push(part(opens + 1, index));
    from = index + 2;
  }
  return found;
}
