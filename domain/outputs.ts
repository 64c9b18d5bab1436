import { z } from 'zod';
import { duration, flag, given, section, secondsOf, text } from './job-file/fields.js';
import type { Report } from './job-file/report.js';
import { count, type EpochMs, sizeText } from './units.js';

/** Files of a command that outlive its hosts (docs/adr/0059). `$JOBCTL_OUTPUT_DIR` is stored whatever a job file names. */
export interface OutputsSpec {
  /** Paths and patterns of bash (`*`, `?`, `[..]`, `**`), relative to the folder in which the command starts. */
  readonly patterns: readonly string[];
  /** Seconds between two rounds while the command runs. */
  readonly everySeconds: number;
  /** Most seconds for which the end of an attempt waits for the last round. */
  readonly waitSeconds: number;
  /** Puts a host's last complete round back on it before the command of the next attempt starts (docs/adr/0124). */
  readonly restore?: true;
}

export const DEFAULT_OUTPUTS: OutputsSpec = { patterns: [], everySeconds: 600, waitSeconds: 600 };
/** The shortest `outputs.every`: with less, hosts would write to the store all the time. */
const LEAST_EVERY_SECONDS = 10;
const MOST_EVERY_SECONDS = 24 * 3600;
/** The longest `outputs.wait`: meanwhile slices are held, and billed. */
const MOST_WAIT_SECONDS = 6 * 3600;
/** Most patterns of a job. Each is a word of the run's plan on each host. */
const MOST_PATTERNS = 100;

const pathsForm = () => z.array(text(), { error: 'a list of paths or patterns' });

export const outputsForm = () =>
  z.union(
    [
      pathsForm(),
      section({
        paths: pathsForm()
          .nullish()
          .describe('Paths and patterns, relative to the folder in which the command starts.'),
        every: duration().nullish().describe('Between two rounds while the command runs; 10m without it.'),
        wait: duration().nullish().describe('How long the end of an attempt waits for the last round; 10m without it.'),
        restore: flag()
          .nullish()
          .describe('true: what was stored is put back on new machines before the next attempt starts.'),
      }),
    ],
    { error: 'a list of paths, such as [out, "*.ckpt"], or a section {paths, every, wait, restore}' },
  );

type OutputsSection = z.infer<ReturnType<typeof outputsForm>>;

/** @returns undefined for a job file without outputs, to which `DEFAULT_OUTPUTS` apply */
export function resolveOutputs(
  value: OutputsSection | null | undefined,
  { hasCommand, isInImage }: { readonly hasCommand: boolean; readonly isInImage: boolean },
  report: Report,
): OutputsSpec | undefined {
  if (value === null || value === undefined) return undefined;
  const form: Exclude<OutputsSection, readonly unknown[]> = Array.isArray(value) ? { paths: value } : value;
  const at = Array.isArray(value) ? ['outputs'] : ['outputs', 'paths'];
  const patterns = form.paths ?? [];
  if (given(form.paths)?.length === 0)
    report.wrong(at, patterns, 'an empty list', 'name a path, or leave it out: $JOBCTL_OUTPUT_DIR is stored anyway');
  if (patterns.length > MOST_PATTERNS)
    report.problem(at, patterns, `has ${patterns.length} paths`, `${MOST_PATTERNS} at most; name folders`);
  patterns.forEach((pattern, index) => {
    checkPattern(pattern, [...at, index], report);
    const literal = literalPart(pattern);
    if (literal !== undefined) report.warn([...at, index], literal);
  });
  if (!hasCommand) report.warnings.push('outputs: there is no command that could write files');
  else if (isInImage && patterns.length > 0)
    report.warnings.push(
      'outputs: relative paths of a command in a container are in its image, which jobctl does not read; write to $JOBCTL_OUTPUT_DIR',
    );
  return {
    patterns,
    everySeconds: secondsIn('every', form.every, [LEAST_EVERY_SECONDS, MOST_EVERY_SECONDS], report),
    waitSeconds: secondsIn('wait', form.wait, [0, MOST_WAIT_SECONDS], report),
    ...(form.restore === true ? { restore: true as const } : {}),
  };
}

/** Longest wait of an attempt's end for its outputs, in ms. */
export const outputsWaitMs = ({ outputs = DEFAULT_OUTPUTS }: { readonly outputs?: OutputsSpec }): number =>
  outputs.waitSeconds * 1000;

const HINT = 'a path relative to the folder in which the command starts, such as out or "*.ckpt"';

function checkPattern(pattern: string, path: readonly (string | number)[], report: Report): void {
  if (/^[/~]/.test(pattern))
    report.wrong(path, pattern, 'an absolute path', `${HINT}; for other places write to $JOBCTL_OUTPUT_DIR`);
  else if (pattern.split('/').includes('..')) report.wrong(path, pattern, 'a path that leads out of that folder', HINT);
  else if (pattern.split('/').every((part) => part === '.' || part === ''))
    report.wrong(path, pattern, 'the whole folder', 'name what is in it, such as "*" without hidden files, or out');
  else if (pattern.startsWith('./') || /\/\.?\//.test(pattern))
    report.wrong(path, pattern, 'not in its shortest form', `such as ${shortest(pattern)}`);
  else if (/[\n\r\0]/.test(pattern)) report.wrong(path, pattern, 'of several lines', 'use ? for such a character');
}

/** A warning about a pattern that is taken literally. Not a problem, since such a name is rare but possible. */
function literalPart(pattern: string): string | undefined {
  const [variable] = /\$(?:\w+|\{[^{}]*\}|\()/.exec(pattern) ?? [];
  if (variable !== undefined)
    return `'${pattern}' stays as it is: no variable is replaced here; write the path itself, or write to $JOBCTL_OUTPUT_DIR, which is stored anyway`;
  const [braces] = /\{[^{}]*\}/.exec(pattern) ?? [];
  if (braces === undefined || !/,|\.\./.test(braces)) return undefined;
  const words = braces.slice(1, -1).split(',');
  const each = words.map((word) => pattern.replace(braces, () => word));
  const written = words.length < 2 ? 'a pattern for each' : `[${each.map((one) => JSON.stringify(one)).join(', ')}]`;
  return `'${pattern}' stays as it is: braces are not expanded here; write ${written}`;
}

const shortest = (pattern: string): string =>
  pattern
    .split('/')
    .filter((part, at) => part !== '.' && (part !== '' || at === 0))
    .join('/');

function secondsIn(
  key: 'every' | 'wait',
  value: number | string | null | undefined,
  [least, most]: readonly [number, number],
  report: Report,
): number {
  const usual = key === 'every' ? DEFAULT_OUTPUTS.everySeconds : DEFAULT_OUTPUTS.waitSeconds;
  const seconds = secondsOf(given(value) ?? usual);
  if (!(seconds >= least && seconds <= most))
    report.wrong(['outputs', key], value, 'out of range', `from ${least}s to ${most / 3600}h`);
  return seconds;
}

// Results -------------------------------------------------------------------------------------------------------------

/** The last round that one host stored. */
export interface StoredRound {
  readonly at: EpochMs;
  readonly files: number;
  readonly bytes: number;
  /** Patterns without a match, up to a bound. */
  readonly unmatched: readonly string[];
  /** Files that were not stored, with reasons, in sentences. */
  readonly problems: readonly string[];
}

interface MissingOutputs {
  readonly host: number;
  readonly why: string;
  /** The host was there at the attempt's end, and may have stored its last files since. */
  readonly isOpen?: true;
}

/** Stored files of one attempt at its end. The report never changes the outcome. */
export interface OutputsReport {
  readonly attempt: number;
  /** Number of files, of all hosts that stored their last files. */
  readonly files: number;
  readonly bytes: number;
  /** Number of hosts that stored their last files. */
  readonly hosts: number;
  /** Hosts whose last files are not stored, or not known to be. Files of an earlier round stay. Absent: none. */
  readonly missing?: readonly MissingOutputs[];
  /** Patterns without a match on any host. Absent: none. */
  readonly unmatched?: readonly string[];
  /** Files that were not stored, with reasons and hosts. Absent: none. */
  readonly problems?: readonly string[];
}

/** Result of a host's last round. Undefined: the host has no outputs. */
export type HostOutputs = StoredRound | Omit<MissingOutputs, 'host'> | undefined;

const MOST_TOLD = 5;

/** @returns undefined if the attempt has no outputs, and the job asked for none */
export function reportOf(attempt: number, hosts: ReadonlyMap<number, HostOutputs>): OutputsReport | undefined {
  const all = [...hosts].toSorted(([a], [b]) => a - b);
  const stored = all.flatMap(([host, one]) => (one !== undefined && 'files' in one ? [{ host, ...one }] : []));
  const missing = all.flatMap(([host, one]) => (one !== undefined && 'why' in one ? [{ host, ...one }] : []));
  if (stored.length === 0 && missing.length === 0) return undefined;
  const [first, ...others] = stored;
  const unmatched = (first?.unmatched ?? []).filter((pattern) =>
    others.every((one) => one.unmatched.includes(pattern)),
  );
  const problems = stored.flatMap(({ host, problems: told }) => told.map((text) => `host ${host}: ${text}`));
  return {
    attempt,
    files: stored.reduce((sum, { files }) => sum + files, 0),
    bytes: stored.reduce((sum, { bytes }) => sum + bytes, 0),
    hosts: stored.length,
    ...(missing.length === 0 ? {} : { missing: missing.slice(0, MOST_TOLD) }),
    ...(unmatched.length === 0 ? {} : { unmatched }),
    ...(problems.length === 0 ? {} : { problems: problems.slice(0, MOST_TOLD) }),
  };
}

/** `12 files (3.4 MB) of 4 hosts stored; NOT stored of host 2: ..; nothing matched *.ckpt`. */
export function outputsText({
  files,
  bytes,
  hosts,
  missing = [],
  unmatched = [],
  problems = [],
}: OutputsReport): string {
  return [
    `${count(files, 'file')} (${sizeText(bytes)}) of ${count(hosts, 'host')} stored`,
    ...missing.map(({ host, why, isOpen }) =>
      isOpen === true
        ? `the last files of host ${host} were not stored yet at the end of its attempt: ${why}`
        : `the last files of host ${host} are NOT stored: ${why}`,
    ),
    ...problems,
    ...(unmatched.length === 0 ? [] : [`nothing matched ${unmatched.join(', ')}`]),
  ].join('; ');
}

/**
 * Returns whether a path of stored outputs matches these patterns or is below a match, by bash's rules for `*`, `?`, `**` and
 * hidden names. A bracket expression matches any one character, which is wider. Linear in path and pattern, which come from
 * outside.
 * @param path with one character for each byte, as bash compares them
 */
export function isNamedOutput(path: string, patterns: readonly string[]): boolean {
  const parts = path.split('/');
  return patterns.some((pattern) => matchesBeginning(parts, piecesOf(bytesText(pattern))));
}

/** Drops the slashes at the end. */
function piecesOf(pattern: string): readonly string[] {
  const pieces = pattern.split('/');
  while (pieces.length > 1 && pieces.at(-1) === '') pieces.pop();
  return pieces;
}

/** Returns whether the pattern matches the path itself or a folder above it. */
function matchesBeginning(parts: readonly string[], pattern: readonly string[]): boolean {
  let places = reach(new Set([0]), pattern);
  for (const [at, part] of parts.entries()) {
    // No pattern names the folder in which all paths begin.
    if (at > 0 && places.has(pattern.length)) return true;
    const next = [...places].flatMap((place) => {
      const piece = pattern[place];
      if (piece === undefined) return [];
      if (piece === '**') return part.startsWith('.') ? [] : [place, place + 1];
      return matchesPart(part, tokensOf(piece)) ? [place + 1] : [];
    });
    places = reach(new Set(next), pattern);
  }
  return places.has(pattern.length);
}

/** `**` also matches no folder at all. */
function reach(places: ReadonlySet<number>, pattern: readonly string[]): ReadonlySet<number> {
  const all = new Set<number>();
  for (const first of places)
    for (let place = first; !all.has(place); place++) {
      all.add(place);
      if (pattern[place] !== '**') break;
    }
  return all;
}

/** A literal character, any single character, or any number of characters. */
type Token = { readonly is: string } | 'one' | 'many';

function tokensOf(piece: string): readonly Token[] {
  const tokens: Token[] = [];
  for (let at = 0; at < piece.length;) {
    const char = piece[at] as string;
    const end = char === '[' ? bracketEnd(piece, at) : undefined;
    const escaped = char === '\\' ? piece[at + 1] : undefined;
    tokens.push(end !== undefined || char === '?' ? 'one' : char === '*' ? 'many' : { is: escaped ?? char });
    at = end ?? at + (escaped === undefined ? 1 : 2);
  }
  return tokens;
}

/** Index behind the `]` that ends a bracket expression: not one at its front or in `[:alpha:]`. Undefined if it has no end. */
function bracketEnd(piece: string, from: number): number | undefined {
  if (from >= piece.lastIndexOf(']')) return undefined;
  let at = from + ('!^'.includes(piece[from + 1] ?? ' ') ? 2 : 1);
  if (piece[at] === ']') at += 1;
  for (; at < piece.length; at += 1) {
    const name = piece.startsWith('[:', at) ? /^\w{1,20}:\]/.exec(piece.slice(at + 2, at + 24)) : null;
    if (name !== null) at += 1 + name[0].length;
    else if (piece[at] === ']') return at + 1;
  }
  return undefined;
}

function matchesPart(part: string, tokens: readonly Token[]): boolean {
  const [first] = tokens;
  if (part.startsWith('.') && !(typeof first === 'object' && first.is === '.')) return false;
  let [at, place, star, from] = [0, 0, -1, 0];
  while (at < part.length) {
    const token = tokens[place];
    if (token === 'many') [star, from, place] = [place, at, place + 1];
    else if (token !== undefined && (token === 'one' || token.is === part[at])) [at, place] = [at + 1, place + 1];
    else if (star === -1) return false;
    else [from, at, place] = [from + 1, from + 1, star + 1];
  }
  return tokens.slice(place).every((token) => token === 'many');
}

/** One character for each byte of the text's UTF-8. */
function bytesText(text: string): string {
  let bytes = '';
  for (const byte of new TextEncoder().encode(text)) bytes += String.fromCharCode(byte);
  return bytes;
}
