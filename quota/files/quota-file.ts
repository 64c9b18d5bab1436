import { canonicalGeneration } from '../../domain/accelerators.js';
import { isMapping } from '../../domain/job-file/plain-tree.js';
import type { Mapping } from '../../domain/job-file/plain-tree.js';
import { nearestWord } from '../../domain/nearest-word.js';
import { formatProblem, showValue } from '../../domain/problem.js';
import type { Path, Problem } from '../../domain/problem.js';
import type { QuotaUnits } from '../../domain/units.js';
import { looseName, patternProblem } from '../membership.js';
import { nominalQuota } from '../nominal-quota.js';
import { MOST_TIERS, projectKey, twinsOf } from '../quota-config.js';
import { MOST_UNITS, unitsOf } from '../../domain/units.js';
import type { LimitedQuota, QuotaProject } from '../quota-config.js';
import { MOST_QUOTA_FILE } from '../../domain/bounds.js';
import { located, readToml, sizeProblem, TomlPositions } from './toml-text.js';

export type ParsedQuotaFile =
  | {
      readonly ok: true;
      readonly config: LimitedQuota;
      /** Values that are accepted but likely not meant. Each text begins with its place. */
      readonly warnings: readonly string[];
    }
  | { readonly ok: false; readonly problems: readonly Problem[] };

/**
 * Reads Bastion's quota file (docs/facts.md, "Predecessors" has its rules and our differences). Reports all problems together, in
 * file order.
 * @param file its name or URL, for messages
 */
export function parseQuotaFile(text: string, file: string): ParsedQuotaFile {
  const size = sizeProblem(text, MOST_QUOTA_FILE);
  if (size !== undefined) return { ok: false, problems: [{ file, path: [], ...size }] };
  const positions = new TomlPositions(text);
  const tree = readToml(text, positions);
  if (!tree.ok) return { ok: false, problems: [{ file, ...tree.problem }] };
  const reader = new QuotaFileReader(tree.value);
  if (reader.problems.length > 0) return { ok: false, problems: located(reader.problems, file, positions) };
  return { ok: true, config: reader.config, warnings: located(reader.warnings, file, positions).map(formatProblem) };
}

const TABLES = ['toml-schema', 'total_resources', 'project_membership', 'project_resources'] as const;
const VERSION = '1';

const MOST_PROJECTS = 2_000;
const MOST_PATTERNS = 10_000;
const MOST_TYPES = 100;

/** Checks a quota file's tree and turns it into a QuotaConfig; valid only while `problems` is empty. */
class QuotaFileReader {
  readonly problems: Problem[] = [];
  readonly warnings: Problem[] = [];
  readonly config: LimitedQuota;

  constructor(tree: Mapping) {
    this.#checkTop(tree);
    const tiers = this.#tiers(tree['total_resources']);
    const members = this.#members(tree['project_membership']);
    const shares = this.#shares(tree['project_resources']);
    this.#warn(tiers, members, shares);
    this.config = { kind: 'limited', tiers, projects: projectsOf(tiers, members, shares) };
  }

  #checkTop(tree: Mapping): void {
    for (const [key, value] of Object.entries(tree)) {
      if (!TABLES.some((table) => table === key)) this.#unknownKey([key], value, TABLES);
    }
    for (const table of TABLES) {
      if (tree[table] === undefined) this.#add([table], undefined, 'is missing', `a quota file needs [${table}]`);
    }
    const schema = this.#table(['toml-schema'], tree['toml-schema']);
    for (const [key, value] of Object.entries(schema)) {
      if (key !== 'version') this.#unknownKey(['toml-schema', key], value, ['version']);
    }
    const version = schema['version'];
    if (version === VERSION || tree['toml-schema'] === undefined) return;
    const what = version === undefined ? 'is missing' : `${showValue(version)} is not the version that jobctl reads`;
    this.#add(['toml-schema', 'version'], version, what, 'write version = "1"');
  }

  /** The tiers, best first. A plain table is one tier. */
  #tiers(value: unknown): QuotaUnits[] {
    const tables: unknown[] = Array.isArray(value) ? value : value === undefined ? [] : [value];
    return this.#most(['total_resources'], tables, MOST_TIERS, 'tiers').map((table, index) => {
      const path = Array.isArray(value) ? ['total_resources', index] : ['total_resources'];
      return this.#amounts(path, table, isUnits, `a whole number from 0 to ${MOST_UNITS}`);
    });
  }

  #members(value: unknown): Map<string, readonly string[]> {
    const path = ['project_membership'];
    const members = this.#projects(path, value);
    const patterns = members.reduce((sum, [, list]) => sum + (Array.isArray(list) ? list.length : 0), 0);
    // Each pattern is compiled, and every job that is submitted is matched with all of them.
    if (patterns > MOST_PATTERNS) {
      this.#tooMany(path, patterns, MOST_PATTERNS, 'patterns');
      return new Map();
    }
    return new Map(members.map(([name, patterns]) => [name, this.#patterns([...path, name], patterns)]));
  }

  #patterns(path: Path, value: unknown): readonly string[] {
    if (!Array.isArray(value)) {
      this.#add(path, value, `${showValue(value)} is not a list of patterns`, 'such as ["user1", "team-.*"]');
      return [];
    }
    return value.filter((pattern: unknown, index): pattern is string => {
      const at = [...path, index];
      const why = typeof pattern === 'string' ? patternProblem(pattern) : 'it is not text';
      if (why !== undefined) this.#add(at, pattern, `${showValue(pattern)} is no pattern: ${why}`, PATTERN_HINT);
      return why === undefined;
    });
  }

  #shares(value: unknown): Map<string, QuotaUnits> {
    const path = ['project_resources'];
    return new Map(
      this.#projects(path, value).map(([name, table]) => [
        name,
        this.#amounts([...path, name], table, isShare, 'a share: a number of 0 or more'),
      ]),
    );
  }

  /** The entries of a table of projects, without names that appeared before in another case. */
  #projects(path: Path, value: unknown): [string, unknown][] {
    const entries = this.#most(path, Object.entries(this.#table(path, value)), MOST_PROJECTS, 'projects');
    const twins = twinsOf(entries.map(([name]) => name));
    return entries.filter(([name]) => {
      const twin = twins.get(name);
      if (twin === undefined) return true;
      const message = `'${name}' and '${twin}' differ by case only`;
      this.#add(
        [...path, name],
        undefined,
        message,
        'project names are compared without regard to case: keep one',
        'key',
      );
      return false;
    });
  }

  /** A table of numbers by TPU type, under the API's names. */
  #amounts(path: Path, value: unknown, isAllowed: (amount: number) => boolean, wanted: string): QuotaUnits {
    const amounts = new Map<string, number>();
    for (const [name, amount] of this.#most(path, Object.entries(this.#table(path, value)), MOST_TYPES, 'types')) {
      const type = canonicalGeneration(name);
      if (!TYPE_NAME.test(name)) {
        this.#add(
          [...path, name],
          amount,
          'is no name of a type',
          'letters, digits and . _ - with a letter or digit first',
          'key',
        );
      } else if (typeof amount !== 'number' || !isAllowed(amount)) {
        this.#add([...path, name], amount, `${showAmount(amount)} is not ${wanted}`);
      } else if (amounts.has(type)) {
        this.#add([...path, name], amount, `${type} is given twice`, 'v5e is another name of v5litepod', 'key');
      } else amounts.set(type, amount);
    }
    return Object.fromEntries(amounts);
  }

  /** Returns `list`, or an empty list and a problem if it exceeds `most`: later steps multiply projects by types by tiers. */
  #most<Item>(path: Path, list: readonly Item[], most: number, what: string): readonly Item[] {
    if (list.length <= most) return list;
    this.#tooMany(path, list.length, most, what);
    return [];
  }

  #tooMany(path: Path, count: number, most: number, what: string): void {
    this.#add(path, undefined, `has ${count} ${what}, and ${most} are the most`, undefined, 'key');
  }

  #table(path: Path, value: unknown): Mapping {
    if (value === undefined) return {};
    if (isMapping(value) && !(value instanceof Date)) return value;
    this.#add(path, value, `${showValue(value)} is not a table`, `write [${path.join('.')}] and lines of name = value`);
    return {};
  }

  #unknownKey(path: Path, value: unknown, known: readonly string[]): void {
    const nearest = nearestWord(String(path.at(-1)), known);
    const lines = [...(nearest === undefined ? [] : [`did you mean ${nearest}?`]), `known here: ${known.join(', ')}`];
    this.#add(path, value, 'no such key in a quota file', lines.join('\n'), 'key');
  }

  #add(path: Path, value: unknown, message: string, hint?: string, at?: 'key'): void {
    const rest = { ...(hint === undefined ? {} : { hint }), ...(at === undefined ? {} : { at }) };
    this.problems.push({ path, value, message, ...rest });
  }

  #warn(
    tiers: readonly QuotaUnits[],
    members: ReadonlyMap<string, readonly string[]>,
    shares: ReadonlyMap<string, QuotaUnits>,
  ): void {
    this.warnings.push(...looseMembers(members));
    const pooled = new Set(tiers.flatMap((tier) => Object.keys(tier)));
    const sums = new Map<string, number>();
    const names = new Set([...members.keys()].map(projectKey));
    for (const [project, byType] of shares) {
      const path = ['project_resources', project];
      if (!names.has(projectKey(project)))
        this.#warning(path, 'not in project_membership: nobody can submit to it', nearestWord(project, members.keys()));
      for (const [type, share] of Object.entries(byType)) {
        if (!pooled.has(type))
          this.#warning([...path, type], `the pool has no ${type} (${poolHas(pooled)}): that share is ignored`);
        sums.set(type, (sums.get(type) ?? 0) + share);
      }
    }
    for (const [type, sum] of sums) {
      if (sum > 1 + ROUNDING)
        this.#warning(
          ['project_resources'],
          `the shares of ${type} add up to ${Number(sum.toFixed(6))}: scaled down to 1`,
        );
    }
  }

  #warning(path: Path, message: string, nearest?: string): void {
    this.warnings.push({
      path,
      at: 'key',
      message: nearest === undefined ? message : `${message} (did you mean ${nearest}?)`,
    });
  }
}

/** Part of a sentence about a type that the pool does not have: lists the types that it has. */
export const poolHas = (types: Iterable<string>): string => `it has ${[...types].join(', ') || 'nothing'}`;

/** Excludes `__proto__`, which every object has. */
const TYPE_NAME = /^[A-Za-z0-9][\w.-]*$/;
const PATTERN_HINT = 'a regular expression in RE2 syntax that matches the whole user id, such as "team-.*"';
/** Tolerance for sums of shares in a message. The division itself is exact. */
const ROUNDING = 1e-9;

const isUnits = (amount: number): boolean => Number.isInteger(amount) && amount >= 0 && amount <= MOST_UNITS;
const isShare = (amount: number): boolean => Number.isFinite(amount) && amount >= 0;
const showAmount = (amount: unknown): string => (typeof amount === 'number' ? String(amount) : showValue(amount));

function projectsOf(
  tiers: readonly QuotaUnits[],
  members: ReadonlyMap<string, readonly string[]>,
  shares: ReadonlyMap<string, QuotaUnits>,
): QuotaProject[] {
  const byKey = new Map([...shares].map(([name, units]) => [projectKey(name), units]));
  const sharesOf = (name: string): QuotaUnits => byKey.get(projectKey(name)) ?? {};
  const known = new Set([...members.keys()].map(projectKey));
  const onlyShares = [...shares.keys()].filter((name) => !known.has(projectKey(name)));
  const names = [...members.keys(), ...onlyShares];
  const nominal = tiers.map((tier) => nominalOf(tier, new Map(names.map((name) => [name, sharesOf(name)]))));
  return names.map((name) => ({
    name,
    shares: sharesOf(name),
    members: members.get(name) ?? [],
    nominal: nominal.map((byProject) => byProject.get(name) ?? {}),
  }));
}

/** Most loose entries that are reported. The first ones of a long file say enough, and each costs a match with every name. */
export const MOST_LOOSE = 20;
const MOST_NAMES = 1000;

/** Members whose pattern matches more users than the one that is written (docs/adr/0105). */
function looseMembers(members: ReadonlyMap<string, readonly string[]>): Problem[] {
  const names = [...members.values()].flat().slice(0, MOST_NAMES);
  const found: Problem[] = [];
  for (const [project, entries] of members)
    for (const [index, value] of entries.entries()) {
      const loose = found.length < MOST_LOOSE ? looseName(value, names) : undefined;
      if (loose !== undefined) found.push({ path: ['project_membership', project, index], value, ...loose });
    }
  return found;
}

/** Whole units of one tier, by project and type. */
function nominalOf(tier: QuotaUnits, shares: ReadonlyMap<string, QuotaUnits>): Map<string, QuotaUnits> {
  const result = new Map<string, Record<string, number>>();
  for (const [type, total] of Object.entries(tier)) {
    const ofType = new Map(
      [...shares].flatMap(([name, byType]) => (Object.hasOwn(byType, type) ? [[name, unitsOf(byType, type)]] : [])),
    );
    for (const [name, units] of nominalQuota(total, ofType)) {
      const known = result.get(name) ?? {};
      known[type] = units;
      result.set(name, known);
    }
  }
  return result;
}
