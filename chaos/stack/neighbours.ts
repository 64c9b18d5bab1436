import type { Draws } from '../random.js';
import type { DrawnJob } from './jobs.js';
import { GOOGLE_PROJECT } from './private-stack.js';
import { VM_TYPE, ZONES } from './sections.js';
import type { Stage } from './stage.js';

/**
 * Plants nodes that are not jobctl's, under the names that slices of these jobs will get. Some have no labels. The others, in
 * both zones, carry the owner of another installation, with the same names of jobs.
 */
export async function plantForeign(stage: Stage, draws: Draws): Promise<void> {
  const [one, other] = [draws.pick(stage.jobs), draws.pick(stage.jobs)] as readonly [DrawnJob, DrawnJob];
  const theirs = (job: string, generation: string): object => ({
    ...{ 'jobctl-owner': 'f00df00df00d', 'jobctl-job': job, 'jobctl-run': 'theirs', 'jobctl-generation': generation },
  });
  const [zone, otherZone] = ZONES;
  const planted: readonly (readonly [zone: string, name: string, labels: object])[] = [
    [zone, `jc-${one.id}`, {}],
    [zone, `jc-${other.id}-g1`, {}],
    [zone, `jc-${one.id}-g2`, theirs(one.id, '2')],
    [otherZone, `jc-${other.id}-g1`, theirs(other.id, '1')],
  ];
  for (const each of planted) await plant(stage, each);
  for (const job of stage.jobs.filter(({ file }) => 'compute_engine' in file).slice(0, 2)) await plantVms(stage, job);
  for (const job of stage.jobs.filter(({ file }) => 'kubernetes' in file).slice(0, 2)) await plantInCluster(stage, job);
}

/** Plants a ConfigMap without labels, and one of another owner, under the names that two slices of pods will get. */
async function plantInCluster(stage: Stage, { id }: DrawnJob): Promise<void> {
  const owned = { 'jobctl-owner': 'f00df00df00d', 'jobctl-job': id, 'jobctl-run': 'theirs', 'jobctl-generation': '2' };
  for (const [name, labels] of [
    [`jc-${id}-g1`, {}],
    [`jc-${id}-g2`, owned],
  ] as const) {
    await stage.stack.pods.makeConfigMap(name, labels);
    stage.note('foreign', `somebody else has a ConfigMap ${name}`, { resource: `configmaps/${name}` });
  }
}

/** Plants a VM without labels, and one of another installation, under the names that VMs of two slices will get. */
async function plantVms(stage: Stage, { id, hosts }: DrawnJob): Promise<void> {
  const [zone, otherZone] = ZONES;
  const labels = { 'jobctl-owner': 'f00df00df00d', 'jobctl-job': id, 'jobctl-run': 'theirs', 'jobctl-generation': '2' };
  const nameOf = (generation: number): string => `jc-${id}-g${generation}${hosts === 1 ? '' : '-0'}`;
  for (const [place, name, of] of [
    [zone, nameOf(1), {}],
    [otherZone, nameOf(2), labels],
  ] as const) {
    const url = `${stage.stack.restUrl}/compute/v1/projects/${GOOGLE_PROJECT}/zones/${place}/instances`;
    const machineType = `zones/${place}/machineTypes/${VM_TYPE}`;
    const scheduling = { onHostMaintenance: 'TERMINATE' };
    await post(url, { name, machineType, labels: of, scheduling }, `planting ${name}`);
    stage.note('foreign', `somebody else has a VM ${name} in ${place}`, { resource: `${place}/instances/${name}` });
  }
}

async function post(url: string, body: object, doing: string): Promise<void> {
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
  if (!response.ok) throw new Error(`${doing}: ${response.status} ${await response.text()}`);
}

async function plant(
  stage: Stage,
  [zone, name, labels]: readonly [zone: string, name: string, labels: object],
): Promise<void> {
  const path = `/v2/projects/${GOOGLE_PROJECT}/locations/${zone}/nodes?nodeId=${name}`;
  const body = { acceleratorType: 'v5litepod-4', runtimeVersion: 'v2-alpha-tpuv5-lite', labels };
  await post(`${stage.stack.restUrl}${path}`, body, `planting ${name}`);
  stage.note('foreign', `somebody else has a node ${name} in ${zone}`, { resource: `${zone}/nodes/${name}` });
}
