import { storeErrors } from './store-error.js';

/** What a call wants the object to be. Generation '0' stands for an object that does not exist. */
export interface Preconditions {
  readonly generation?: string;
  readonly notGeneration?: string;
  readonly metageneration?: string;
  readonly notMetageneration?: string;
}

/** The part of an object that preconditions look at. */
type Versioned = Readonly<Record<'generation' | 'metageneration', string>>;

export function readPreconditions(query: URLSearchParams, prefix: 'if' | 'ifSource' = 'if'): Preconditions {
  const fields = [
    ['generation', 'GenerationMatch'],
    ['notGeneration', 'GenerationNotMatch'],
    ['metageneration', 'MetagenerationMatch'],
    ['notMetageneration', 'MetagenerationNotMatch'],
  ] as const;
  return Object.fromEntries(
    fields.flatMap(([field, parameter]) => {
      const value = query.get(`${prefix}${parameter}`);
      if (value === null) return [];
      if (!/^\d+$/.test(value)) throw storeErrors.invalid(`${prefix}${parameter}=${value} is not a number`);
      return [[field, value]];
    }),
  );
}

/** Throws StoreError 412. */
export function checkPreconditions(object: Versioned | undefined, wanted: Preconditions): void {
  const generation = object?.generation ?? '0';
  const metageneration = object?.metageneration ?? '0';
  const holds =
    (wanted.generation === undefined || wanted.generation === generation) &&
    (wanted.notGeneration === undefined || wanted.notGeneration !== generation) &&
    (wanted.metageneration === undefined || wanted.metageneration === metageneration) &&
    (wanted.notMetageneration === undefined || wanted.notMetageneration !== metageneration);
  if (!holds) throw storeErrors.preconditionFailed();
}

/** The same for a read: a `Not` condition that fails means that the reader has the newest (304). */
export function checkReadPreconditions(object: Versioned, wanted: Preconditions): void {
  const hasNewest = wanted.notGeneration === object.generation || wanted.notMetageneration === object.metageneration;
  if (hasNewest) throw storeErrors.notModified();
  checkPreconditions(object, wanted);
}
