import { randomBytes } from 'node:crypto';
import type { StorePort } from '../cloud/store/port.js';
import { ownerObject } from '../domain/store-layout.js';

const OWNER_BYTES = 6;

export interface InstallationOwner {
  /** 12 hexadecimal digits. */
  readonly id: string;
  readonly isNew: boolean;
}

/**
 * The random id that every resource of this installation carries (DESIGN.md 2), kept in the job bucket. Made once; two that
 * make it at the same time get the same one.
 */
export async function ensureOwner(store: StorePort): Promise<InstallationOwner> {
  const before = await store.read(ownerObject);
  if (before !== undefined) return { id: textOf(before), isNew: false };
  const id = randomBytes(OWNER_BYTES).toString('hex');
  const { kind } = await store.write(ownerObject, id, 'absent', 'text/plain');
  if (kind === 'written') return { id, isNew: true };
  const other = await store.read(ownerObject);
  if (other === undefined)
    throw new Error(`${ownerObject} in bucket ${store.bucket}: was removed while it was being made`);
  return { id: textOf(other), isNew: false };
}

const textOf = (bytes: Buffer): string => bytes.toString('utf8').trim();
