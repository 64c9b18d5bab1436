import { stringify } from 'yaml';
import { jobNameFrom } from '../../identity.js';
import { inForeground } from './foreground.js';
import { isMapping, mapStrings, type Mapping } from '../plain-tree.js';
import { holdsSecret } from '../secret-looks.js';

/** Stands for a value that the file of the other tool does not say. */
export const OPEN = '..';

/** Longer texts are not repeated: whoever pastes the lines has them. */
const MOST_LINES = 12;
const LINE_WIDTH = 110;

/** A job file made from another tool's, for a message: its lines, and the names of whatever has no place in them. */
export class Translation {
  readonly #tree: Record<string, unknown> = {};
  readonly #remarks = new Map<string, Set<string>>();
  readonly #lost = new Map<string, string[]>();
  readonly #notes = new Set<string>();

  /** @param path a key, or a section and its key. @param remark stands behind the line, as a comment */
  set(path: string, value: unknown, remark?: string): void {
    const [key = path, below] = path.split('.');
    const section = this.#tree[key];
    if (below === undefined) this.#tree[key] = value;
    else this.#tree[key] = { ...(isMapping(section) ? section : {}), [below]: value };
    if (remark !== undefined) this.#remarks.set(key, (this.#remarks.get(key) ?? new Set<string>()).add(remark));
  }

  has(key: string): boolean {
    return Object.hasOwn(this.#tree, key);
  }

  name(name: unknown): void {
    if (typeof name === 'string' && name !== '' && !name.includes('$')) this.set('name', jobNameFrom(name));
  }

  /** A script of the user's. @param source the key that has it, which is named in the place of a long one */
  script(path: string, written: string, source: string): void {
    const front = path === 'command.run' ? inForeground(written) : undefined;
    if (front !== undefined) this.note(front.note);
    if (front !== undefined && front.text === undefined) return this.set(path, OPEN, `of ${source}`);
    const text = front?.text ?? written;
    const lines = text.trim().split('\n');
    const secret = holdsSecret(text) ? ', with a secret: `jobctl secret put NAME --from-file FILE` keeps it' : '';
    if (lines.length > MOST_LINES || secret !== '')
      this.set(
        path,
        OPEN,
        `${lines.length === 1 ? 'the line' : `the ${lines.length} lines`} of ${source}${secret || ', as they stand'}`,
      );
    else this.set(path, lines.join('\n'));
  }

  /** Keys that have no place in the job file. @param why what to do instead; empty: jobctl has nothing like them */
  lose(why: string, ...keys: readonly string[]): void {
    if (keys.length > 0) this.#lost.set(why, [...(this.#lost.get(why) ?? []), ...keys]);
  }

  note(text: string): void {
    this.#notes.add(text);
  }

  lines(): readonly string[] {
    const lost = [...this.#lost].map(
      ([why, keys]) => `  ${[...new Set(keys)].join(', ')}${why === '' ? '' : `: ${why}`}`,
    );
    return [
      'in a job file it is:',
      ...Object.entries(this.#tree).flatMap(([key, value]) => this.#linesOf(key, mapStrings(value, literal))),
      ...(lost.length === 0 ? [] : ['not carried over:', ...lost]),
      ...this.#notes,
    ];
  }

  #linesOf(key: string, value: unknown): readonly string[] {
    const remarks = [...(this.#remarks.get(key) ?? [])];
    const remark = remarks.length === 0 ? '' : ` # ${remarks.join('; ')}`;
    const line = `  ${key}: ${stringify(value, IN_LINE).trimEnd()}`;
    if (line.length <= LINE_WIDTH && !/\n|\\n/.test(line)) return [`${line}${remark}`];
    const [first = '', ...rest] = stringify({ [key]: value }, { lineWidth: 0 })
      .trimEnd()
      .split('\n');
    return [`  ${first}${remark}`, ...rest.map((each) => `  ${each}`.trimEnd())];
  }
}

const IN_LINE = {
  collectionStyle: 'flow',
  flowCollectionPadding: false,
  lineWidth: 0,
  blockQuote: false,
  doubleQuotedAsJSON: true,
} as const;

/** Escapes `${a.b}` of another tool, or of a program: it is no reference of a job file. */
const literal = (text: string): string => text.replace(/(?<![\\$])\$\{(?=oc\.env:|[A-Za-z_][\w-]*\.)/g, () => '$${');

export const mappingOf = (value: unknown): Mapping => (isMapping(value) ? value : {});
export const listOf = (value: unknown): readonly unknown[] =>
  Array.isArray(value) ? (value as readonly unknown[]) : value === undefined || value === null ? [] : [value];
/** Text of a value that is a text or number and not empty. */
export const textOf = (value: unknown): string | undefined =>
  (typeof value === 'string' && value.trim() !== '') || typeof value === 'number' ? String(value).trim() : undefined;
/** Any value as it stands in a message. */
export const shownOf = (value: unknown): string =>
  typeof value === 'object' && value !== null ? JSON.stringify(value) : String(value ?? '');
/** Number of a value that is a whole number of 1 or more, however it is written. */
export const countOf = (value: unknown): number | undefined =>
  /^[1-9]\d{0,5}$/.test(textOf(value) ?? '') ? Number(value) : undefined;
/** The keys that have a value and are none of `known`. @param prefix of the section that they are in, with its dot */
export const keysBeside = (known: readonly string[], section: Mapping, prefix = ''): readonly string[] =>
  Object.entries(section).flatMap(([key, value]) =>
    known.includes(key) || value === null || value === undefined ? [] : [`${prefix}${key}`],
  );
