import { createCloudTpu } from '../../cloud/machines/cloud-tpu/google-tpu.js';
import type { AllocationMode } from '../../domain/machine-kinds/cloud-tpu/words.js';
import { GOOGLE_PROJECT, ownership, slicePlan, ZONE } from './cloud-tpu-plan.js';
import { exerciseMachines, type MachinesUnderTest } from './machines-conformance.js';
import { startRehearsedCloud } from './rehearsed-cloud.js';

const MODES: readonly AllocationMode[] = ['queued-resources', 'tpu-vm'];

interface CloudTpuPlace {
  readonly googleProject: string;
  readonly zone: string;
  readonly accelerator: string;
  readonly hosts: number;
  readonly owner: string;
}

/** What to ask Cloud TPU for in one place. */
function plansIn({ googleProject, zone, accelerator, hosts, owner }: CloudTpuPlace) {
  const plan: MachinesUnderTest<'cloud-tpu'>['plan'] = (name, mode) =>
    slicePlan(name, mode as AllocationMode, {
      ref: { kind: 'cloud-tpu', googleProject, zone, name: `${owner}-${name}`, mode: mode as AllocationMode },
      accelerator,
      ownership: ownership({ owner }),
    });
  const badPlan: typeof plan = (name, mode) => ({ ...plan(name, mode), accelerator: 'v99-1' });
  return { plan, badPlan, account: googleProject, owner, hosts, uid: /^\d+$/ };
}

exerciseMachines('the rehearsed Cloud TPU', MODES, async (): Promise<MachinesUnderTest<'cloud-tpu'>> => {
  const cloud = await startRehearsedCloud();
  const place = { googleProject: GOOGLE_PROJECT, zone: ZONE, accelerator: 'v5litepod-16', hosts: 4, owner: 'own-1' };
  return { port: cloud.tpuPort(), ...plansIn(place), deadlineMs: 15_000, close: () => cloud.stop() };
});

/** Costs money: the real Cloud TPU, with the application default credentials. Run by hand: docs/runs.md. */
const realProject = process.env['JOBCTL_TEST_GCP_PROJECT'];
if (realProject !== undefined) {
  const place = {
    googleProject: realProject,
    zone: process.env['JOBCTL_TEST_GCP_ZONE'] ?? ZONE,
    ...{ accelerator: 'v5litepod-1', hosts: 1, owner: `test-${Date.now().toString(36)}` },
  };
  exerciseMachines(`Google project ${realProject}`, MODES, async (): Promise<MachinesUnderTest<'cloud-tpu'>> => {
    const port = createCloudTpu();
    return { port, ...plansIn(place), deadlineMs: 30 * 60_000, close: () => port.close() };
  });
}
