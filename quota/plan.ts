import { z } from 'zod';
import { notJson } from '../domain/errors.js';
import { type EpochMs, type QuotaUnits, MOST_UNITS } from '../domain/units.js';
import { canonicalGeneration } from '../domain/accelerators.js';
import { PRICINGS } from '../domain/slice.js';
import { valueAt } from '../domain/job-file/plain-tree.js';
import { nearestWord } from '../domain/nearest-word.js';
import { formatPath, showValue, type Path, type Problem } from '../domain/problem.js';
import { jobOfLeaseKey } from '../domain/lease.js';
import { plainWording, reasonText, type Wording } from './explanation/explain-words.js';
import { Explainer } from './explain.js';
import { type Explanation, type Reason, renamedReason } from './explanation/explanation.js';
import { EVERYWHERE, type Pool, type QuotaLease, type QuotaRequest, type QuotaConfig } from './quota-config.js';
import type { PoolSnapshot } from './published-state.js';

/**
 * The effect of one decision: the answer of `quota plan --output json`. Other tools read it (docs/quota.md, "What if"): keys are
 * added, never changed.
 */
export interface Plan {
  readonly grants: readonly { readonly id: string; /** 0 = the best. */ readonly tier: number }[];
  /** Leases that would be preempted, each for one of `waiting`. */
  readonly preemptions: readonly { readonly id: string; readonly for: string }[];
  /** Jobs that would go on waiting, in the order of service. */
  readonly waiting: readonly PlannedWait[];
}
interface PlannedWait {
  readonly id: string;
  /** 1 = first. */
  readonly position: number;
  /** Every reason as a sentence; at least one. */
  readonly reasons: readonly string[];
  /** The same reasons, in the same order, for programs. */
  readonly details: readonly Reason[];
}

/** @param wording for ids and reasons; absent: ids as they are, times in ISO 8601 */
export function planOf(pool: Pool, now: EpochMs, wording: Wording = plainWording(pool.config)): Plan {
  const explainer = new Explainer(pool, now);
  const { decision, line } = explainer.pass;
  const nameOf = (id: string): string => wording.nameOf(id);
  return {
    grants: decision.grants.map(({ id, tier }) => ({ id: nameOf(id), tier })),
    preemptions: decision.preemptions.map(({ id, for: whom }) => ({ id: nameOf(id), for: nameOf(whom) })),
    waiting: line.flatMap(({ id }) => {
      const why = explainer.of(id);
      return why === undefined ? [] : [plannedWait(why, wording)];
    }),
  };
}

function plannedWait(why: Explanation, wording: Wording): PlannedWait {
  const nameOf = (id: string): string => wording.nameOf(id);
  return {
    id: nameOf(why.id),
    position: why.position,
    reasons: why.reasons.map((reason) => reasonText(reason, why, wording)),
    details: why.reasons.map((reason) => renamedReason(reason, nameOf)),
  };
}

/** A pool without its quota file, as `quota plan --state` reads it (docs/quota.md, "What if"). */
interface PlanState {
  readonly now: EpochMs;
  readonly waiting: readonly QuotaRequest[];
  readonly leases: readonly QuotaLease[];
}

type ParsedPlanState =
  | { readonly ok: true; readonly state: PlanState }
  | { readonly ok: false; /** In file order. */ readonly problems: readonly Problem[] };

const ISO_TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2})?$/;
const A_TIME = 'a time such as 2026-11-21T09:30:00Z';

/** Parses an ISO time, in UTC if it names no offset. NaN for any other text. */
function epochOf(value: string): EpochMs {
  const found = ISO_TIME.exec(value);
  if (found === null) return Number.NaN;
  return Date.parse(found[3] === undefined ? `${value}Z` : value);
}

const text = () => z.string({ error: 'text' }).min(1, { error: 'text of one character or more' });
const time = () => z.string({ error: A_TIME }).refine((value) => !Number.isNaN(epochOf(value)), { error: A_TIME });
const whole = (least: number, most: number, error: string) =>
  z.number({ error }).refine((value) => Number.isInteger(value) && value >= least && value <= most, { error });
const units = () => whole(1, MOST_UNITS, `a whole number of units from 1 to ${MOST_UNITS}`);
const held = () => whole(0, Number.MAX_SAFE_INTEGER, 'a whole number of milliseconds, 0 or more');
const list = <Item extends z.ZodType>(item: Item) => z.array(item, { error: 'a list' });

const demandShape = {
  id: text(),
  project: text(),
  user: text(),
  priority: whole(1, 5, 'a whole number from 1 (first) to 5'),
  submittedAt: time(),
  resources: z.record(z.string(), units(), { error: 'units by type, such as {"v4": 8}' }),
  pricing: z.enum(PRICINGS, { error: `one of ${PRICINGS.join(', ')}` }).optional(),
  zones: list(text()).optional(),
};
const leaseShape = {
  ...demandShape,
  startedAt: time(),
  tier: whole(0, 1_000, 'the number of a tier, 0 for the best'),
  state: z
    .enum(['asking', 'held', 'draining', 'parked'], { error: 'one of asking, held, draining, parked' })
    .optional(),
  heldMs: held().optional(),
  askingSince: time().optional(),
  everywhere: z.enum(EVERYWHERE, { error: `one of ${EVERYWHERE.join(', ')}` }).optional(),
  zone: text().optional(),
};
const schema = z.strictObject(
  {
    now: time(),
    waiting: list(z.strictObject({ ...demandShape, waitingSince: time().optional() }, { error: 'a job' })),
    leases: list(z.strictObject(leaseShape, { error: 'a lease' })),
  },
  { error: 'an object with now, waiting and leases' },
);
type Form = z.infer<typeof schema>;
type WaitingForm = Form['waiting'][number];
type LeaseForm = Form['leases'][number];

/**
 * Reads the state that a plan is made from. Each problem has its place and value, such as
 * `state.json: waiting[3].resources.v4: -8 is not a whole number of units from 1 to 2147483647`.
 * @param file the file's name, for messages
 */
export function parsePlanState(source: string, file: string): ParsedPlanState {
  const tree = readJson(source);
  if ('problem' in tree) return { ok: false, problems: [{ file, ...tree.problem }] };
  const checked = schema.safeParse(tree.value);
  const problems = checked.success
    ? senseProblems(checked.data)
    : checked.error.issues.flatMap((issue) => problemsOf(issue, tree.value));
  if (!checked.success || problems.length > 0)
    return { ok: false, problems: problems.map((one) => ({ file, ...one })) };
  return { ok: true, state: asState(checked.data) };
}

function readJson(source: string): { readonly value: unknown } | { readonly problem: Problem } {
  try {
    return { value: JSON.parse(source) as unknown };
  } catch (error) {
    return { problem: { path: [], message: notJson(error, source) } };
  }
}

function problemsOf(issue: z.core.$ZodIssue, tree: unknown): Problem[] {
  const path = issue.path.filter((segment) => typeof segment !== 'symbol');
  if (issue.code === 'unrecognized_keys') return issue.keys.map((key) => unknownKey([...path, key]));
  const value = valueAt(tree, path);
  if (path.length > 0 && value === undefined) return [{ path, message: 'is missing' }];
  return [{ path, value, message: `${showValue(value)} is not ${issue.message}` }];
}

function unknownKey(path: Path): Problem {
  const isLease = path[0] === 'leases';
  const known = path.length === 1 ? ['now', 'waiting', 'leases'] : Object.keys(isLease ? leaseShape : demandShape);
  const nearest = nearestWord(String(path.at(-1)), known);
  const hint = [...(nearest === undefined ? [] : [`did you mean ${nearest}?`]), `known here: ${known.join(', ')}`];
  return { path, message: 'no such key in a state file', hint: hint.join('\n'), at: 'key' };
}

/** Checks rules beyond the schema: each id once, each type once, at least one type. */
function senseProblems({ waiting, leases }: Form): Problem[] {
  const seen = new Map<string, Path>();
  const rows = [
    ...waiting.map((row, index) => ({ row, path: ['waiting', index] as Path })),
    ...leases.map((row, index) => ({ row, path: ['leases', index] as Path })),
  ];
  return rows.flatMap(({ row: { id, resources }, path }): Problem[] => {
    const twin = seen.get(id);
    seen.set(id, path);
    return [
      ...(twin === undefined
        ? []
        : [{ path: [...path, 'id'], value: id, message: `${showValue(id)} is the id of ${formatPath(twin)} too` }]),
      ...resourceProblems(resources, [...path, 'resources']),
    ];
  });
}

function resourceProblems(resources: Readonly<Record<string, number>>, path: Path): Problem[] {
  const types = Object.keys(resources);
  if (types.length === 0)
    return [{ path, value: resources, message: 'asks for nothing: a job needs units of one type at least' }];
  return types
    .filter(
      (type, index) => types.findIndex((other) => canonicalGeneration(other) === canonicalGeneration(type)) < index,
    )
    .map((type) => ({
      path: [...path, type],
      value: resources[type],
      message: `${canonicalGeneration(type)} is given twice`,
      at: 'key' as const,
    }));
}

function asState({ now, waiting, leases }: Form): PlanState {
  const at = epochOf(now);
  return { now: at, waiting: waiting.map(asRequest), leases: leases.map((row) => asLease(row, at)) };
}

function asRequest({ waitingSince, ...row }: WaitingForm): QuotaRequest {
  return { ...asDemand(row), ...(waitingSince === undefined ? {} : { waitingSince: epochOf(waitingSince) }) };
}

function asLease(
  { startedAt, tier, state, heldMs, askingSince, everywhere, zone, ...row }: LeaseForm,
  now: EpochMs,
): QuotaLease {
  const start = epochOf(startedAt);
  return {
    ...asDemand(row),
    tier,
    startedAt: start,
    state: state ?? 'held',
    heldMs: heldMs ?? Math.max(0, now - start),
    ...(askingSince === undefined ? {} : { askingSince: epochOf(askingSince) }),
    ...(everywhere === undefined ? {} : { everywhere }),
    ...(zone === undefined ? {} : { zone }),
  };
}

function asDemand({ id, project, user, priority, submittedAt, resources, pricing, zones }: WaitingForm): QuotaRequest {
  return {
    id,
    project,
    user,
    priority,
    submittedAt: epochOf(submittedAt),
    units: canonicalUnits(resources),
    ...(pricing === undefined ? {} : { pricing }),
    ...(zones === undefined ? {} : { zones }),
  };
}

function canonicalUnits(resources: Readonly<Record<string, number>>): QuotaUnits {
  return Object.fromEntries(Object.entries(resources).map(([type, count]) => [canonicalGeneration(type), count]));
}

/** Files that a user may put in force. */
interface PlannedFiles {
  /** The configuration that the files give together (quota/files/pool-files.ts). */
  readonly config: QuotaConfig;
  readonly hasPoolFile: boolean;
}

/** The configuration that would be in force with `files`. Without a pool file among them, the rules in force stay. */
export function configUnder(inForce: QuotaConfig, files: PlannedFiles | undefined): QuotaConfig {
  if (files === undefined) return inForce;
  const { config, hasPoolFile } = files;
  if (hasPoolFile || config.kind === 'unlimited' || inForce.kind === 'unlimited' || !inForce.rules) return config;
  return { ...config, rules: inForce.rules };
}

/**
 * The effect of one decision in a published pool, in words for programs: the answer of `quota plan --output json`.
 * @param files absent: the files in force
 */
export function publishedPlan({ view, at }: PoolSnapshot, files: PlannedFiles | undefined): Plan {
  const config = configUnder(view.config, files);
  return planOf({ ...view, config }, at, { ...plainWording(config), nameOf: jobOfLeaseKey });
}
