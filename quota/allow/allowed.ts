import { type Choice, CHOICE_KEYS, type ChoiceKey } from '../../domain/choices.js';
import { podsPlace } from '../../domain/machine-kinds/kubernetes/choices.js';
import { DEFAULT_SERVICE_ACCOUNT } from '../../domain/machine-kinds/cloud-tpu/google-resources.js';
import { DEFAULT_NETWORK } from '../../domain/machine-kinds/cloud-tpu/google-choices.js';
import { formatPath, showValue, type Problem } from '../../domain/problem.js';
import { matchesPattern } from './pattern.js';

/** Patterns by key. */
export type Lists = { readonly [Key in ChoiceKey]?: readonly string[] | undefined };

/** What a pool file says of the choices of its jobs. Plain JSON. */
export interface PoolChoices {
  readonly pool: string;
  /** The pool file; absent: the pool has none. */
  readonly file?: string;
  /** Of the pool file; empty: everybody. */
  readonly admins: readonly string[];
  /** The table `[allow]`; absent: the file has none. */
  readonly allow?: Lists;
  /** What the file itself gives to jobs. */
  readonly gives: Lists;
}

/** Patterns by key; whatever is not listed here may be anything. Plain JSON, kept with a job. */
export interface AllowedChoices {
  readonly pool: string;
  readonly file?: string;
  readonly admins: readonly string[];
  readonly lists: Lists;
}

export interface AllowMode {
  /** A missing `[allow]` is an empty one: only what is the pool's own. Else it allows everything. */
  readonly isStrict: boolean;
  /** The Google project of jobs that name none, if the pool file names none either. Absent: not known. */
  readonly googleProject?: string;
}

/** What jobs of the pool may choose; undefined: anything. The pool's own values are always allowed. */
export function allowedIn(pool: PoolChoices, mode: AllowMode): AllowedChoices | undefined {
  const { allow, gives, ...named } = pool;
  if (allow === undefined && !mode.isStrict) return undefined;
  const own = ownOf(gives, mode);
  const lists = CHOICE_KEYS.map((key) => [key, [...new Set([...(own[key] ?? []), ...(allow?.[key] ?? [])])]]);
  return { ...named, lists: Object.fromEntries(lists) as Lists };
}

/** What a job of the pool gets without a word of its own. */
const ownOf = (gives: Lists, { googleProject }: AllowMode): Lists => ({
  ...gives,
  google_projects: gives.google_projects ?? (googleProject === undefined ? [] : [googleProject]),
  service_accounts: gives.service_accounts ?? [DEFAULT_SERVICE_ACCOUNT],
  networks: gives.networks ?? [DEFAULT_NETWORK],
  // Both narrow what the others give: a pool that narrows nothing gives all.
  scopes: gives.scopes ?? ['**'],
  external_ips: gives.external_ips ?? ['true'],
  machines: OWN_MACHINES,
});

const IN_DEFAULT_PLACE = { namespace: 'default' };
const OWN_MACHINES: readonly string[] = [
  ...['tpu', 'compute_engine', 'machines'],
  ...['kubernetes', 'ray_cluster'].map((section) => podsPlace(section, IN_DEFAULT_PLACE)),
];

/** What an edit of an open job can still choose otherwise: its machines stay as they are. */
export function allowedInEdits({ lists, ...named }: AllowedChoices): AllowedChoices {
  const { images, notify } = lists;
  return { ...named, lists: { ...(images && { images }), ...(notify && { notify }) } };
}

/** Every choice that the pool does not allow: which value, what is allowed, and whom to ask. Pure. */
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
