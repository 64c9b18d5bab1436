import { constants } from 'node:os';
import type { AfterActivities } from '../../contract/after.js';
import type { BuildActivities } from '../../contract/build.js';
import type { AttemptRecord, JobActivities } from '../../contract/job-activities.js';
import type { JobMemo, JobNotice } from '../../contract/job.js';
import type { SliceActivities, SliceMemo } from '../../contract/slice.js';
import { PARTS } from '../../domain/counted/usage.js';
import type { CarriedEvent } from '../../domain/job-events/event.js';
import { KINDS } from '../../domain/job-events/kinds.js';
import { DEFAULT_POOL } from '../../domain/job-file/resolve-form.js';
import { KEEP_WORDS } from '../../domain/job-file/sections.js';
import { JobPhase, type Outcome } from '../../domain/job-state.js';
import type { LeaseMessage } from '../../domain/lease.js';
import { DEFAULT_CLUSTER } from '../../domain/machine-kinds/kubernetes/words.js';
import { MACHINE_KINDS } from '../../domain/machines.js';
import { MODULE_NAMES } from '../../domain/modules/registry.js';
import { OWN_SIGNALS } from '../../domain/temporal-server.js';
import { SIGN_TEXTS } from '../../domain/recovery/broken-machine.js';
import { FACTS, type Facts, type Question } from '../../domain/recovery/facts.js';
import { PRICINGS, REACH_WORDS, REFUSAL_SCOPES } from '../../domain/slice.js';

/**
 * Kinds of text in the payloads of an export (docs/adr/0146). Numbers and flags are kept. So is a text from a closed list of its
 * field. If the payload has a form, the lists are in the form. For values that only jobctl's own code writes, they are in the
 * types (the compiler compares them below). Any other text counts as the user's, unless a table here says more.
 */
export type TextKind =
  /** A sentence: its known words are kept. */
  | 'said'
  /** Text for a shell, a file or a host: removed completely. */
  | 'secret'
  /** A name that a provider gives, such as a machine type, version or scope. */
  | 'public'
  /** The source of a disk. The text of a job file has the same field and is removed. */
  | 'source'
  /** A flag of gcloud. */
  | 'flag'
  /** A workflow's id. */
  | 'id';

export const TEXT_KINDS: Readonly<Record<string, TextKind>> = {
  ...each(
    'said',
    `answer answers message detail problem problems warning reason why quotaNote quota text end previousEnd setback sign what
    place provider restored limit before after awaited`,
  ),
  ...each(
    'secret',
    `run cmd script check install prefix steps startup_script startupScript config_entry configEntry content tail stdin
    requirements create_flags command printed lines preemption success failure finally`,
  ),
  ...each(
    'public',
    `accelerator accelerators type topology version runtimeVersion machine_type machineType gpu_type gpuType disk_type diskType scopes
    python platform image_family rayVersion ray_version env_type pricing units`,
  ),
  ...{ source: 'source', flags: 'flag' },
  ...each('id', 'id ids workflow sender taskQueue build follower lodger landlord ok any notOk not_ok'),
};

/** Maps whose keys are the user's, with the kind of their values: `user` means the kind that the field's name gives. */
export const MAPS: Readonly<Record<MapField | CarriedMap, 'secret' | 'user'>> = {
  env: 'secret',
  metadata: 'secret',
  args: 'secret',
  ...{ files: 'user', identityKeys: 'user', labels: 'user', nodeSelector: 'user', secrets: 'user' },
  ...{ units: 'user', resources: 'user', zones: 'user', preemptedAt: 'user' },
  inputs: 'user',
  ...{ ready: 'user', modules: 'user', ownModules: 'user' },
};

/** Maps that occur only in the state that a job carries to its next run. */
type CarriedMap = 'zones' | 'preemptedAt';

const USUAL: ReadonlySet<string> = new Set([DEFAULT_POOL, DEFAULT_CLUSTER, 'none']);
/** Names that jobctl's own code puts into fields that otherwise hold the user's text. */
export const NAMES: Readonly<Record<string, ReadonlySet<string>>> = {
  label: new Set(['REHEARSAL']),
  ...{ pool: USUAL, project: USUAL, namespace: USUAL, zone: USUAL, zones: USUAL },
  modules: new Set(MODULE_NAMES),
  ready: new Set(MODULE_NAMES),
  module: new Set([...MODULE_NAMES, 'connect']),
  step: new Set(['check']),
  pricing: new Set([...PRICINGS, 'any']),
  printed: new Set(SIGN_TEXTS),
  signal: new Set([...Object.keys(constants.signals), ...OWN_SIGNALS]),
};

const FACT_WORDS = new Map<string, Set<string>>();
for (const facts of Object.values<Readonly<Record<string, readonly string[]>>>(FACTS))
  for (const [name, values] of Object.entries(facts))
    FACT_WORDS.set(name, new Set([...(FACT_WORDS.get(name) ?? []), ...values]));

/** The closed lists of values that only jobctl's own code writes, by field. */
const OWN = {
  allocationMode: ['queued-resources', 'tpu-vm'],
  budget: ['preemption', 'infrastructure', 'task', 'requested'],
  by: ['ends', 'loss', 'silence', 'task', 'infrastructure', 'preemption', 'user', 'slices', 'worker', 'idle', 'run'],
  cause: [
    ...['asking', 'attempt', 'beside', 'cancel', 'failed', 'late', 'lease', 'parked', 'preempted', 'preemption'],
    ...['quota', 'refused', 'stop', 'tier', 'unattended'],
  ],
  do: ['end-set-up', 'loop', 'retry', 'save'],
  effect: ['NoExecute', 'NoSchedule', 'PreferNoSchedule'],
  hook: ['success', 'failure', 'finally'],
  host: ['up', 'stopping', 'preempted'],
  hosts: ['all', 'first'],
  kind: [
    ...(Object.keys(KINDS) as (keyof typeof KINDS)[]),
    ...MACHINE_KINDS,
    ...['chips', 'gone', 'parked', 'release', 'request', 'slice', 'stuck'],
    ...['accepted', 'exists', 'refused', 'unanswered', 'not-yet'],
    ...['deleting', 'foreign', 'lost', 'missing', 'ready', 'waiting', 'progress', 'built', 'failed', 'found'],
    ...['done', 'ended-before', 'exited', 'fenced', 'handed-over', 'no-output', 'run-lost', 'slices-lost', 'idle'],
    ...['still-running', 'module-failed', 'host-bad', 'renumbered', 'interrupted'],
    ...['closed', 'setting-up', 'starting', 'running', 'stopped', 'stop', 'requeue', 'restart', 'create', 'reclaim'],
  ],
  lost: ['none', 'counted', 'unknown'],
  maxUnattended: ['never'],
  medium: ['disk', 'memory'],
  mode: ['queued-resources', 'tpu-vm', 'read-only', 'read-write'],
  namedPricing: PRICINGS,
  operator: ['Equal', 'Exists'],
  part: PARTS,
  per: ['chip', 'host', 'slice'],
  phase: Object.values(JobPhase),
  place: ['queued'],
  pricing: [...PRICINGS, 'any'],
  reach: REACH_WORDS,
  replace: ['all'],
  result: ['succeeded', 'failed', 'cancelled', 'refused', 'open', 'terminated'],
  scope: REFUSAL_SCOPES,
  shell: ['bash', 'plain'],
  state: [
    ...['starting', 'ready', 'lost', 'gone'],
    ...['open', 'missing', 'succeeded', 'failed', 'cancelled', 'terminated', 'refused', 'unbegun'],
  ],
  status: ['done', 'failed', 'not-run', 'timed-out', 'unknown'],
  success: ['all', 'any', 'first'],
  unit: ['chip', 'host'],
  waitFor: ['shell', 'all'],
  what: ['output', 'start', 'end'],
  when: KEEP_WORDS,
  workers: ['all'],
  zones: ['wrong', 'lasting'],
} as const satisfies Readonly<Record<string, readonly string[]>>;

const LISTED: Complete = OWN;
const OWN_WORDS = new Map<string, ReadonlySet<string>>(
  [...new Set([...Object.keys(LISTED), ...FACT_WORDS.keys()])].map((field) => [
    field,
    new Set([
      ...((LISTED as Readonly<Record<string, readonly string[]>>)[field] ?? []),
      ...(FACT_WORDS.get(field) ?? []),
    ]),
  ]),
);
export const isOwnWord = (field: string, text: string): boolean => OWN_WORDS.get(field)?.has(text) ?? false;

function each(kind: TextKind, fields: string): Record<string, TextKind> {
  return Object.fromEntries(fields.split(/\s+/).map((field) => [field, kind]));
}

// The compiler compares the tables with the types ------------------------------------------------------------------------

type Of<Activities> = {
  [Name in keyof Activities]: Activities[Name] extends (...given: infer Given) => infer Result
    ? Given | Awaited<Result>
    : never;
}[keyof Activities];
/** Values without a form in histories and records: only jobctl's own code writes them. */
type Own =
  | JobMemo
  | JobNotice
  | SliceMemo
  | Outcome
  | AttemptRecord
  | CarriedEvent
  | LeaseMessage
  | Of<JobActivities>
  | Of<SliceActivities>
  | Of<AfterActivities>
  | Of<Pick<BuildActivities, 'joinBuild'>>;

/** `field:value` for each value of each text field with a closed list. */
type Words<T, Field extends string = ''> = unknown extends T
  ? never
  : T extends string
    ? string extends T
      ? never
      : `${Field}:${T}`
    : T extends number | boolean | null | undefined
      ? never
      : T extends readonly (infer Item)[]
        ? Words<Item, Field>
        : { [Key in keyof T & string]: Words<T[Key], string extends keyof T ? Field : Key> }[keyof T & string];
type FactWords = Words<{ [Q in Question]: Facts<Q> }[Question]>;
type Listed = { [Field in keyof typeof OWN]: `${Field}:${(typeof OWN)[Field][number]}` }[keyof typeof OWN] | FactWords;

/** Fields that hold maps: their keys are not a closed list. */
type MapField<T = Own, Field extends string = ''> = unknown extends T
  ? never
  : T extends string | number | boolean | null | undefined
    ? never
    : T extends readonly (infer Item)[]
      ? MapField<Item, Field>
      : | (string extends keyof T ? (T[string] extends never ? never : Field) : never)
        | { [Key in keyof T & string]: MapField<T[Key], Key> }[keyof T & string];

/**
 * `OWN`, if it is complete; else the missing values, named in the compiler's error. An export would mask a missing value, and
 * would no longer replay.
 */
type Complete = [Unlisted<Own>] extends [never] ? typeof OWN : { readonly missing: Unlisted<Own> };

/** The values and maps that no table lists. A test checks the types of workflows/ that a job carries to its next run. */
export type Unlisted<T> = Exclude<Words<T>, Listed> | Exclude<MapField<T>, keyof typeof MAPS>;
