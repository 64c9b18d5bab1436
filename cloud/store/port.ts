export interface StoredObject {
  readonly name: string;
  /** Bytes. */
  readonly size: number;
  readonly generation: string;
  readonly updatedAt: number;
}

/** The generation a write expects: `absent` (must not exist) or the one that was read. */
export type Expected = 'absent' | { readonly generation: string };

/**
 * One bucket of an object store. Every write carries a precondition (DESIGN.md 5). Rejects with `StoreUnavailable`
 * (repeat) or `StoreRefused` (credentials, no such bucket).
 */
export interface StorePort {
  readonly bucket: string;
  /** `conflict`: the object is not at the expected generation; nothing was written. A repeated call whose first answer was lost may say so too. */
  write(
    name: string,
    content: Uint8Array | string,
    expected: Expected,
    contentType?: string,
  ): Promise<{ readonly kind: 'written'; readonly generation: string } | { readonly kind: 'conflict' }>;
  /** Writes whatever is there now, by reading its generation first; for objects with one writer. */
  replace(name: string, content: Uint8Array | string, contentType?: string): Promise<void>;
  read(name: string, range?: { readonly start: number; readonly end?: number }): Promise<Buffer | undefined>;
  stat(name: string): Promise<StoredObject | undefined>;
  /** All objects with the prefix, in byte order of their names; pages are joined. `startOffset`: names from this one on. */
  list(prefix: string, startOffset?: string): Promise<readonly StoredObject[]>;
  remove(name: string): Promise<void>;
}

export class StoreUnavailable extends Error {
  override readonly name = 'StoreUnavailable';
}
export class StoreRefused extends Error {
  override readonly name = 'StoreRefused';
}
