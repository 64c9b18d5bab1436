import { createTpuPort } from '../../cloud/tpu/google-tpu.js';
import type { SlicePlan } from '../../domain/slice.js';
import type { TestStack } from './test-stack.js';

/** A resource that carries our owner's label and that no workflow ever knew, as a restored backup would leave it. */
export async function plant(stack: TestStack, name: string): Promise<{ remove(): Promise<void> }> {
  const [host = '', port] = stack.rehearsal.endpoints.tpu.split(':');
  const tpu = createTpuPort({ endpoint: { host, port: Number(port), insecure: true } });
  const ref = { googleProject: 'rehearsal', zone: 'us-west4-a', name, mode: 'queued-resources' } as const;
  const plan: SlicePlan = {
    ref,
    ownership: { owner: stack.owner, job: 'stranger', run: 'nobody-knows', generation: 1, spec: 'x' },
    accelerator: 'v5litepod-1',
    runtimeVersion: 'v2-alpha-tpuv5-lite',
    pricing: 'spot',
    externalIps: false,
    tags: [],
    labels: {},
    metadata: {},
  };
  const answer = await tpu.createSlice(plan);
  if (answer.kind !== 'accepted') throw new Error(`planting ${name}: ${answer.kind}`);
  return {
    remove: async () => {
      await tpu.deleteSlice(ref);
      await tpu.close();
    },
  };
}
