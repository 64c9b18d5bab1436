import assert from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';
import { Draws } from '../../../chaos/random.js';
import type { KubernetesPlan } from '../../../domain/machine-kinds/kubernetes/words.js';
import type { Condition } from '../../../domain/slice.js';
import { makeGone } from '../../cloud/machines-conformance.js';
import { inLane, makeNodes, removeNodes, startKwok } from './kwok-nodes.js';
import { openRealCluster, type RealCluster } from './real-cluster.js';

const NODES = 64;
const WORKERS = 40;
const LANES = ['a', 'b'];
const SEEDS = Number(process.env['JOBCTL_GANG_SEEDS'] ?? 200);
/** Timeouts. In half of one a loaded computer deletes 40 pods and runs 40 others. */
const GANG_SECONDS = [40, 60] as const;
const END_MS = 180_000;

interface Ended {
  readonly what: string;
  readonly seconds: number;
}

/**
 * Two gangs of 40 on 64 nodes, whose create calls lie 0 s to half a timeout apart, in an order that the seed draws. Scheduler, Job
 * controller and garbage collection are the cluster's own; the nodes are kwok's.
 */
describe('two gangs of 40 on 64 nodes of one GPU each', function () {
  this.timeout(3 * 3600_000);
  const lanes = new Map<string, RealCluster>();
  const nodes: string[] = [];
  let endKwok = async (): Promise<void> => undefined;
  before(async () => {
    for (const lane of LANES) lanes.set(lane, await openRealCluster(`kwok-${lane}`));
    const [first] = lanes.values();
    assert.ok(first);
    endKwok = await startKwok(first.kubeconfig);
    for (const lane of LANES) nodes.push(...(await makeNodes(first.cluster, lane, NODES)));
  });
  after(async () => {
    const [first] = lanes.values();
    if (first) await removeNodes(first.cluster, nodes);
    for (const real of lanes.values()) await real.close();
    await endKwok();
  });

  it(`of ${SEEDS} seeds: one runs and the other gives back`, async () => {
    const seeds = Array.from({ length: SEEDS }, (_, index) => index + 1);
    const shares: number[] = [];
    await Promise.all(
      LANES.map(async (lane) => {
        for (let seed = seeds.shift(); seed !== undefined; seed = seeds.shift()) shares.push(await play(lane, seed));
      }),
    );
    assert.equal(shares.length, SEEDS);
    const most = Math.max(...shares).toFixed(2);
    console.log(`      gave back after ${most} of its timeout at most`);
  });

  /** @returns when the one that gave back had done so, as a share of its timeout */
  async function play(lane: string, seed: number): Promise<number> {
    const real = lanes.get(lane);
    assert.ok(real);
    const draws = new Draws(seed);
    const timeout = draws.between(...GANG_SECONDS);
    const apartMs = draws.chance(0.3) ? 0 : draws.between(0, timeout * 500);
    const jobs = draws.chance(0.5) ? ['x', 'y'] : ['y', 'x'];
    const plans = jobs.map((job) => gang(real, lane, `${job}${seed}`, timeout));
    const ends = await Promise.all(
      plans.map(async (plan, index): Promise<Ended> => {
        await pause(index * apartMs);
        assert.deepEqual(await real.port.create(plan), { kind: 'accepted' });
        const began = Date.now();
        const seen = await endOf(real, plan);
        const seconds = (Date.now() - began) / 1000;
        // As its job does: what was given back is deleted, and the other gets it.
        if (seen.kind === 'lost') await makeGone({ port: real.port, deadlineMs: END_MS }, plan);
        return { what: seen.kind === 'lost' && seen.cause === 'refused' ? `lost ${seen.scope}` : seen.kind, seconds };
      }),
    );
    const story = `seed ${seed}: timeout ${timeout} s, ${apartMs} ms apart: ${JSON.stringify(ends)}`;
    assert.deepEqual(ends.map(({ what }) => what).toSorted(), ['lost zone', 'ready'], story);
    for (const plan of plans) await makeGone({ port: real.port, deadlineMs: END_MS }, plan);
    return (ends.find(({ what }) => what === 'lost zone')?.seconds ?? 0) / timeout;
  }

  const gang = (real: RealCluster, lane: string, job: string, seconds: number): KubernetesPlan =>
    real.plan(
      `jc-${job}-g1`,
      { ...inLane(lane), workers: WORKERS, gpus: 1, gpu_type: 'h100', cpus: '10m', gang_timeout: seconds },
      { job },
    );

  /** Its first condition that is not `waiting`, as a slice workflow waits for it. */
  async function endOf({ port }: RealCluster, plan: KubernetesPlan): Promise<Condition> {
    const signal = AbortSignal.timeout(END_MS);
    for (;;) {
      const seen = await port.watch(plan, { isUrgent: true, signal });
      if (seen.kind !== 'waiting' && seen.kind !== 'missing') return seen;
    }
  }
});
