import { type Choice, CHOICE_KEYS, type ChoiceLists } from '../domain/choices.js';
import type { UsualAccounts } from '../domain/machine-kinds/kind.js';
import { MACHINE_KINDS, machineKind } from '../domain/machines.js';
import { formatPath, showValue, type Problem } from '../domain/problem.js';

/** Rules for the choices that the jobs of a pool may make. Plain JSON. */
export interface PoolChoices {
  readonly pool: string;
  /** The pool file; absent: the pool has none. */
  readonly file?: string;
  /** Admins that the pool file names. Empty: everybody is one. */
  readonly admins: readonly string[];
  /** The table `[allow]`; absent: the file has none. */
  readonly allow?: ChoiceLists;
  /** Values that the file itself gives to jobs. */
  readonly gives: ChoiceLists;
}

/** Allowed patterns by key of the choice. A key without an entry allows any value. Plain JSON, kept with a job. */
export interface AllowedChoices {
  readonly pool: string;
  readonly file?: string;
  readonly admins: readonly string[];
  readonly lists: ChoiceLists;
}

export interface AllowMode extends Partial<UsualAccounts> {
  /** True: a missing `[allow]` counts as an empty one, and allows only the pool's own values. False: it allows everything. */
  readonly isStrict: boolean;
}

/** Choices that jobs of the pool may make; undefined: any. The pool's own values are always allowed. */
export function allowedIn(pool: PoolChoices, mode: AllowMode): AllowedChoices | undefined {
  const { allow, gives, ...named } = pool;
  if (allow === undefined && !mode.isStrict) return undefined;
  const own = ownOf(gives, mode);
  const lists = CHOICE_KEYS.map((key) => [key, [...new Set([...(own[key] ?? []), ...(allow?.[key] ?? [])])]]);
  return { ...named, lists: Object.fromEntries(lists) as ChoiceLists };
}

/** Values that a job of the pool gets if it chooses nothing. */
function ownOf(gives: ChoiceLists, accounts: Partial<UsualAccounts>): ChoiceLists {
  const usual = MACHINE_KINDS.map((kind) => machineKind(kind).usualChoices(accounts));
  const lists = CHOICE_KEYS.map((key) => [
    key,
    gives[key] ?? [...new Set(usual.flatMap((choices) => choices[key] ?? []))],
  ]);
  return Object.fromEntries(lists) as ChoiceLists;
}

/** Limits `allowed` to the choices that an edit of an open job can change. The machines of the job stay as they are. */
export function allowedInEdits({ lists, ...named }: AllowedChoices): AllowedChoices {
  const { images, notify } = lists;
  return { ...named, lists: { ...(images && { images }), ...(notify && { notify }) } };
}

/** Problems of all choices that the pool does not allow: the value, what is allowed, and whom to ask. Pure. */
export function notAllowed(allowed: AllowedChoices, choices: readonly Choice[]): readonly Problem[] {
  return choices.flatMap((choice) => {
    const list = allowed.lists[choice.key];
    if (list === undefined || list.some((pattern) => matchesPattern(pattern, choice.value))) return [];
    return [
      { path: choice.path, ...(!choice.isImplied && { value: choice.value }), ...wordsFor(choice, list, allowed) },
    ];
  });
}

function wordsFor(
  { key, path, value, isImplied }: Choice,
  list: readonly string[],
  { pool, file, admins }: AllowedChoices,
): Pick<Problem, 'message' | 'hint'> {
  const what = isImplied ? `is not given, so Google takes '${value}', which` : showValue(value);
  const where = `[allow] ${key}${file === undefined ? ' in a pool file' : ` in ${file}`}`;
  const whom = admins.length === 0 ? 'whoever keeps the pool file' : `${admins.join(' or ')} (admins of the pool)`;
  return {
    message: isImplied ? `${what} pool ${pool} does not allow` : `${what} is not allowed in pool ${pool}`,
    hint: [
      list.length === 0 ? `pool ${pool} allows none: leave ${formatPath(path)} out` : `allowed: ${shown(list)}`,
      `for another one ask ${whom}: ${where}`,
    ].join('\n'),
  };
}

const MOST_SHOWN = 10;

function shown(list: readonly string[]): string {
  const more = list.length - MOST_SHOWN;
  return `${list.slice(0, MOST_SHOWN).join(', ')}${more > 0 ? `, and ${more} more` : ''}`;
}

/**
 * Returns whether `value` matches a pattern of `[allow]`: literal text in which `*` stands for any characters but `/`, and `**`
 * for any characters. It is not a regular expression: in `trainer@my-project.iam.gserviceaccount.com` every dot would match
 * another character (docs/adr/0075). The time is at most the product of both lengths, whatever the pattern.
 */
export function matchesPattern(pattern: string, value: string): boolean {
  let ends: ReadonlySet<number> = new Set([0]);
  for (const token of pattern.split(/(\*\*|\*)/)) ends = endsAfter(token, value, ends);
  return ends.has(value.length);
}

/** Positions at which a match of `token` may end that begins at one of `starts`. */
function endsAfter(token: string, value: string, starts: ReadonlySet<number>): ReadonlySet<number> {
  const ends = new Set<number>();
  let isInside = false;
  for (let at = 0; at <= value.length; at++) {
    if (token !== '*' && token !== '**') {
      if (starts.has(at) && value.startsWith(token, at)) ends.add(at + token.length);
      continue;
    }
    if (token === '*' && value[at - 1] === '/') isInside = false;
    isInside ||= starts.has(at);
    if (isInside) ends.add(at);
  }
  return ends;
}
