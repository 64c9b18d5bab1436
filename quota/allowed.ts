import { type Choice, CHOICE_KEYS, type ChoiceLists, type ChoiceKey } from '../domain/choices.js';
import type { UsualAccounts } from '../domain/machine-kinds/kind.js';
import { MACHINE_KINDS, machineKind } from '../domain/machines.js';
import { formatPath, showValue, type Problem } from '../domain/problem.js';
import type { z } from 'zod';
import { section, texts } from '../domain/job-file/fields.js';
import { REQUEST_SECTIONS } from '../domain/job-file/sections.js';
import type { Report } from '../domain/job-file/report.js';
import { nearestWord } from '../domain/nearest-word.js';
import { givenByTables, type GivenByPool } from '../domain/pool-tables.js';

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

const allowForms = (hasPlace: boolean): string =>
  REQUEST_SECTIONS.flatMap(({ allowForm }) => (allowForm.includes('/') === hasPlace ? [allowForm] : [])).join(', ');
const [ALONE, WITH_PLACE] = [allowForms(false), allowForms(true)];

const WHAT: Readonly<Record<ChoiceKey, string>> = {
  google_projects: 'Google Cloud projects that jobs may name.',
  service_accounts: "Service accounts that hosts and pods may have: emails, default for Compute Engine's, or names.",
  scopes: 'OAuth scopes of service accounts: URLs. All, unless [tpu] of this file has scopes.',
  networks: 'Networks and subnetworks, as job files name them; default for the one that Google takes.',
  external_ips: 'true: hosts may have external addresses, though external_ips = false in [tpu] of this file.',
  tags: 'Network tags of hosts, which firewall rules name.',
  metadata: 'Metadata of instances: KEY=VALUE.',
  reservations: 'Reservations, as job files name them.',
  data_disks: 'Disks, PersistentVolumeClaims and folders of nodes that jobs may attach.',
  images: "Container images, and VM images other than jobctl's default.",
  notify: 'Who may be told of jobs: ids of workflows, URLs, mailto:ADDRESS, slack:SECRET, channel:NAME.',
  secrets: 'Secrets of Kubernetes that pods may mount, and builds log in with: CONTEXT/NAMESPACE/NAME.',
  machines: `${ALONE}, ${WITH_PLACE}.`,
  labels: 'Labels of pods, by which network policies and Services choose them: KEY=VALUE.',
  node_selectors: 'Labels of nodes that pods ask for: KEY=VALUE.',
  tolerations: 'Taints that pods tolerate: KEY=VALUE:EFFECT, or KEY:EFFECT for every value.',
  priority_classes: 'PriorityClasses of pods.',
};

const list = (key: ChoiceKey): z.ZodOptional<ReturnType<typeof texts>> =>
  texts().optional().describe(`${WHAT[key]} * stands for any characters but /, ** for any.`);

type Shape = Record<ChoiceKey, ReturnType<typeof list>>;

const schema = section(Object.fromEntries(CHOICE_KEYS.map((key) => [key, list(key)])) as Shape);

/** The form of `[allow]`. Behind a function, as every schema: docs/adr/0012. */
export const allowSection = (): typeof schema => schema;

/** The part of a pool file about choices of its jobs and values that they get. */
interface Form extends GivenByPool {
  readonly allow?: z.infer<typeof schema> | undefined;
  readonly tiers?: readonly { readonly reservation?: string | undefined }[] | undefined;
  readonly quota?: { readonly admins?: readonly string[] | undefined } | undefined;
}

/** Reports patterns that no job can match: such a pattern is a mistake, and would refuse the jobs that it was meant to allow. */
export function checkAllow(form: Form, report: Report): void {
  const known = REQUEST_SECTIONS.map(({ name }) => name);
  for (const [index, pattern] of (form.allow?.machines ?? []).entries()) {
    const [kind = ''] = pattern.split('/', 1);
    if (kind.includes('*') || known.includes(kind)) continue;
    const nearest = nearestWord(kind, known);
    const hint = [
      ...(nearest === undefined ? [] : [`did you mean ${nearest}?`]),
      `${ALONE}, or with a place ${WITH_PLACE}`,
    ];
    report.wrong(['allow', 'machines', index], pattern, 'no machines of a job file', hint.join('\n'));
  }
  for (const [index, pattern] of (form.allow?.secrets ?? []).entries())
    if (!pattern.includes('**') && pattern.split('/').length !== SECRET_PARTS)
      report.wrong(['allow', 'secrets', index], pattern, 'no place of a Secret', 'CONTEXT/NAMESPACE/NAME');
}

/** Number of parts in a secret's name, CONTEXT/NAMESPACE/NAME. */
const SECRET_PARTS = 3;

/** The file's rules for choices of jobs, and the values that it gives to them itself. */
export function poolChoicesOf(form: Form, file: string, pool: string): PoolChoices {
  const { google_project, allow, tiers = [] } = form;
  const ofTables = givenByTables(form);
  const own: ChoiceLists = {
    google_projects: texty(google_project),
    ...ofTables,
    reservations: [...(ofTables.reservations ?? []), ...texty(...tiers.map(({ reservation }) => reservation))],
  };
  return {
    pool,
    file,
    admins: form.quota?.admins ?? [],
    ...(allow && { allow }),
    gives: Object.fromEntries(Object.entries(own).filter(([, values]) => (values?.length ?? 0) > 0)) as ChoiceLists,
  };
}

const texty = (...values: readonly (string | null | undefined)[]): readonly string[] =>
  values.filter((value) => typeof value === 'string');
