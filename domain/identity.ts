import { shortHash } from './content-hash.js';
import type { Ownership } from './slice.js';

/** Google's limit for names of nodes and queued resources, and for label values. */
const MAX_RESOURCE_NAME = 63;
/** Longest base of a job's id, without the random suffix. */
export const MAX_JOB_NAME = 40;
/** Longest id of a job: name and suffix. */
export const MAX_JOB_ID = 50;
/** Prefix of resource names if the file has no `tpu.name`. */
export const DEFAULT_NAME_PREFIX = 'jc';

const NAME = /^[a-z]([a-z0-9-]*[a-z0-9])?$/;

/** Whether `name` can be a job's id or `name`: a small letter, then small letters, digits and dashes, no dash at the end. */
export function isValidJobName(name: string, maxLength: number = MAX_JOB_NAME): boolean {
  return name.length <= maxLength && NAME.test(name);
}

/** Returns whether `id` can be a job's id, from which labels and resource names are made. */
export function isValidJobId(id: string): boolean {
  return isValidJobName(id, MAX_JOB_ID);
}

/** Letters of random suffixes, without those that are easily taken for one another. */
const SUFFIX_LETTERS = 'abcdefghijkmnpqrstuvwxyz23456789';
/** Number of bytes in a suffix: random bytes, or the hash of an idempotency key, which must be unique for each key. */
export const SUFFIX_BYTES = { random: 4, ofKey: 9 } as const;

/** Makes one letter of each byte. */
export const suffixFrom = (bytes: Uint8Array): string =>
  [...bytes].map((byte) => SUFFIX_LETTERS[byte % SUFFIX_LETTERS.length]).join('');

/** The part behind the name in an id that the user did not give, as the source of a regular expression. */
export const SUFFIX_PATTERN = `-(?:[a-z0-9]{${SUFFIX_BYTES.random}}|[${SUFFIX_LETTERS}]{${SUFFIX_BYTES.ofKey}})`;

/** The id of one job of `spec`. @param suffix from `suffixFrom`. @throws RangeError if the id would not be valid */
export function jobIdFor(spec: { readonly name: string }, suffix: string): string {
  const id = `${spec.name}-${suffix}`;
  if (!isValidJobId(id)) throw new RangeError(`job id: '${id}' is not ${JOB_ID_RULE}`);
  return id;
}

const nameRule = (most: number): string =>
  `a name of small letters, digits and dashes that starts with a letter, ${most} characters at most`;
export const JOB_NAME_RULE = nameRule(MAX_JOB_NAME);
export const JOB_ID_RULE = nameRule(MAX_JOB_ID);

/** Form of a project, pool or user that search attributes, labels and quota files accept. */
export const QUOTA_NAME = /^[\w.@+-]{1,100}$/;
export const QUOTA_NAME_RULE = 'letters, digits and . _ - + @; 100 at most';

/** A submitter: on some systems a login name may be anything, but a search attribute must accept it. */
const USER = /^\P{Cc}{1,100}$/u;
export const isValidUser = (user: string): boolean => USER.test(user);
export const USER_RULE = '1 to 100 characters, none of them a control character';

/** A name made from any text: other characters become dashes. `job` if nothing is left. */
export function jobNameFrom(text: string): string {
  const dashed = text.toLowerCase().replace(/[^a-z0-9]+/g, '-');
  const name = dashed
    .replace(/^[^a-z]+/, '')
    .slice(0, MAX_JOB_NAME)
    .replace(/(?<!-)-+$/, '');
  return name === '' ? 'job' : name;
}

/** The value of `${tpu.name}` for the whole job, whichever generation of its slices runs. No resource has this name. */
export function jobLevelName(prefix: string | undefined, job: string): string {
  return `${prefix ?? DEFAULT_NAME_PREFIX}-${job}`;
}

/** Matches a job's id such as `exp-s1`. Without a hash its slice would have the name of slice 1 of the job `exp`. */
const ENDS_LIKE_A_SLICE = /-s\d+$/;

/**
 * The name of a slice's queued resource and node: `<prefix or jc>-<job>[-s<slice>]-g<generation>`. If longer than 63 characters,
 * its front is cut, and it is marked with a hash of the whole. Equal input gives an equal name, other jobs get other names.
 */
export function sliceName(parts: {
  readonly prefix?: string | undefined;
  readonly job: string;
  /** From 0. Absent if the job has one slice. */
  readonly slice?: number | undefined;
  readonly generation: number;
  /** Number of slices, if one request is for several. The name leaves room for `-<slices - 1>`, as its last slice has. */
  readonly slices?: number | undefined;
}): string {
  const base = jobLevelName(parts.prefix, parts.job);
  const suffix = `${parts.slice === undefined ? '' : `-s${parts.slice}`}-g${parts.generation}`;
  const most = MAX_RESOURCE_NAME - (parts.slices === undefined ? 0 : `-${parts.slices - 1}`.length);
  const isShort = base.length + suffix.length <= most;
  if (isShort && !ENDS_LIKE_A_SLICE.test(parts.job)) return base + suffix;
  const hash = shortHash(base);
  const front = base.slice(0, most - suffix.length - hash.length - 1).replace(/(?<!-)-+$/, '');
  return `${front}-${hash}${suffix}`;
}

/** The label keys that mark a resource as ours. */
const LABELS = {
  owner: 'jobctl-owner',
  job: 'jobctl-job',
  run: 'jobctl-run',
  generation: 'jobctl-generation',
  spec: 'jobctl-spec',
} as const;
/** Label with the seconds that a flex-start slice may live. It shows later why the slice ended. */
const RUN_LABEL = 'jobctl-run-seconds';
/** Number of labels that we put on a resource. */
export const OWN_LABELS = Object.keys(LABELS).length + 1;
/** No label of a user may start with it. */
export const OWN_LABEL_PREFIX = 'jobctl-';

/** Google's rule for label values (cloud.google.com/compute/docs/labeling-resources, 2026). */
export const LABEL_VALUE = /^[a-z0-9_-]{0,63}$/;
export const LABEL_KEY = /^[a-z][a-z0-9_-]{0,62}$/;

/** The label of the installation's random id, for resources that belong to no single job. @throws RangeError as `labelsOf` */
export function ownerLabel(owner: string): Record<string, string> {
  if (owner !== '' && LABEL_VALUE.test(owner)) return { [LABELS.owner]: owner };
  throw new RangeError(`label ${LABELS.owner}: '${owner}' must be 1 to 63 of a-z, 0-9, - and _`);
}

/** @throws RangeError for a value that no label can hold: it would be lost or refused in the cloud. */
export function labelsOf(ownership: Ownership): Record<string, string> {
  const labels = {
    [LABELS.owner]: ownership.owner,
    [LABELS.job]: ownership.job,
    [LABELS.run]: ownership.run,
    [LABELS.generation]: String(ownership.generation),
    [LABELS.spec]: ownership.spec,
  };
  for (const [key, value] of Object.entries(labels)) {
    if (value === '' || !LABEL_VALUE.test(value)) {
      throw new RangeError(`label ${key}: '${value}' must be 1 to 63 of a-z, 0-9, - and _`);
    }
  }
  return labels;
}

export const runLabel = (seconds: number): Record<string, string> => ({ [RUN_LABEL]: String(seconds) });

/** Undefined for a slice whose provider sets no end. */
export function runSecondsFrom(labels: Readonly<Record<string, string>> | null | undefined): number | undefined {
  const seconds = labels?.[RUN_LABEL];
  return seconds === undefined || !/^\d{1,9}$/.test(seconds) ? undefined : Number(seconds);
}

/** The ownership that a resource's labels say, or undefined unless all our labels are there and well-formed. */
export function ownershipFrom(labels: Readonly<Record<string, string>> | null | undefined): Ownership | undefined {
  const owner = labels?.[LABELS.owner];
  const job = labels?.[LABELS.job];
  const run = labels?.[LABELS.run];
  const spec = labels?.[LABELS.spec];
  const generation = labels?.[LABELS.generation];
  if (!owner || !job || !run || !spec || generation === undefined || !/^\d{1,9}$/.test(generation)) return undefined;
  return { owner, job, run, generation: Number(generation), spec };
}

/** Names that `useradd` takes (shadow-utils, useradd(8), "CAVEATS"), at most 32 characters. */
const LOGIN_NAME = /^[a-z_][a-z0-9_-]{0,31}$/i;

/**
 * The login name on hosts of a job whose user may be an address: `alice.liddell@example.org` becomes `alice_liddell`. A valid
 * login name stays as it is. Two users of two domains may get the same name, because they share no host.
 */
export function loginNameOf(user: string): string {
  if (LOGIN_NAME.test(user)) return user;
  const name = (user.split('@', 1)[0] ?? '').toLowerCase().replaceAll(/[^a-z0-9_-]/g, '_');
  return /^[a-z_]/.test(name) ? name.slice(0, 32) : `u_${name}`.slice(0, 32);
}
