import { createCloudTpu } from '../../cloud/machines/cloud-tpu/google-tpu.js';
import type { MachinePlan, MachineRef } from '../../domain/machines.js';
import type { TestStack } from './test-stack.js';

/**
 * A resource that no workflow ever knew, as a restored backup would leave it.
 * @param owner of its label; absent: ours
 */
export async function plant(
  stack: TestStack,
  name: string,
  owner = stack.owner,
): Promise<{ readonly ref: MachineRef; remove(): Promise<void> }> {
  const [host = '', port] = stack.rehearsal.endpoints.tpu.split(':');
  const tpu = createCloudTpu({ endpoint: { host, port: Number(port), insecure: true } });
  const ref = {
    kind: 'cloud-tpu',
    googleProject: 'rehearsal',
    zone: 'us-west4-a',
    name,
    mode: 'queued-resources',
  } as const;
  const plan: MachinePlan = {
    ref,
    ownership: { owner, job: 'stranger', run: 'nobody-knows', generation: 1, spec: 'x' },
    accelerator: 'v5litepod-1',
    runtimeVersion: 'v2-alpha-tpuv5-lite',
    pricing: 'spot',
    externalIps: false,
    tags: [],
    labels: {},
    metadata: {},
  };
  const answer = await tpu.create(plan);
  if (answer.kind !== 'accepted') throw new Error(`planting ${name}: ${answer.kind}`);
  return {
    ref,
    remove: async () => {
      await tpu.remove(ref, plan.ownership);
      await tpu.close();
    },
  };
}
