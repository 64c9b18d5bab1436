import { readFile } from 'node:fs/promises';
import { formatProblems } from '../domain/problem.js';
import { type QuotaConfig, UNLIMITED } from '../quota/quota-config.js';
import { messageOf } from './failures.js';
import { parseQuotaFile } from '../quota/quota-file.js';

export interface LoadedQuota {
  readonly config?: QuotaConfig;
  readonly problem?: string;
}

/** Where a pool's quota file is read from. A file that is wrong is a problem to show, never a new configuration. */
export interface QuotaSource {
  load(pool: string): Promise<LoadedQuota>;
}

/** The quota file of one pool at a path; every other pool, and this one where no path is configured, is unlimited. */
export function quotaFileSource(pool: string, path: string | undefined): QuotaSource {
  return {
    load: async (asked) => {
      if (path === undefined || asked !== pool) return { config: UNLIMITED };
      try {
        const parsed = parseQuotaFile(await readFile(path, 'utf8'), path);
        return parsed.ok ? { config: parsed.config } : { problem: formatProblems(parsed.problems) };
      } catch (error) {
        return {
          problem: `${path}: the quota file cannot be read: ${messageOf(error)}`,
        };
      }
    },
  };
}
