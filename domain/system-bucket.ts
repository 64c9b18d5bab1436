const WHAT_TO_DO =
  'make a second one (jobctl setup server --bucket BUCKET --system-bucket NAME) and name it here: docs/security.md, "Separate what decides"';

/** The problem of `store.systemBucket` in verified mode (docs/adr/0082), or undefined if it is a second bucket. */
export function systemBucketProblem(bucket: string, systemBucket: string | undefined): string | undefined {
  if (systemBucket === undefined)
    return `is missing, and in verified mode hosts must not be able to write what decides: ${WHAT_TO_DO}`;
  return systemBucket === bucket
    ? `'${systemBucket}' is the job bucket too, which hosts write: ${WHAT_TO_DO}`
    : undefined;
}
