import { exerciseTpuPort, type TpuUnderTest } from './tpu-conformance.js';
import { createTpuPort } from '../../cloud/tpu/google-tpu.js';
import { startRehearsedCloud } from './rehearsed-cloud.js';
import { GOOGLE_PROJECT, ZONE } from './slice-plan.js';

exerciseTpuPort('the rehearsal', async (): Promise<TpuUnderTest> => {
  const cloud = await startRehearsedCloud(101);
  return {
    port: cloud.tpuPort(),
    googleProject: GOOGLE_PROJECT,
    zone: ZONE,
    accelerator: 'v5litepod-16',
    hosts: 4,
    owner: 'own-1',
    deadlineMs: 15_000,
    close: () => cloud.stop(),
  };
});

/** Costs money: the real Cloud TPU, with the application default credentials. Run by hand: docs/runs.md. */
const realProject = process.env['JOBCTL_TEST_GCP_PROJECT'];
if (realProject !== undefined) {
  exerciseTpuPort(`Google project ${realProject}`, async (): Promise<TpuUnderTest> => {
    const port = createTpuPort();
    return {
      port,
      googleProject: realProject,
      zone: process.env['JOBCTL_TEST_GCP_ZONE'] ?? ZONE,
      accelerator: 'v5litepod-1',
      hosts: 1,
      owner: `test-${Date.now().toString(36)}`,
      deadlineMs: 30 * 60_000,
      close: () => port.close(),
    };
  });
}
