import { storeErrors } from './store-error.js';

/** Conditions of a call on the object. Generation '0' stands for an object that does not exist. */
export interface Preconditions {
  readonly generation?: string;
  readonly notGeneration?: string;
  readonly metageneration?: string;
  readonly notMetageneration?: string;
}

/** The part of an object that preconditions check. */
type Versioned = Readonly<Record<'generation' | 'metageneration', string>>;

const FIELDS = [
  ['generation', 'GenerationMatch'],
  ['notGeneration', 'GenerationNotMatch'],
  ['metageneration', 'MetagenerationMatch'],
  ['notMetageneration', 'MetagenerationNotMatch'],
] as const;

/** Throws StoreError 400. */
export function readPreconditions(query: URLSearchParams, prefix: 'if' | 'ifSource' = 'if'): Preconditions {
  return preconditionsOf((name) => query.get(`${prefix}${name}`) ?? undefined);
}

/** @param given returns a condition's value by its JSON API name without `if`: a number, a text, or undefined */
export function preconditionsOf(given: (name: (typeof FIELDS)[number][1]) => unknown): Preconditions {
  return Object.fromEntries(
    FIELDS.flatMap(([field, name]) => {
      const value = given(name);
      // The Python client sends null for conditions that it does not set.
      if (value === undefined || value === null) return [];
      const text = typeof value === 'number' || typeof value === 'string' ? String(value) : '';
      if (!/^\d{1,20}$/.test(text)) throw storeErrors.invalidValue(`if${name}`, text);
      return [[field, String(BigInt(text))]];
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

/** Checks the conditions of a read. A `Not` condition that fails means that the reader has the newest version (304). */
export function checkReadPreconditions(object: Versioned, wanted: Preconditions): void {
  const hasNewest = wanted.notGeneration === object.generation || wanted.notMetageneration === object.metageneration;
  if (hasNewest) throw storeErrors.notModified();
  checkPreconditions(object, wanted);
}

/** A bucket has only metagenerations. Throws StoreError 412. */
export function checkBucketPreconditions(resource: Readonly<Record<string, unknown>>, wanted: Preconditions): void {
  const { metageneration, notMetageneration } = wanted;
  const found = String(resource['metageneration']);
  const holds = (metageneration ?? found) === found && notMetageneration !== found;
  if (!holds) throw storeErrors.preconditionFailed();
}
