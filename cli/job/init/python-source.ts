export interface Call {
  /** Name with its prefix: `torch.save`, `Path('x').open`. */
  readonly name: string;
  readonly args: readonly string[];
  /** Its position in the program. */
  readonly index: number;
}

/** A chain of names, or a method of a path, followed by an opening parenthesis. */
const CALL = /(?<![\w.])(?:(?:pathlib\.)?Path\([^()\n]*\)|\w+)(?:\.\w+)*[ \t]*\(/g;
/** Calls whose name is meant, in the order of the text. */
export function callsIn({ text, bare }: Source, isMeant: (name: string) => boolean): readonly Call[] {
  const calls: Call[] = [];
  let looks = 0;
  for (const { 0: whole, index } of bare.matchAll(CALL)) {
    if (!isMeant(whole.slice(0, -1).trim()) || /\bdef[ \t]$/.test(bare.slice(Math.max(0, index - 5), index))) continue;
    if ((looks += 1) > MOST_CALLS) break;
    const inside = argumentsAt(text, index + whole.length);
    const name = text.slice(index, index + whole.length - 1).trim();
    if (inside !== undefined) calls.push({ name, args: inside.args, index });
  }
  return calls;
}

export function matches(text: string, form: RegExp): readonly RegExpExecArray[] {
  const found: RegExpExecArray[] = [];
  for (const match of text.matchAll(form)) if (found.push(match) === MOST_CALLS) break;
  return found;
}

/** A program with comments blanked out; in `bare`, the contents of strings too. Positions are kept. */
export interface Source {
  readonly text: string;
  readonly bare: string;
}

export function sourceOf(program: string): Source {
  const [text, bare]: [string[], string[]] = [[], []];
  for (let at = 0; at < program.length;) {
    const sign = program[at] as string;
    if (sign === '#') {
      const end = program.indexOf('\n', at);
      const blank = ' '.repeat((end === -1 ? program.length : end) - at);
      text.push(blank);
      bare.push(blank);
      at += blank.length;
    } else if (sign === '"' || sign === "'") {
      const triple = program.startsWith(sign.repeat(3), at) ? program.indexOf(sign.repeat(3), at + 3) : undefined;
      const last = triple === undefined ? stringEnd(program, at) : triple === -1 ? program.length : triple + 2;
      const whole = program.slice(at, last + 1);
      text.push(triple === undefined ? whole : whole.replaceAll(/[^\n]/g, ' '));
      bare.push(whole.replaceAll(/[^\n'"]/g, ' '));
      at += whole.length;
    } else {
      text.push(sign);
      bare.push(sign);
      at += 1;
    }
  }
  return { text: text.join(''), bare: bare.join('') };
}

/** The arguments after an opening parenthesis. @returns `end`: the position after the closing one */
export function argumentsAt(
  code: string,
  from: number,
): { readonly args: readonly string[]; readonly end: number } | undefined {
  let depth = 0;
  for (let at = from; at < code.length && at < from + MOST_CALL; at += 1) {
    const sign = code[at] as string;
    if (sign === '"' || sign === "'") at = stringEnd(code, at);
    else if ('([{'.includes(sign)) depth += 1;
    else if (')]}'.includes(sign) && depth > 0) depth -= 1;
    else if (sign === ')') {
      const args = splitAt(code.slice(from, at), ',').map((arg) => arg.trim());
      return { args: args.filter((arg) => arg !== ''), end: at + 1 };
    }
  }
  return undefined;
}
/** Most characters of a call's arguments, and most calls, that are read: the text may come from a stranger. */
export const MOST_CALL = 2_000;
const MOST_CALLS = 2_000;

/** Splits an expression at a character outside of brackets and strings. */
export function splitAt(text: string, wanted: string): readonly string[] {
  const parts: string[] = [];
  let [depth, from] = [0, 0];
  for (let at = 0; at < text.length; at += 1) {
    const sign = text[at] as string;
    if (sign === '"' || sign === "'") at = stringEnd(text, at);
    else if ('([{'.includes(sign)) depth += 1;
    else if (')]}'.includes(sign)) depth -= 1;
    else if (sign === wanted && depth === 0) {
      parts.push(text.slice(from, at));
      from = at + 1;
    }
  }
  return [...parts, text.slice(from)];
}

/** The end of a string that begins here: its closing quote, or the end of its line. */
function stringEnd(text: string, from: number): number {
  const quote = text[from] as string;
  for (let at = from + 1; at < text.length; at += 1) {
    if (text[at] === '\\') at += 1;
    else if (text[at] === quote || text[at] === '\n') return at;
  }
  return text.length;
}
