const WHAT_TO_DO =
  'make a second one (jobctl setup server --bucket BUCKET --system-bucket NAME) and name it here: docs/security.md, "Separate what decides"';

/** Of verified mode without `store.systemBucket` (docs/adr/0082). */
export const SYSTEM_BUCKET_MISSING = `is missing, and in verified mode hosts must not be able to write what decides: ${WHAT_TO_DO}`;

/** Why a second bucket is none; undefined: it is one. */
export const systemBucketProblem = (bucket: string, systemBucket: string): string | undefined =>
  systemBucket === bucket ? `'${systemBucket}' is the job bucket too, which hosts write: ${WHAT_TO_DO}` : undefined;
