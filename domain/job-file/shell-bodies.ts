import { type TopCommand, withoutQuoted } from './shell-text.js';

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
