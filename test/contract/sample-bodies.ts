import type { BodySent, OperationName } from '../../contract/operations.js';

type OperationWithBody = {
  [Name in OperationName]: [BodySent<Name>] extends [undefined] ? never : Name;
}[OperationName];

const from = 'wks-12';
const HEX = 'a'.repeat(64);
const FILES = { quotaFile: { name: 'q', text: '' }, poolFile: { name: 'p', text: '' } };
const edit = {
  ...{ from, set: [{ path: ['env', 'A'], value: '1' }], source: 'env: {A: 1}' },
  ...{ files: { a: HEX }, identityKeys: { k: `SHA256:${'a'.repeat(43)}` } },
};

/**
 * A body of each operation that takes one, and of the right form. Of a request to a job it has each key, but for `verb`, which
 * cancels have, and a whole file (test/server/job-text.test.ts). The compiler asks for the row of a new operation.
 */
export const SAMPLE_BODIES = {
  submit: {
    job: { project: 'vision', tpu: { accelerator: 'v5litepod-1', zone: 'us-central1-a' }, command: { run: 'true' } },
  },
  cancel: { from, verb: 'delete' },
  stop: { from, release: true },
  resume: edit,
  restart: { ...edit, replace: [1] },
  requeue: { from, zone: 'us-east5-a' },
  setUp: { from, modules: ['venv'], force: true },
  cancelGroup: { from, verb: 'cancel' },
  pageSession: { code: HEX },
  beginLogin: { issuer: 'https://login.example.org', challenge: HEX.slice(0, 43), state: HEX, nonce: HEX },
  endLogin: { issuer: 'https://login.example.org', code: 'c', iss: 'i', verifier: HEX, nonce: HEX },
  retryGroup: { from },
  beginGroup: { from },
  stopGroup: { from, release: true },
  resumeGroup: { from },
  groupPriority: { priority: 3 },
  createSchedule: {
    job: { project: 'vision', tpu: { accelerator: 'v5litepod-1', zone: 'us-central1-a' }, command: { run: 'true' } },
    ...{ name: 'nightly', cron: '30 2 * * *', timeZone: 'America/New_York', overlap: 'skip' },
  },
  pauseSchedule: { reason: 'tonight' },
  priority: { priority: 3 },
  uploads: { files: [{ path: 'a', sha256: HEX, size: 1 }] },
  completeUpload: { path: 'a', sha256: HEX, upload: HEX.slice(32) },
  quotaPlan: FILES,
  quotaApply: FILES,
  admission: { admission: 'frozen', reason: 'tonight' },
  changeMachines: { verb: 'drain', names: ['box-1'], reason: 'tonight' },
  quotaRelease: { job: 'a-1', because: 'it is off' },
} satisfies { readonly [Name in OperationWithBody]: NonNullable<BodySent<Name>> };
