#!/bin/sh
# Once before the worker: the buckets of the rehearsed store, and what `jobctl setup server` does. Repeating is safe.
set -eu
node - <<'JS'
const { JOBCTL_STORE_ENDPOINT, JOBCTL_BUCKET, JOBCTL_SYSTEM_BUCKET, JOBCTL_GOOGLE_PROJECT } = process.env;
const CONFLICT = 409;
for (const name of [JOBCTL_BUCKET, JOBCTL_SYSTEM_BUCKET].filter(Boolean)) {
  const answer = await fetch(`${JOBCTL_STORE_ENDPOINT}/storage/v1/b?project=${JOBCTL_GOOGLE_PROJECT}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ name }),
  });
  if (!answer.ok && answer.status !== CONFLICT) throw new Error(`bucket ${name}: ${answer.status} ${await answer.text()}`);
}
JS
exec jobctl setup server
