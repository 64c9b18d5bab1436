#!/bin/sh
# Once before the worker: the bucket of the rehearsed store, and what `jobctl setup server` does. Repeating is safe.
set -eu
node - <<'JS'
const { JOBCTL_STORE_ENDPOINT, JOBCTL_BUCKET, JOBCTL_GOOGLE_PROJECT } = process.env;
const answer = await fetch(`${JOBCTL_STORE_ENDPOINT}/storage/v1/b?project=${JOBCTL_GOOGLE_PROJECT}`, {
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ name: JOBCTL_BUCKET }),
});
const CONFLICT = 409;
if (!answer.ok && answer.status !== CONFLICT) throw new Error(`bucket ${JOBCTL_BUCKET}: ${answer.status} ${await answer.text()}`);
JS
exec jobctl setup server
