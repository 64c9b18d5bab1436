import { createHash } from 'node:crypto';
import type { StorePort } from '../cloud/store/port.js';
import { poolBookObject, poolHistoryObject } from '../domain/store-layout.js';
import type { BookPart, HistoryPart } from '../contract/quota-activities.js';

/** The same lines always get the same name, so an existing object already has them. */
export async function writeHistory(store: StorePort, { pool, day, name, lines }: HistoryPart): Promise<void> {
  const text = lines.map((line) => `${line}\n`).join('');
  await store.write(poolHistoryObject(pool, day, name), text, 'absent', 'application/x-ndjson');
}

/** Stored with its hash, so that a part of another book is not taken for this one. */
export async function keepBook(store: StorePort, { pool, name, text }: BookPart & { text: string }): Promise<void> {
  await store.replace(poolBookObject(pool, name), `${hashOf(text)}\n${text}`, 'application/json');
}

/** Undefined: it does not exist, or is not whole. */
export async function readBook(store: StorePort, { pool, name }: BookPart): Promise<string | undefined> {
  const content = (await store.read(poolBookObject(pool, name)))?.toString('utf8');
  if (content === undefined) return undefined;
  const lineEnd = content.indexOf('\n');
  const text = content.slice(lineEnd + 1);
  return content.slice(0, lineEnd) === hashOf(text) ? text : undefined;
}

const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex');
