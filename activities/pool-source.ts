import { messageOf } from '../domain/error-words.js';
import type { PoolDefaults } from '../domain/job-file/pool-defaults.js';
import type { OwnMachine } from '../domain/machine-kinds/machines/words.js';
import { formatProblems, type Problem } from '../domain/problem.js';
import { type AccessRules, NO_ACCESS_RULES } from '../quota/access-roles.js';
import { parsePoolFile } from '../quota/files/pool-file.js';
import type { ParsedPoolFile } from '../quota/files/pool-file.js';
import type { PoolChoices } from '../quota/allow/allowed.js';
import type { PoolLimits } from '../quota/pool-limits.js';
import { unknownPool } from '../quota/pool-names.js';
import { type ReadFile, unlessSame } from './operator-file.js';
import type { PoolFileReader } from './pool-file-reader.js';

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
 */
export function poolSource(files: PoolFileReader): PoolSource {
  const lastGood = new Map<string, LoadedPool>();
  const parse: Parse = unlessSame((pool, { text, name }) => parsePoolFile(text, name, pool));
  return {
    load: async (pool) => {
      const read = await readDefaults(files, pool, parse);
      if (read.problem === undefined) lastGood.set(pool, read);
      // A limit of the previous file does not apply to this one.
      return read.problem === undefined ? read : { ...lastGood.get(pool), ...read };
    },
    names: () => files.pools(),
    unknown: async (pool) => ((await files.exists(pool)) ? undefined : unknownPool(pool, await files.pools())),
  };
}

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
