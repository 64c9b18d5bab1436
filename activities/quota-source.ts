import { messageOf } from '../domain/errors.js';
import type { StorePort } from '../cloud/store/port.js';
import { formatProblems, shortened } from '../domain/problem.js';
import { appliedFileObject, lastGoodFilesObject } from '../domain/store-layout.js';
import { checkFiles, type CheckedFiles } from '../quota/files/pool-files.js';
import type { QuotaConfig } from '../quota/quota-config.js';
import { type AppliedFile, type ApplyCall, CHANGED_MEANWHILE, NO_FILE } from '../contract/quota.js';
import type { ApplyAnswer } from '../contract/quota-activities.js';
import {
  isSameApplied,
  type ReadFile,
  unlessSame,
  withFooter,
  withoutFooter,
  KINDS,
  type Kind,
  type PoolFileReader,
} from './operator-file.js';

export interface LoadedQuota {
  /** Absent if a file is wrong or cannot be read: the configuration in force stays. */
  readonly config?: QuotaConfig;
  /** The problem with the present files. */
  readonly problem?: string;
  /** Path or URL of the quota file, or the user who applied it; absent: there is none. */
  readonly source?: string;
  readonly warnings?: readonly string[];
  /** All zones that the pool file names, in its order. Absent: none. */
  readonly zones?: readonly string[];
  /** The Google project that the pool file names. */
  readonly googleProject?: string;
}

/** The source of a pool's quota. A wrong file is a problem to show, never a new configuration. */
export interface QuotaSource {
  /** Loads the present files. */
  load(pool: string): Promise<LoadedQuota>;
  /** The last good files that this worker has read, else those that a worker kept in the store. */
  lastGood(pool: string): Promise<LoadedQuota | undefined>;
  /** Loads the present files and, if one is wrong, the last good ones beside its problem; for jobs that are being accepted. */
  inForce(pool: string): Promise<LoadedQuota>;
  /** Puts files in force for a pool that has none configured; a refusal changes nothing. Repeating is safe. */
  applyFiles(pool: string, call: ApplyCall): Promise<ApplyAnswer>;
}

/** @param store holds the applied files, and the last good ones */
export function quotaSource(files: PoolFileReader, store: StorePort): QuotaSource {
  const lastGood = new Map<string, LoadedQuota>();
  const kept = new LastGoodFiles(store);
  const check: Check = unlessSame((pool, quotaFile, poolFile) => checkFiles({ quotaFile, poolFile }, pool));
  const load = async (pool: string): Promise<LoadedQuota> => {
    try {
      const read = await readFiles(files, pool);
      const loaded = judge(check, pool, read);
      if (loaded.config !== undefined) {
        lastGood.set(pool, loaded);
        kept.keep(pool, read);
      }
      return loaded;
    } catch (error) {
      return { problem: messageOf(error) };
    }
  };
  const lastGoodOf = async (pool: string): Promise<LoadedQuota | undefined> => {
    const own = lastGood.get(pool);
    if (own !== undefined) return own;
    const read = await kept.read(pool);
    const loaded = read && judge(check, pool, read);
    // If another version of jobctl kept them, they may be wrong by the rules of this one.
    if (loaded?.config === undefined) return undefined;
    lastGood.set(pool, loaded);
    return loaded;
  };
  return {
    load,
    lastGood: lastGoodOf,
    inForce: async (pool) => {
      const loaded = await load(pool);
      return loaded.config === undefined ? { ...(await lastGoodOf(pool)), ...loaded } : loaded;
    },
    applyFiles: async (pool, call) => {
      const answer = await applyFiles(files, store, pool, call);
      files.forget(pool);
      return answer;
    },
  };
}

type Check = (pool: string, quotaFile: ReadFile | undefined, poolFile: ReadFile | undefined) => CheckedFiles;

async function readFiles(files: PoolFileReader, pool: string): Promise<ReadFiles> {
  const [quotaFile, poolFile] = await Promise.all(KINDS.map((kind) => files.read(pool, kind)));
  return { quotaFile, poolFile };
}

function judge(check: Check, pool: string, { quotaFile, poolFile }: ReadFiles): LoadedQuota {
  const checked = check(pool, quotaFile, poolFile);
  const source =
    quotaFile && (quotaFile.appliedBy === undefined ? quotaFile.name : `applied by ${quotaFile.appliedBy}`);
  const named = source === undefined ? {} : { source };
  if (!checked.ok) return { ...named, problem: formatProblems(checked.problems) };
  const { config, warnings, defaults } = checked;
  const { listedZones: zones, googleProject } = defaults;
  return {
    ...named,
    config,
    ...(warnings.length > 0 && { warnings }),
    ...(zones && { zones }),
    ...(googleProject !== undefined && { googleProject }),
  };
}

async function applyFiles(
  files: PoolFileReader,
  store: StorePort,
  pool: string,
  call: ApplyCall,
): Promise<ApplyAnswer> {
  const given = { quota: call.quotaFile, pool: call.poolFile };
  const asked = KINDS.filter((kind) => given[kind] !== undefined);
  const refusal = asked.length === 0 ? 'neither a quota file nor a pool file was given' : whereElse(files, pool, asked);
  if (refusal !== undefined) return { isApplied: false, message: refusal };
  const [quotaFile, poolFile] = await Promise.all(KINDS.map(async (kind) => given[kind] ?? files.read(pool, kind)));
  const checked = checkFiles({ quotaFile, poolFile }, pool);
  if (!checked.ok) return { isApplied: false, message: formatProblems(checked.problems) };
  const writes = asked.flatMap((kind) => {
    const file = given[kind];
    return file === undefined ? [] : [new FileWrite(store, appliedFileObject(pool, kind), file, call.by)];
  });
  // Both are compared before one is written: half of a refused call would be in force.
  const stale = await firstOf(writes, (write) => write.isStale());
  const lost = stale ?? (await firstOf(writes, async (write) => !(await write.putInForce())));
  if (lost !== undefined) {
    const whose = await writes[lost]?.whose();
    return {
      isApplied: false,
      message: `the ${asked[lost]} file of pool ${pool} ${CHANGED_MEANWHILE}${whose ?? ''}: look at what is in force, and repeat`,
    };
  }
  const names = asked.map((kind) => given[kind]?.name).join(' and ');
  return {
    isApplied: true,
    message: shortened([`${names}: in force in pool ${pool}`, ...checked.warnings.map(warned)].join('\n')),
  };
}

const warned = (text: string): string => `warning: ${text}`;

/** Returns the problem of a file for which the configuration already names a place: two places would contradict each other. */
function whereElse(files: PoolFileReader, pool: string, asked: readonly Kind[]): string | undefined {
  const places = asked.flatMap((kind) => {
    const place = files.configured(pool, kind);
    return place === undefined ? [] : [`the ${kind} file of pool ${pool} is ${place}, by the worker's configuration`];
  });
  if (places.length === 0) return undefined;
  return `${places.join(', and ')}: change it there; it is read again by itself`;
}

/** The first index for which `look` resolves to true. One is looked at after the other. */
async function firstOf<T>(all: readonly T[], look: (one: T) => Promise<boolean>): Promise<number | undefined> {
  for (const [index, one] of all.entries()) if (await look(one)) return index;
  return undefined;
}

/** One file of a call, on its way into the store. */
class FileWrite {
  readonly #store: StorePort;
  readonly #object: string;
  readonly #content: string;
  /** Absent: whatever is there is replaced. */
  readonly #replaces: string | undefined;

  constructor(store: StorePort, object: string, { text, replaces }: AppliedFile, by: string) {
    this.#store = store;
    this.#object = object;
    this.#content = withFooter(text, by, new Date().toISOString());
    this.#replaces = replaces;
  }

  /** Whether another file is there than the one that this is to replace. */
  async isStale(): Promise<boolean> {
    if (this.#replaces === undefined || (await this.#present()) === this.#replaces) return false;
    return !(await this.#isThere());
  }

  /** False: another writer changed it in between. */
  async putInForce(): Promise<boolean> {
    const before = this.#replaces ?? (await this.#present());
    const expected = before === NO_FILE ? 'absent' : { generation: before };
    const { kind } = await this.#store.write(this.#object, this.#content, expected, 'text/plain');
    return kind === 'written' || this.#isThere();
  }

  /** Who applied the file that is there now, in words. */
  async whose(): Promise<string> {
    const found = await this.#store.read(this.#object);
    if (found === undefined) return ', and is not there any more';
    const { appliedBy, appliedAt } = withoutFooter(found.toString('utf8'));
    return appliedBy === undefined ? '' : ` by ${appliedBy}${appliedAt === undefined ? '' : `, at ${appliedAt}`}`;
  }

  async #present(): Promise<string> {
    return (await this.#store.stat(this.#object))?.generation ?? NO_FILE;
  }

  /** A call whose answer was lost is repeated, and then finds its own result, which has another time. */
  async #isThere(): Promise<boolean> {
    const found = await this.#store.read(this.#object);
    return found !== undefined && isSameApplied(found.toString('utf8'), this.#content);
  }
}

/** The two files of one pool; either may be missing. */
interface ReadFiles {
  readonly quotaFile?: ReadFile | undefined;
  readonly poolFile?: ReadFile | undefined;
}

/**
 * The last good files of each pool, in the bucket: for a pool whose workflow lost its memory while a file is wrong. `keep` is
 * called at each reading of good files, and `read` returns them. The two files are one object, since they are judged together.
 *
 * A failure to write is dropped: no call waits for it, nothing is decided by it, and the next reading tries again.
 */
class LastGoodFiles {
  readonly #store: StorePort;
  /** Content that this worker has written or found there, or is writing, by pool. */
  readonly #kept = new Map<string, string>();

  constructor(store: StorePort) {
    this.#store = store;
  }

  /** A pool without files has nothing to keep. */
  keep(pool: string, { quotaFile, poolFile }: ReadFiles): void {
    if (quotaFile === undefined && poolFile === undefined) return;
    const content = JSON.stringify({ quotaFile, poolFile });
    if (this.#kept.get(pool) === content) return;
    this.#kept.set(pool, content);
    this.#write(pool, content).catch(() => {
      if (this.#kept.get(pool) === content) this.#kept.delete(pool);
    });
  }

  /** Undefined: none were kept, or the object is not of this form. Rejects if the store does not answer. */
  async read(pool: string): Promise<ReadFiles | undefined> {
    const content = await this.#store.read(lastGoodFilesObject(pool));
    if (content === undefined) return undefined;
    try {
      return JSON.parse(content.toString('utf8')) as ReadFiles;
    } catch {
      return undefined;
    }
  }

  /** Each worker writes only content that is new to it, so two that read different files do not undo each other for ever. */
  async #write(pool: string, content: string): Promise<void> {
    const name = lastGoodFilesObject(pool);
    const before = await this.#store.stat(name);
    if (before !== undefined && (await this.#store.read(name))?.toString('utf8') === content) return;
    const expected = before === undefined ? ('absent' as const) : { generation: before.generation };
    const written = await this.#store.write(name, content, expected, 'application/json');
    if (written.kind !== 'written') throw new Error(`${name}: written by another worker meanwhile`);
  }
}
