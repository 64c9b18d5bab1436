/**
 * The search attributes of a job's workflow, all of type Keyword. Only they and the memo supply the rows of a list
 * (docs/design.md, "Temporal"). They are never encrypted.
 */
export const JOB_SEARCH_ATTRIBUTES = [
  'JobProject',
  'JobUser',
  'JobPhase',
  'JobAccelerator',
  'JobPool',
  'JobGroup',
] as const;
/** `JobPhase` of a submission refused before it became a job: lists leave it out, and its id is free (docs/adr/0125). */
export const REFUSED_PHASE = 'refused';
export type JobSearchAttribute = (typeof JOB_SEARCH_ATTRIBUTES)[number];

/** `temporal.api.enums.v1.IndexedValueType`, by number. */
const TYPE_NAMES = ['Unspecified', 'Text', 'Keyword', 'Int', 'Double', 'Bool', 'Datetime', 'KeywordList'];
export const KEYWORD = TYPE_NAMES.indexOf('Keyword');

interface SearchAttributeGaps {
  readonly missing: readonly JobSearchAttribute[];
  /** Exists under our name with a type other than Keyword. A type cannot be changed. */
  readonly otherType: readonly { readonly name: JobSearchAttribute; readonly type: string }[];
}

/** @param known a namespace's custom attributes, by name, with the number of their type */
export function searchAttributeGaps(known: Readonly<Record<string, number>>): SearchAttributeGaps {
  const missing = JOB_SEARCH_ATTRIBUTES.filter((name) => known[name] === undefined);
  const otherType = JOB_SEARCH_ATTRIBUTES.flatMap((name) => {
    const type = known[name];
    return type === undefined || type === KEYWORD ? [] : [{ name, type: TYPE_NAMES[type] ?? String(type) }];
  });
  return { missing, otherType };
}

/** The problem and its remedy in one sentence, or undefined if nothing is missing. */
export function explainGaps({ missing, otherType }: SearchAttributeGaps, namespace: string): string | undefined {
  const [wrong] = otherType;
  if (wrong !== undefined) {
    const { name, type } = wrong;
    return (
      `search attribute ${name} of Temporal namespace ${namespace}: it has type ${type}, jobctl needs Keyword. ` +
      `Give jobctl a namespace of its own, or remove it: temporal operator search-attribute remove --namespace ${namespace} --name ${name}`
    );
  }
  if (missing.length === 0) return undefined;
  const what = missing.length === 1 ? `search attribute ${missing[0]}` : `search attributes ${missing.join(', ')}`;
  return (
    `${what} of Temporal namespace ${namespace}: missing. Run jobctl setup server, or ` +
    `temporal operator search-attribute create --namespace ${namespace} ${missing.map((name) => `--name ${name} --type Keyword`).join(' ')}`
  );
}

/**
 * A value in a query of Temporal's visibility (`WorkflowId = 'x'`), with its quotes. Temporal's parser takes a backslash for an
 * escape, so one at the end of a value would escape the closing quote.
 */
export const queryText = (value: string): string => `'${value.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`;

/**
 * The oldest accepted version of a Temporal server that jobctl does not install. A job was seen to run on it: the quick start, on
 * the dev server of CLI 0.12.0 (2026-11-21). All tests use 1.29.1. The server that jobctl installs is newer
 * (cli/local/dev/temporal-server/version.ts).
 */
const OLDEST_SERVER = '1.23.0';

/** Undefined if the server is new enough, or its version is not a number (a user's own build). */
export function serverTooOld(version: string, oldest: string = OLDEST_SERVER): string | undefined {
  if (!isOlderVersion(version, oldest)) return undefined;
  return `the Temporal server has version ${version}, jobctl needs ${oldest} or newer: upgrade the server, one minor version at a time`;
}

/** Compares `1.29.1`, `v1.29.1` and the like. Text behind the numbers does not count. A version without numbers is not older. */
export function isOlderVersion(version: string, than: string): boolean {
  const [own, wanted] = [numbersOf(version), numbersOf(than)];
  if (own === undefined || wanted === undefined) return false;
  const at = own.findIndex((part, index) => part !== wanted[index]);
  return at !== -1 && (own[at] ?? 0) < (wanted[at] ?? 0);
}

function numbersOf(version: string): readonly number[] | undefined {
  const match = /^v?(\d+)\.(\d+)\.(\d+)/.exec(version);
  return match?.slice(1).map(Number);
}

/**
 * Names in a Temporal namespace that belong to jobctl. A job file's `notify` must not use them, because the worker would send the
 * signal, and no authorizer could stop it (docs/adr/0044).
 */

/** Every signal between jobctl's workflows. `contract/define.ts` allows no other name. */
export const OWN_SIGNALS = [
  'granted',
  'revoked',
  'priority',
  'restate',
  'setUpProgress',
  'attemptTrouble',
  'unreachableHosts',
  'sliceNews',
  'release',
  'attach',
  'leaseAnswer',
  'giveUp',
  'leaseMessages',
  'wake',
  'cancelNote',
  'buildWanted',
  'buildLeft',
  'buildNews',
  'noticesWanted',
  'memberNews',
  'followed',
  'otherEnded',
  'lodge',
  'lodgeAnswer',
  'eviction',
  'lodgerNews',
  'noLodger',
] as const;
export type OwnSignal = (typeof OWN_SIGNALS)[number];

/** Prefixes of the ids of workflows that are not jobs. A job's workflow has the job's id, which holds no '/'. */
export const OWN_ID_PREFIXES = {
  slice: 'slice/',
  quota: 'quota/',
  janitor: 'jobctl-janitor',
  machines: 'machines/',
  build: 'build/',
  notices: 'notices/',
  group: 'group/',
  schedule: 'schedule/',
} as const;

export const isOwnSignal = (name: string): boolean => (OWN_SIGNALS as readonly string[]).includes(name);

export const isOwnWorkflowId = (id: string): boolean =>
  Object.values(OWN_ID_PREFIXES).some((prefix) => id.startsWith(prefix));

/** The queue that every jobctl worker polls, unless configured otherwise. */
export const TASK_QUEUE = 'jobctl';
