import { messageOf } from '../domain/errors.js';
import type { PoolDefaults } from '../domain/job-file/pool-defaults.js';
import type { OwnMachine } from '../domain/machine-kinds/machines/words.js';
import { formatProblems, type Problem } from '../domain/problem.js';
import { type AccessRules, NO_ACCESS_RULES } from '../quota/membership.js';
import { parsePoolFile, type ParsedPoolFile } from '../quota/files/pool-file.js';
import type { PoolChoices } from '../quota/allowed.js';
import type { PoolLimits } from '../quota/quota-config.js';
import { nearestWord } from '../domain/nearest-word.js';
import { type ReadFile, unlessSame, type PoolFileReader } from './operator-file.js';

export interface LoadedPool {
  /** Defaults of the last good file; absent: none was ever read. */
  readonly defaults?: PoolDefaults;
  /** Own machines of the last good file. */
  readonly machines?: readonly OwnMachine[];
  /** Access rules of the last good file. */
  readonly access?: AccessRules;
  /** Choices that the last good file allows to jobs. Absent: there is no file. */
  readonly choices?: PoolChoices;
  readonly limits?: PoolLimits;
  /** The problem with the present file. */
  readonly problem?: string;
}

/** The source of a pool's defaults. They are read for each job, since a file may change at any time. */
export interface PoolSource {
  load(pool: string): Promise<LoadedPool>;
  /** The problem with a job's `pool`; undefined: the pool exists (docs/adr/0087). Rejects if that cannot be known now. */
  unknown(pool: string): Promise<Problem | undefined>;
  /** Names of all pools. Rejects like `unknown`. */
  names(): Promise<readonly string[]>;
}

/**
 * The pool file of each pool; a pool without one has no defaults. A file that went wrong changes nothing: the last good file of
 * this process stays in force.
 * @param rehearsed machines of pools whose file names none
 */
export function poolSource(files: PoolFileReader, rehearsed: RehearsedMachines = new Map()): PoolSource {
  const lastGood = new Map<string, LoadedPool>();
  const parse: Parse = unlessSame((pool, { text, name }) => parsePoolFile(text, name, pool));
  return {
    load: async (pool) => {
      const read = orRehearsed(await readDefaults(files, pool, parse), rehearsed.get(pool));
      if (read.problem === undefined) lastGood.set(pool, read);
      // A limit of the previous file does not apply to this one.
      return read.problem === undefined ? read : { ...lastGood.get(pool), ...read };
    },
    names: () => files.pools(),
    unknown: async (pool) => ((await files.exists(pool)) ? undefined : unknownPool(pool, await files.pools())),
  };
}

/** Machines of the local stack's rehearsal, keyed by pool. */
type RehearsedMachines = ReadonlyMap<string, readonly OwnMachine[]>;

const orRehearsed = (read: LoadedPool, rehearsed: readonly OwnMachine[] | undefined): LoadedPool =>
  read.machines?.length === 0 && rehearsed !== undefined ? { ...read, machines: rehearsed } : read;

type Parse = (pool: string, file: ReadFile) => ParsedPoolFile;

async function readDefaults(files: PoolFileReader, pool: string, parse: Parse): Promise<LoadedPool> {
  try {
    const file = await files.read(pool, 'pool');
    if (file === undefined) return { defaults: { pool }, machines: [], access: NO_ACCESS_RULES };
    const parsed = parse(pool, file);
    if (!parsed.ok) return { problem: formatProblems(parsed.problems) };
    const { defaults, machines, access, choices, limits } = parsed;
    return { defaults, machines, access, choices, ...(limits && { limits }) };
  } catch (error) {
    return { problem: messageOf(error) };
  }
}

/** @throws Error if no good file was ever read: then the pool's machines are not known */
export function machinesOfPool({ machines, problem }: LoadedPool): readonly OwnMachine[] {
  if (machines !== undefined) return machines;
  throw new Error(`the pool file cannot be used: ${problem ?? 'it was never read'}`);
}

/** Limit of names that a message shows, since a list of all could be long. */
const MOST_SHOWN = 20;

/** The problem of a job whose pool is not configured. @param pools the configured pools */
export function unknownPool(pool: string, pools: readonly string[]): Problem {
  const shown = pools.slice(0, MOST_SHOWN).join(', ');
  const more = pools.length > MOST_SHOWN ? ` and ${pools.length - MOST_SHOWN} more` : '';
  const nearest = nearestPool(pool, pools);
  const hints = [
    ...(nearest === undefined ? [] : [`did you mean ${nearest}?`]),
    'name one of them, or ask an operator to name the pool in the configuration of workers and servers (docs/pool-file.md)',
  ];
  return {
    path: ['pool'],
    value: pool,
    message: `there is no pool '${pool}'; the pools are ${shown}${more}`,
    hint: hints.join('\n'),
  };
}

/** Prefers a name that differs only by case: it is another pool, and most likely the one that was meant. */
const nearestPool = (pool: string, pools: readonly string[]): string | undefined =>
  pools.find((each) => each.toLowerCase() === pool.toLowerCase()) ?? nearestWord(pool, pools);
