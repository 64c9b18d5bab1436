import type { Draws } from '../random.js';
import type { DrawnJob } from './jobs.js';
import { GOOGLE_PROJECT } from './private-stack.js';
import { VM_TYPE, ZONES } from './sections.js';
import type { Stage } from './stage.js';

/**
 * Nodes of somebody else's: without labels, and with the very names that slices of these jobs will get. Those of a second installation
 * of jobctl in this project carry its owner, and jobs that are called as ours are, in both zones.
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
  for (const job of stage.jobs.filter(({ file }) => 'kubernetes' in file).slice(0, 2)) await plantInCluster(stage, job);
}

/** A ConfigMap without labels, and one of another owner, by the names that two slices of pods will get. */
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

async function plant(
  stage: Stage,
  [zone, name, labels]: readonly [zone: string, name: string, labels: object],
): Promise<void> {
  const path = `/v2/projects/${GOOGLE_PROJECT}/locations/${zone}/nodes?nodeId=${name}`;
  const response = await fetch(`${stage.stack.restUrl}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ acceleratorType: 'v5litepod-4', runtimeVersion: 'v2-alpha-tpuv5-lite', labels }),
  });
  if (!response.ok) throw new Error(`planting ${name}: ${response.status} ${await response.text()}`);
  stage.note('foreign', `somebody else has a node ${name} in ${zone}`, { resource: `${zone}/nodes/${name}` });
}
