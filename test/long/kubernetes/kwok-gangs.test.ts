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
const LANES = ['a', 'b', 'c'];
const SEEDS = Number(process.env['JOBCTL_GANG_SEEDS'] ?? 200);
/** Timeouts. In half of one a loaded computer deletes 40 pods and runs 40 others; a quiet one needs 4 s. */
const GANG_SECONDS = [24, 40] as const;
/** After its timeout, until the one that gives back is seen to have: a listing a second, on a loaded computer. */
const LATE_SECONDS = 10;
const END_MS = 180_000;

interface Ended {
  readonly what: string;
  /** Since it was created. */
  readonly seconds: number;
  readonly at: number;
}

interface Round {
  /** After which shares of its timeout the one gave back, and the other was whole. */
  readonly gaveBack: number;
  readonly whole: number;
  /** The one was whole only when the other had left. */
  readonly isContested: boolean;
}

/**
 * Two gangs of 40 on 64 nodes, whose create calls lie 0 s to half a timeout apart, in an order that the seed draws: at 0 s each may
 * get a part, and the younger leaves; else the later one finds too little (40 pods are placed in 3 s) and waits for its timeout. Scheduler, Job controller
 * and garbage collection are the cluster's own; the nodes are kwok's.
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
    const rounds: Round[] = [];
    const failures: string[] = [];
    await Promise.all(
      LANES.map(async (lane) => {
        for (let seed = seeds.shift(); seed !== undefined; seed = seeds.shift())
          await play(lane, seed).then(
            (round) => rounds.push(round),
            (error: unknown) =>
              failures.push(`seed ${seed}: ${error instanceof Error ? error.message : String(error)}`),
          );
      }),
    );
    assert.deepEqual(failures, []);
    const contested = rounds.filter(({ isContested }) => isContested).length;
    console.log(`      in ${contested} of ${rounds.length} each held a part`);
    assert.ok(rounds.length === SEEDS && contested > SEEDS / 10);
    for (const [what, key] of Object.entries({ 'gave back': 'gaveBack', 'was whole': 'whole' } as const)) {
      const shares = rounds.map((round) => round[key]).toSorted((a, b) => a - b);
      const [median, most] = [shares[Math.floor(shares.length / 2)], shares.at(-1)];
      console.log(`      ${what} after ${median?.toFixed(2)} of its timeout (median), ${most?.toFixed(2)} (most)`);
    }
  });

  async function play(lane: string, seed: number): Promise<Round> {
    const real = lanes.get(lane);
    assert.ok(real);
    const draws = new Draws(seed);
    const timeout = draws.between(...GANG_SECONDS);
    const apartMs = draws.chance(0.75) ? 0 : draws.between(0, timeout * 500);
    const jobs = draws.chance(0.5) ? ['x', 'y'] : ['y', 'x'];
    const plans = jobs.map((job) => gang(real, lane, `${job}${seed}`, timeout));
    try {
      return await contend(real, plans, { timeout, apartMs });
    } finally {
      for (const plan of plans) await makeGone({ port: real.port, deadlineMs: END_MS }, plan);
    }
  }

  async function contend(
    { port }: RealCluster,
    plans: readonly KubernetesPlan[],
    { timeout, apartMs }: { readonly timeout: number; readonly apartMs: number },
  ): Promise<Round> {
    const ends = await Promise.all(
      plans.map(async (plan, index): Promise<Ended> => {
        await pause(index * apartMs);
        assert.deepEqual(await port.create(plan), { kind: 'accepted' });
        const began = Date.now();
        const seen = await endOf(port, plan);
        const at = Date.now();
        // As its job does: what was given back is deleted, and the other gets it.
        if (seen.kind === 'lost') await makeGone({ port, deadlineMs: END_MS }, plan);
        return {
          what: seen.kind === 'lost' && seen.cause === 'refused' ? `lost ${seen.scope}` : seen.kind,
          seconds: (at - began) / 1000,
          at,
        };
      }),
    );
    const story = `timeout ${timeout} s, ${apartMs} ms apart: ${JSON.stringify(ends)}`;
    assert.deepEqual(ends.map(({ what }) => what).toSorted(), ['lost zone', 'ready'], story);
    const [gone, whole] = ends.toSorted((one, other) => one.what.localeCompare(other.what));
    assert.ok(gone && whole && gone.seconds < timeout + LATE_SECONDS, story);
    return { gaveBack: gone.seconds / timeout, whole: whole.seconds / timeout, isContested: whole.at > gone.at };
  }

  const gang = (real: RealCluster, lane: string, job: string, seconds: number): KubernetesPlan =>
    real.plan(
      `jc-${job}-g1`,
      { ...inLane(lane), workers: WORKERS, gpus: 1, gpu_type: 'h100', cpus: '10m', gang_timeout: seconds },
      { job },
    );

  /** Its first condition that is not `waiting`, as a slice workflow waits for it. */
  async function endOf(port: RealCluster['port'], plan: KubernetesPlan): Promise<Condition> {
    const signal = AbortSignal.timeout(END_MS);
    for (;;) {
      const seen = await port.watch(plan, { isUrgent: true, signal });
      if (seen.kind !== 'waiting' && seen.kind !== 'missing') return seen;
    }
  }
});
