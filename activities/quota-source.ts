import { messageOf } from '../domain/error-words.js';
import type { StorePort } from '../cloud/store/port.js';
import { formatProblems, shortened } from '../domain/problem.js';
import { appliedFileObject } from '../domain/store-layout.js';
import { checkFiles } from '../quota/files/pool-files.js';
import type { CheckedFiles } from '../quota/files/pool-files.js';
import type { QuotaConfig } from '../quota/quota-config.js';
import type { ApplyCall } from '../contract/quota.js';
import type { ApplyAnswer } from '../contract/quota-activities.js';
import { LastGoodFiles, type ReadFiles } from './last-good-files.js';
import { type ReadFile, unlessSame, withFooter } from './operator-file.js';
import { KINDS } from './pool-file-reader.js';
import type { Kind, PoolFileReader } from './pool-file-reader.js';

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
  for (const kind of asked) {
    const file = given[kind];
    if (file === undefined || (await putInForce(store, appliedFileObject(pool, kind), file.text, call.by))) continue;
    return {
      isApplied: false,
      message: `the ${kind} file of pool ${pool} was applied by somebody else meanwhile: look, and repeat`,
    };
  }
  const names = asked.map((kind) => given[kind]?.name).join(' and ');
  return {
    isApplied: true,
    message: shortened([`${names}: in force in pool ${pool}`, ...checked.warnings.map(warned)].join('\n')),
  };
}

const warned = (text: string): string => `warning: ${text}`;

/** Two places for the file in force would contradict each other. */
function whereElse(files: PoolFileReader, pool: string, asked: readonly Kind[]): string | undefined {
  const places = asked.flatMap((kind) => {
    const place = files.configured(pool, kind);
    return place === undefined ? [] : [`the ${kind} file of pool ${pool} is ${place}, by the worker's configuration`];
  });
  if (places.length === 0) return undefined;
  return `${places.join(', and ')}: change it there; it is read again by itself`;
}

/** False: another writer changed it in between. */
async function putInForce(store: StorePort, object: string, text: string, by: string): Promise<boolean> {
  const before = await store.stat(object);
  const expected = before === undefined ? 'absent' : { generation: before.generation };
  const content = withFooter(text, by, new Date().toISOString());
  if ((await store.write(object, content, expected, 'text/plain')).kind === 'written') return true;
  // A call whose first answer was lost is repeated inside, and then finds its own result.
  return (await store.read(object))?.toString('utf8') === content;
}
