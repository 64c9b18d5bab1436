import { readFile } from 'node:fs/promises';
import type { PoolDefaults } from '../domain/job-file/pool-defaults.js';
import { formatProblems } from '../domain/problem.js';
import { parsePoolFile } from '../quota/pool-file.js';
import { messageOf } from './failures.js';

export interface LoadedPool {
  /** Of the last good file; absent: none was ever read. */
  readonly defaults?: PoolDefaults;
  /** What is wrong with the file as it is now. */
  readonly problem?: string;
}

/** Where the defaults of a pool come from; read for each job, since a file may change at any time. */
export interface PoolSource {
  load(pool: string): Promise<LoadedPool>;
}

/**
 * The pool file of one pool at a path; every other pool, and this one where no path is configured, has no defaults. A file
 * that went wrong changes nothing: the last good one of this process stays in force.
 */
export function poolFileSource(pool: string, path: string | undefined): PoolSource {
  let lastGood: PoolDefaults | undefined;
  return {
    load: async (asked) => {
      if (path === undefined || asked !== pool) return { defaults: { pool: asked } };
      const read = await readPoolFile(path, pool);
      lastGood = read.defaults ?? lastGood;
      return { ...read, ...(lastGood && { defaults: lastGood }) };
    },
  };
}

async function readPoolFile(path: string, pool: string): Promise<LoadedPool> {
  try {
    const parsed = parsePoolFile(await readFile(path, 'utf8'), path, pool);
    return parsed.ok ? { defaults: parsed.defaults } : { problem: formatProblems(parsed.problems) };
  } catch (error) {
    return { problem: `${path}: the pool file cannot be read: ${messageOf(error)}` };
  }
}
