interface WrittenPaths {
  /** Paths for `outputs.paths`: the topmost folder of a path that has one, or else the file. */
  readonly paths: readonly string[];
  /** Lines that write to a path whose beginning is known only at run time. */
  readonly unread: readonly number[];
}

/**
 * Finds the paths that a Python program seems to write. `*` stands for parts that are known only at run time. Only relative paths
 * count, because others are not the job's own. The search reads calls, strings and names that are assigned once, and ignores the
 * rest.
 * @param text the program's text
 */
export function writtenPaths(text: string): WrittenPaths {
  const code = sourceOf(text);
  let names: Names = new Map();
  for (let depth = 0; depth < MOST_NAMED; depth++) names = namesIn(code, names);
  const paths = new Set<string>();
  const unread = new Set<number>();
  const calls = callsIn(code, isWriter).flatMap((call) =>
    writtenBy(call).map((expression) => ({ expression, ...call })),
  );
  const folders = matches(code.bare, FOLDERS).map(
    ({ 0: word, index }) => argumentsAt(code.text, index + word.length)?.args[0],
  );
  for (const { expression, index } of calls) {
    const path = pathOf(expression, names);
    const place = placeOf(path);
    if (place !== undefined) paths.add(place);
    else if (path === undefined || path.startsWith('*')) unread.add(index);
  }
  for (const expression of folders) {
    const place = placeOf(expression === undefined ? undefined : pathOf(expression, names));
    if (place !== undefined) paths.add(place);
  }
  return {
    paths: [...paths].filter((place) => !PASSING.test(place)).slice(0, MOST),
    unread: linesAt(text, [...unread]).slice(0, MOST),
  };
}

/** Line numbers of these positions, which are in ascending order. */
function linesAt(text: string, positions: readonly number[]): readonly number[] {
  const lines = new Set<number>();
  let [line, from] = [1, 0];
  for (const position of positions) {
    line += text.slice(from, position).split('\n').length - 1;
    from = position;
    lines.add(line);
  }
  return [...lines];
}

/** Passes over the assignments: a name may be made of other names, as in `CKPT = f'{OUT}/ckpt'`. */
const MOST_NAMED = 3;

/** Files that are downloaded again, and files that are renamed once they are complete. */
const PASSING = /^(data|datasets?|cache|tmp|temp)$|\.(tmp|temp|part)$/i;
/** Most results: a person does not read a longer list. */
const MOST = 20;

/** Writing functions and the position of the path among their arguments. */
const WRITERS: readonly (readonly [RegExp, number])[] = [
  [/^os\.mkdir$/, 0],
  [/(^|\.)(makedirs|savez?|savez_compressed|to_csv|to_parquet|to_json|to_pickle|to_feather)$/, 0],
  [/(^|\.)(savefig|save_pretrained|save_weights|save_model|save_checkpoint|CheckpointManager|SummaryWriter)$/, 0],
  [/^(torch|xm|joblib|jit)\.(save|dump)$/, 1],
  [/(^|\.)(save_file|copyfile|copy2?|move)$/, 1],
  [/^os\.(replace|rename)$/, 1],
];
const OPENS = /^((io|gzip|bz2|lzma|codecs)\.)?open$/;
const OF_PATH = /^(.+)\.(write_text|write_bytes|open|mkdir|touch)$/s;
/** A keyword argument or a variable that usually names a folder of results. */
const FOLDERS = /(?<!\w)(?:output_dir|out_dir|save_dir|checkpoint_dir|ckpt_dir|log_dir|logdir|dirpath)[ \t]*=(?!=)/g;
const ADDS = /^(a|w|x|r\+)/;
const PATH_KEYWORD = /^(f|file|fname|filename|filepath|path|path_or_buf|dst|directory|save_directory)\s*=(?!=)/;

const isWriter = (name: string): boolean =>
  OPENS.test(name) || OF_PATH.test(name) || WRITERS.some(([form]) => form.test(name));

/** Expressions of the paths that a call writes to. */
function writtenBy({ name, args }: Call): readonly string[] {
  if (OPENS.test(name)) {
    const file = keyword(args, 'file') ?? args[0];
    return isWriting(args[1], args) && file !== undefined ? [file] : [];
  }
  const at = WRITERS.findLast(([form]) => form.test(name))?.[1];
  const arg = at === undefined ? undefined : args[at];
  const given = at === undefined ? undefined : args.find((each) => PATH_KEYWORD.test(each));
  if (given !== undefined) return [given.slice(given.indexOf('=') + 1)];
  if (arg !== undefined) return /^\w+\s*=[^=]/.test(arg) ? [] : [arg];
  const [, path, method] = OF_PATH.exec(name) ?? [];
  return path !== undefined && (method !== 'open' || isWriting(args[0], args)) ? [path] : [];
}

function isWriting(second: string | undefined, args: readonly string[]): boolean {
  const mode = stringOf(keyword(args, 'mode') ?? second ?? '');
  return mode !== undefined && ADDS.test(mode.replaceAll(/[bt]/g, ''));
}

/** The value of a keyword argument: `'x'` of `mode='x'`. */
function keyword(args: readonly string[], name: string): string | undefined {
  const given = args.find((arg) => arg.startsWith(name) && arg.slice(name.length).trimStart().startsWith('='));
  return given?.slice(given.indexOf('=') + 1);
}

// Expressions ----------------------------------------------------------------------------------------------------------

type Names = ReadonlyMap<string, string>;

/** Names with exactly one text: assigned once, or the default of an option. */
function namesIn(code: Source, known: Names): Names {
  const values = new Map<string, Set<string>>();
  const add = (name: string, text: string): unknown => values.set(name, (values.get(name) ?? new Set()).add(text));
  for (const { 0: line, 1: name = '', 2: value = '', index } of matches(code.bare, ASSIGNMENT)) {
    const end = index + line.length;
    const text = value.length > MOST_CALL ? undefined : pathOf(code.text.slice(end - value.length, end), known);
    if (text !== undefined) add(name, text);
  }
  for (const { args } of callsIn(code, (name) => /(^|\.)add_argument$/.test(name))) {
    const option = args.map((arg) => stringOf(arg)).find((text) => text?.startsWith('--'));
    const value = keyword(args, 'default');
    const text = value === undefined ? undefined : pathOf(value, known);
    const name = stringOf(keyword(args, 'dest') ?? '') ?? option?.slice(2).replaceAll('-', '_');
    if (name !== undefined && text !== undefined) add(`args.${name}`, text);
  }
  return new Map(
    [...values].flatMap(([name, [text, ...more]]) => (text !== undefined && more.length === 0 ? [[name, text]] : [])),
  );
}

/** Expressions for the folder in which the program is, and in which the command starts. */
const OWN_FOLDER =
  /^(?:(?:pathlib\.)?Path\(__file__\)(?:\.(?:resolve|absolute)\(\))?\.parent|(?:pathlib\.)?Path\.cwd\(\)|os\.getcwd\(\)|os\.path\.dirname\((?:os\.path\.(?:abspath|realpath)\(__file__\)|__file__)\))$/;

/** Evaluates an expression as a path; undefined if it is known only at run time. */
function pathOf(expression: string, names: Names): string | undefined {
  const text = expression.trim();
  const known = stringOf(text, names) ?? names.get(text) ?? attributeOf(text, names);
  if (known !== undefined) return known;
  if (OWN_FOLDER.test(text)) return '.';
  // Files in this folder are stored in any case.
  if (/^os\.(?:environ|getenv)\W+JOBCTL_OUTPUT_DIR\W+$/.test(text)) return '/';
  const call = /^(?:os\.path\.join|(?:pathlib\.)?Path|str|os\.fspath)\(/.exec(text);
  const inside = call === null ? undefined : argumentsAt(text, call[0].length);
  if (inside !== undefined && inside.end === text.length) return joined(inside.args, '/', names);
  for (const sign of ['+', '/']) {
    const parts = splitAt(text, sign);
    if (parts.length > 1) return joined(parts, sign === '+' ? '' : '/', names);
  }
  return undefined;
}

/** The default of an option (`args.out`), or the value that a class gives a field (`config.save_dir`). */
function attributeOf(text: string, names: Names): string | undefined {
  if (!/^(\w+\.)*\w+$/.test(text)) return undefined;
  const name = text.slice(text.lastIndexOf('.') + 1);
  return names.get(`args.${name}`) ?? (name === text ? undefined : names.get(name));
}

function joined([first, ...rest]: readonly string[], sign: string, names: Names): string | undefined {
  const begin = first === undefined ? undefined : pathOf(first, names);
  return begin === undefined ? undefined : [begin, ...rest.map((part) => pathOf(part, names) ?? '*')].join(sign);
}

/** The text of a string literal, with `*` for inserted values that are unknown. */
function stringOf(expression: string, names: Names = new Map()): string | undefined {
  const [, form = '', quote, body = '', rest = ''] =
    /^([fFrRbBuU]{0,2})(["'])((?:\\.|(?!\2)[^\\\n])*)\2(\s*%.*|\.format\(.*\))?$/s.exec(expression.trim()) ?? [];
  if (quote === undefined) return undefined;
  const valueOf = (inserted: string): string => {
    const name = inserted.slice(1, -1).split(/[:!]/)[0]?.trim() ?? '';
    return names.get(name) ?? attributeOf(name, names) ?? '*';
  };
  if (/f/i.test(form)) return body.replaceAll(/\{[^{}]*\}/g, valueOf);
  const filled = rest.startsWith('.format') ? body.replaceAll(/\{[^{}]*\}/g, '*') : body;
  return rest.includes('%') ? filled.replaceAll(/%[\d.]*\w/g, '*') : filled;
}

/** The entry for `outputs.paths`, or undefined if the path has none. */
function placeOf(path: string | undefined): string | undefined {
  const parts = (path ?? '').split('/').filter((part, at) => part !== '.' && (part !== '' || at === 0));
  const [first] = parts;
  if (first === undefined || !/^[\w*][\w.*-]*$/.test(first) || parts.includes('..')) return undefined;
  // This matches everything, or a folder with an unknown name.
  if (/^\*+$/.test(first) || (parts.length > 1 && first.includes('*'))) return undefined;
  return first;
}

const ASSIGNMENT = /^[ \t]*(\w+)(?:[ \t]*:[ \t]*\w+)?[ \t]*=(?!=)(.+)$/gm;

interface Call {
  /** Name with its prefix: `torch.save`, `Path('x').open`. */
  readonly name: string;
  readonly args: readonly string[];
  /** Position of the call in the program. */
  readonly index: number;
}

/** A chain of names, or a method of a path, followed by an opening parenthesis. */
const CALL = /(?<![\w.])(?:(?:pathlib\.)?Path\([^()\n]*\)|\w+)(?:\.\w+)*[ \t]*\(/g;
/** Calls whose name passes `isMeant`, in the order of the text. */
function callsIn({ text, bare }: Source, isMeant: (name: string) => boolean): readonly Call[] {
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

function matches(text: string, form: RegExp): readonly RegExpExecArray[] {
  const found: RegExpExecArray[] = [];
  for (const match of text.matchAll(form)) if (found.push(match) === MOST_CALLS) break;
  return found;
}

/** A program's text without comments. In `bare`, the contents of strings are blanked out too. Positions stay the same. */
interface Source {
  readonly text: string;
  readonly bare: string;
}

function sourceOf(program: string): Source {
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
function argumentsAt(
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
/** Most characters of a call's arguments that are read. The other limit is for calls. The text may come from a stranger. */
const MOST_CALL = 2_000;
const MOST_CALLS = 2_000;

/** Splits an expression at a character outside of brackets and strings. */
function splitAt(text: string, wanted: string): readonly string[] {
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

/** Position at which a string that begins at `from` ends: its closing quote, or the end of its line. */
function stringEnd(text: string, from: number): number {
  const quote = text[from] as string;
  for (let at = from + 1; at < text.length; at += 1) {
    if (text[at] === '\\') at += 1;
    else if (text[at] === quote || text[at] === '\n') return at;
  }
  return text.length;
}
