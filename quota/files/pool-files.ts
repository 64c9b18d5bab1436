import type { PoolDefaults } from '../../domain/job-file/pool-defaults.js';
import { nearestWord } from '../../domain/nearest-word.js';
import { formatProblem } from '../../domain/problem.js';
import type { Path, Problem } from '../../domain/problem.js';
import { canonicalGeneration } from '../../domain/accelerators.js';
import { parsePoolFile } from './pool-file.js';
import { type PoolFileForm, RULE_KEYS } from './pool-file-form.js';
import { findProject, isSameProject, NO_PROJECT, UNLIMITED } from '../quota-config.js';
import type { LimitedQuota, QuotaConfig } from '../quota-config.js';
import { looseName } from '../membership.js';
import { MOST_LOOSE, parseQuotaFile, poolHas } from './quota-file.js';
import { located, TomlPositions } from './toml-text.js';

/** A file that an operator writes; `name` is a path or URL, for messages. */
export interface OperatorFile {
  readonly name: string;
  readonly text: string;
}

/** The two files of one pool; either may be missing. */
export interface PoolFiles {
  readonly quotaFile?: OperatorFile | undefined;
  readonly poolFile?: OperatorFile | undefined;
}

export type CheckedFiles =
  | {
      readonly ok: true;
      /** Includes the rules of the pool file. */
      readonly config: QuotaConfig;
      /** Values that jobs of the pool get if they choose nothing. */
      readonly defaults: PoolDefaults;
      /** Values that are accepted but likely not meant. Each text begins with its place. */
      readonly warnings: readonly string[];
    }
  | { readonly ok: false; /** Problems of both files, each in file order. */ readonly problems: readonly Problem[] };

/**
 * Reads the files of a pool: each alone, then whether they fit together. Pure. Workers, `quota apply`, `quota plan` and `quota
 * validate` all read an operator's files here.
 * @param pool the pool that they belong to, for messages about jobs
 */
export function checkFiles({ quotaFile, poolFile }: PoolFiles, pool = 'default'): CheckedFiles {
  const quota = quotaFile && parseQuotaFile(quotaFile.text, quotaFile.name);
  const ofPool = poolFile && parsePoolFile(poolFile.text, poolFile.name, pool);
  const problems = [quota, ofPool].flatMap((parsed) => (parsed === undefined || parsed.ok ? [] : parsed.problems));
  if (problems.length > 0 || quota?.ok === false || ofPool?.ok === false) return { ok: false, problems };
  const defaults = ofPool?.defaults ?? { pool };
  const warnings = quota?.warnings ?? [];
  const config = quota?.config ?? UNLIMITED;
  if (poolFile === undefined || ofPool === undefined) return { ok: true, config, defaults, warnings };
  const joint = jointly(config, ofPool.form, poolFile);
  if (joint.problems.length > 0) return { ok: false, problems: joint.problems };
  const withRules = config.kind === 'limited' && ofPool.rules ? { ...config, rules: ofPool.rules } : config;
  return { ok: true, config: withRules, defaults, warnings: [...warnings, ...joint.warnings.map(formatProblem)] };
}

interface Found {
  readonly problems: readonly Problem[];
  readonly warnings: readonly Problem[];
}

function jointly(config: QuotaConfig, form: PoolFileForm, { name, text }: OperatorFile): Found {
  const positions = new TomlPositions(text);
  const place = (found: readonly Problem[]): readonly Problem[] => located(found, name, positions);
  if (config.kind === 'unlimited')
    return { problems: [], warnings: place([...withoutQuota(form), ...looseUsers(form)]) };
  const warnings = [
    ...unknownProjects(config, form),
    ...unknownTypes(config, form),
    ...unqueued(form),
    ...looseUsers(form),
  ];
  return { problems: place(tiersTooMany(config, form)), warnings: place(warnings) };
}

function withoutQuota(form: PoolFileForm): Problem[] {
  const said: Path[] = RULE_KEYS.filter((key) => form[key] !== undefined).map((key) => [key]);
  const floors: Path[] = form.limits?.priority_floor === undefined ? [] : [['limits', 'priority_floor']];
  return [...said, ...floors].map((path) => ({
    path,
    message: 'there is no quota file: the pool is unlimited, and this has no effect',
  }));
}

/** More rules than tiers are an error: it is not known which rule was meant for which tier, and tiers are billed. */
function tiersTooMany({ tiers }: LimitedQuota, form: PoolFileForm): Problem[] {
  const [extra] = (form.tiers ?? []).slice(tiers.length);
  if (extra === undefined) return [];
  const has = tiers.length === 1 ? '1 tier' : `${tiers.length} tiers`;
  const message = `the quota file has ${has} ([[total_resources]]), and this is one more`;
  return [
    {
      path: ['tiers', tiers.length],
      value: extra,
      at: 'key',
      message,
      hint: 'one [[tiers]] for each, in the same order',
    },
  ];
}

function unknownProjects(config: LimitedQuota, form: PoolFileForm): Problem[] {
  const known = config.projects.map(({ name }) => name);
  const floors = Object.keys(form.limits?.priority_floor ?? {}).map((name): Path => ['limits', 'priority_floor', name]);
  return [...limitPaths(form), ...floors].flatMap((path: Path) => {
    const name = String(path.at(-1));
    if (findProject(config, name) !== undefined || isSameProject(name, NO_PROJECT)) return [];
    const message = `the quota file has no such project${nearest(name, known)}`;
    return [{ path, at: 'key' as const, message }];
  });
}

function unknownTypes({ tiers }: LimitedQuota, form: PoolFileForm): Problem[] {
  const pooled = new Set(tiers.flatMap((tier) => Object.keys(tier)));
  const tables: [readonly [string, string], Readonly<Record<string, number>>][] = [
    ...limitPaths(form).map((path) => [path, form[path[0]]?.[path[1]] ?? {}] as [typeof path, Record<string, number>]),
    ...Object.entries(form.largest_slice ?? {}).map(
      ([zone, units]) => [['largest_slice', zone], units] as [[string, string], Record<string, number>],
    ),
  ];
  return tables.flatMap(([path, units]) =>
    Object.keys(units)
      .filter((type) => !pooled.has(canonicalGeneration(type)))
      .map((type) => ({
        path: [...path, type],
        at: 'key' as const,
        message: `the pool has no ${type} (${poolHas(pooled)})`,
      })),
  );
}

type LimitKey = 'borrowing_limits' | 'lending_limits';

function limitPaths(form: PoolFileForm): (readonly [LimitKey, string])[] {
  return (['borrowing_limits', 'lending_limits'] as const).flatMap((key) =>
    Object.keys(form[key] ?? {}).map((name) => [key, name] as const),
  );
}

/**
 * A node of API v2 has no field for a reservation's name (docs/facts.md, "Cloud TPU"). Only a queued resource can ask for one.
 */
function unqueued({ tiers = [], tpu }: PoolFileForm): Problem[] {
  if (tpu?.allocation_mode === 'queued-resources') return [];
  return tiers.flatMap(({ reservation }, index) => {
    if (reservation === undefined) return [];
    const message =
      'jobs that ask without a queue take any reservation of their project: write [tpu] allocation_mode = "queued-resources"';
    return [{ path: ['tiers', index, 'reservation'], value: reservation, message }];
  });
}

/** Entries of `submit_for` that match more users than a reader expects: checked like a quota file's members (docs/adr/0105). */
const looseUsers = ({ access }: PoolFileForm): Problem[] =>
  (access?.services ?? []).flatMap(({ submit_for }, service) =>
    submit_for.slice(0, MOST_LOOSE).flatMap((value, index) => {
      const loose = looseName(value);
      return loose === undefined
        ? []
        : [{ path: ['access', 'services', service, 'submit_for', index], value, ...loose }];
    }),
  );

function nearest(name: string, known: readonly string[]): string {
  const word = nearestWord(name, known);
  return word === undefined ? '' : ` (did you mean ${word}?)`;
}
