import { createHash } from 'node:crypto';
import { createInterface } from 'node:readline';
import { createStore, ensureBucket } from '../../cloud/store/gcs.js';
import { listEverything } from '../../cloud/machines/cloud-tpu/audit.js';
import { createCloudTpu } from '../../cloud/machines/cloud-tpu/google-tpu.js';
import type { FileSource } from '../../domain/local-files.js';
import type { RehearsalEndpoints } from '../../rehearsal/index.js';
import { GOOGLE_PROJECT, slicePlan } from './cloud-tpu-plan.js';

// The adapters as a worker runs them: TLS trusted and credentials found by this process's environment alone, which must
// stand when it starts. One line of JSON `[verb, ...arguments]` in, one of `{value}` or `{name, message}` out.
const endpoints = JSON.parse(process.env['ENDPOINTS'] ?? '') as RehearsalEndpoints;
const [host = '', port = ''] = endpoints.tpu.split(':');
const tpu = createCloudTpu({ endpoint: { host, port: Number(port), insecure: false } });
const bucket = { endpoint: endpoints.store, bucket: 'clients', projectId: GOOGLE_PROJECT };
const store = createStore(bucket);

const absent = slicePlan('none', 'tpu-vm');
const plan = slicePlan('secured', 'queued-resources', { accelerator: 'v5litepod-8' });

const VERBS: Readonly<Record<string, (...given: string[]) => Promise<unknown>>> = {
  observe: () => tpu.observe(absent),
  create: () => tpu.create(plan),
  look: () => tpu.observe(plan),
  remove: () => tpu.remove(plan.ref, plan.ownership),
  makeBucket: () => ensureBucket(bucket),
  write: async (name = '', text = '') => (await store.write(name, text, 'absent')).kind,
  read: async (name = '') => (await store.read(name))?.toString(),
  upload: async (name = '', size = '') => store.upload(name, sourceOf(Buffer.alloc(Number(size), 'large '))),
  audit: () => listEverything({ restEndpoint: endpoints.rest, googleProject: GOOGLE_PROJECT }),
};

function sourceOf(content: Buffer): FileSource {
  const read = async function* (start: number): AsyncGenerator<Buffer> {
    yield content.subarray(start);
  };
  return { size: content.length, sha256: createHash('sha256').update(content).digest('hex'), read };
}

for await (const line of createInterface({ input: process.stdin })) {
  const [verb = '', ...given] = JSON.parse(line) as string[];
  const run = VERBS[verb] ?? (() => Promise.reject(new TypeError(`no verb '${verb}'`)));
  const answer = await run(...given).then(
    (value) => ({ value }),
    ({ name, message }: Error) => ({ name, message }),
  );
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
await tpu.close();
