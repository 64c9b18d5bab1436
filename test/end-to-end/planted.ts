import { createCloudTpu } from '../../cloud/machines/cloud-tpu/google-tpu.js';
import type { MachineRef } from '../../domain/machines.js';
import { ownership, slicePlan, ZONE } from '../cloud/cloud-tpu-plan.js';
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
  const plan = slicePlan(name, 'queued-resources', {
    ref: { kind: 'cloud-tpu', googleProject: 'rehearsal', zone: ZONE, name, mode: 'queued-resources' },
    ownership: ownership({ owner, job: 'stranger', run: 'nobody-knows' }),
    accelerator: 'v5litepod-1',
  });
  const answer = await tpu.create(plan);
  if (answer.kind !== 'accepted') throw new Error(`planting ${name}: ${answer.kind}`);
  return {
    ref: plan.ref,
    remove: async () => {
      await tpu.remove(plan.ref, plan.ownership);
      await tpu.close();
    },
  };
}
