import type { StoreReader } from '../cloud/store/port.js';
import { MOST_HOSTS } from '../domain/slice.js';
import type { HostStacks } from '../domain/stacks/stack.js';
import { parseStacks } from '../domain/stacks/text.js';
import { STACKS_STREAM } from '../domain/store-layout.js';
import { JobLogReader, storedAttempts } from './job-logs.js';

/** Most bytes that are read of one host, and of all hosts: hosts may write to the store too. */
const MOST_BYTES = 4 * 1024 * 1024;
const MOST_ALL_BYTES = 256 * 1024 * 1024;

export interface StoredStacks {
  readonly attempt: number;
  /** Sorted by host number. */
  readonly hosts: readonly HostStacks[];
}

/** Stacks that were stored before a command was ended for its silence. @param asked an attempt; absent: the last that has some */
export async function storedStacks(
  store: StoreReader,
  job: string,
  asked: number | undefined,
): Promise<StoredStacks | undefined> {
  const attempt = asked ?? (await storedAttempts(store, job, STACKS_STREAM)).at(-1);
  if (attempt === undefined) return undefined;
  const texts = new Map<number, Buffer[]>();
  let all = 0;
  const reader = new JobLogReader(store, job, { attempt, stream: STACKS_STREAM, mostHosts: MOST_HOSTS });
  for await (const { host, bytes } of reader.unread()) {
    const chunks = texts.get(host) ?? [];
    const had = chunks.reduce((sum, { length }) => sum + length, 0);
    all += bytes.length;
    if (all > MOST_ALL_BYTES) break;
    texts.set(host, [...chunks, bytes.subarray(0, Math.max(0, MOST_BYTES - had))]);
  }
  if (texts.size === 0) return undefined;
  const hosts = [...texts].toSorted(([a], [b]) => a - b);
  return { attempt, hosts: hosts.map(([host, chunks]) => parseStacks(Buffer.concat(chunks).toString(), host)) };
}
