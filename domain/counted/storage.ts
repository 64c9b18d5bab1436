import { isValidJobId } from '../identity.js';
import type { EpochMs } from '../units.js';
import { isIn, type Owner } from './report.js';

/** The fields by which stored bytes are grouped. `part`: logs, outputs .. */
export const STORAGE_GROUPINGS = ['project', 'user', 'pool', 'job', 'part'] as const;
export type StorageGrouping = (typeof STORAGE_GROUPINGS)[number];

/** Parts of a job's objects. `records`: the job file, set-up, ends, and whatever has no part of its own. */
type JobPart = 'logs' | 'outputs' | 'metrics' | 'records';
/**
 * Parts that are of no job: what submitters uploaded, by content, for any number of jobs; the installation's own objects; and
 * objects among those of jobs whose names no jobctl makes.
 */
type SharedPart = 'uploads' | 'installation' | 'foreign';

/** Object counts and bytes; `oldest` and `newest`: when an object of them was last written. */
export interface Stored {
  readonly objects: number;
  readonly bytes: number;
  readonly oldest: EpochMs;
  readonly newest: EpochMs;
}

export interface StorageRow extends Stored {
  readonly key: string;
  readonly jobs: number;
}

/** One listed object of the store. */
interface Listed {
  readonly name: string;
  /** Bytes. */
  readonly size: number;
  readonly updatedAt: EpochMs;
}

const UPLOADS = /^(?:bundles|files|uploads)\//;
const OF_JOB = /^jobs\/([^/]+)\/(?:(logs|outputs|metrics)\/)?/;

/** Stored bytes by job and part, summed up as objects are listed: memory for each job, not for each object. */
export class StorageSums {
  readonly #jobs = new Map<string, Map<JobPart, Stored>>();
  readonly #shared = new Map<SharedPart, Stored>();

  add(object: Listed): void {
    const [, job, part = 'records'] = OF_JOB.exec(object.name) ?? [];
    if (job === undefined || !isValidJobId(job)) {
      const shared = UPLOADS.test(object.name)
        ? 'uploads'
        : object.name.startsWith('jobs/')
          ? 'foreign'
          : 'installation';
      addTo(this.#shared, shared, ofObject(object));
      return;
    }
    const parts = this.#jobs.get(job) ?? new Map<JobPart, Stored>();
    this.#jobs.set(job, parts);
    addTo(parts, part as JobPart, ofObject(object));
  }

  get jobs(): readonly string[] {
    return [...this.#jobs.keys()];
  }

  /**
   * One row for each group, the largest first. What is of no job has rows of its own, unless `filter` names an owner.
   * @param ownerOf undefined: the store does not say whose job it was
   */
  rows(
    by: StorageGrouping,
    ownerOf: (job: string) => Owner | undefined,
    filter: Parameters<typeof isIn>[1] = {},
  ): readonly StorageRow[] {
    const rows = new Map<string, StorageRow>();
    // No name of a project or user, whatever it is, falls together with a row of its own kind.
    const add = (key: string, stored: Stored, jobs: number, kind = 'named'): void => {
      const id = `${kind} ${key}`;
      const before = rows.get(id);
      rows.set(id, { key, jobs: (before?.jobs ?? 0) + jobs, ...(before ? sum(before, stored) : stored) });
    };
    const isFiltered = Object.values(filter).some((value) => value !== undefined);
    for (const [job, parts] of this.#jobs) {
      const owner = ownerOf(job);
      if (isFiltered && (owner === undefined || !isIn(owner, filter))) continue;
      let isNew = true;
      for (const [part, stored] of parts) {
        const key = by === 'part' ? part : by === 'job' ? job : owner?.[by];
        add(key ?? UNKNOWN_OWNER, stored, by === 'part' || isNew ? 1 : 0, key === undefined ? 'special' : 'named');
        isNew = false;
      }
    }
    if (!isFiltered)
      for (const [part, stored] of this.#shared) add(by === 'part' ? part : `(${part})`, stored, 0, 'special');
    return [...rows.values()].toSorted((a, b) => b.bytes - a.bytes || (a.key < b.key ? -1 : 1));
  }
}

/** The row of jobs without a record of their owner. */
export const UNKNOWN_OWNER = '(unknown)';

const ofObject = ({ size, updatedAt }: Listed): Stored => ({
  ...{ objects: 1, bytes: size, oldest: updatedAt, newest: updatedAt },
});

function addTo<Key>(sums: Map<Key, Stored>, key: Key, stored: Stored): void {
  const before = sums.get(key);
  sums.set(key, before === undefined ? stored : sum(before, stored));
}

const sum = (a: Stored, b: Stored): Stored => ({
  objects: a.objects + b.objects,
  bytes: a.bytes + b.bytes,
  oldest: Math.min(a.oldest, b.oldest),
  newest: Math.max(a.newest, b.newest),
});

/** The sum of rows that share no object: all rows of one report but those by `part`, whose jobs stand in several rows. */
export function totalOf(rows: readonly StorageRow[]): Stored | undefined {
  const [first, ...rest] = rows;
  return first && rest.reduce<Stored>(sum, first);
}
