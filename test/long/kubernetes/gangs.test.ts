import assert from 'node:assert/strict';
import type { KubernetesPlan } from '../../../domain/machine-kinds/kubernetes/words.js';
import type { Condition } from '../../../domain/slice.js';
import { until } from '../../until.js';
import { isGone, makeGone, observed } from '../../cloud/machines-conformance.js';
import { openRealCluster, type RealCluster } from './real-cluster.js';

const GPUS = 6;
const ROUNDS = 5;

/** Two gangs of 4 pods on a node that has room for 6: the scheduler gives each a part. */
describe('two gangs that want the same machines, on a real cluster', function () {
  this.timeout(600_000);
  let real: RealCluster;
  before(async () => {
    real = await openRealCluster('gangs');
    setGpus(String(GPUS));
  });
  after(async () => {
    setGpus(null);
    await real.close();
  });

  /** As a device plugin would. */
  function setGpus(count: string | null): void {
    const [node] = real.kubectl('get', 'nodes', '-o', 'name').trim().split('\n');
    const gpus = { 'nvidia.com/gpu': count };
    const patch = JSON.stringify({ status: { capacity: gpus, allocatable: gpus } });
    real.kubectl('patch', node ?? '', '--subresource=status', '--type=merge', '-p', patch);
  }

  const gang = (job: string): KubernetesPlan =>
    real.plan(`jc-${job}-g1`, { workers: 4, gpus: 1, gpu_type: 'h100', cpus: '10m', gang_timeout: 30 }, { job });
  /** Its first condition that is not `waiting`, as a slice workflow waits for it. */
  async function end(plan: KubernetesPlan): Promise<Condition> {
    const signal = AbortSignal.timeout(120_000);
    for (;;) {
      const seen = await real.port.watch(plan, { isUrgent: true, signal });
      if (seen.kind !== 'waiting' && seen.kind !== 'missing') return seen;
    }
  }

  for (let round = 1; round <= ROUNDS; round++)
    it(`one runs and the other gives back, round ${round}`, async () => {
      const plans = [gang(`a${round}`), gang(`b${round}`)];
      const answers = await Promise.all(plans.map((plan) => real.port.create(plan)));
      assert.deepEqual(answers, [{ kind: 'accepted' }, { kind: 'accepted' }]);
      const ends = await Promise.all(
        plans.map(async (plan) => {
          const seen = await end(plan);
          // As its job does: what was given back is deleted, and the other gets it.
          if (seen.kind === 'lost') await makeGone({ port: real.port, deadlineMs: 60_000 }, plan);
          return seen.kind === 'lost' && seen.cause === 'refused' ? `${seen.kind} ${seen.scope}` : seen.kind;
        }),
      );
      assert.deepEqual(ends.toSorted(), ['lost zone', 'ready'], JSON.stringify(ends));
      for (const plan of plans) await makeGone({ port: real.port, deadlineMs: 60_000 }, plan);
      await until('all is gone', async () => {
        const seen = await Promise.all(plans.map((plan) => observed({ port: real.port }, plan)));
        return seen.every(isGone);
      });
    });
});
