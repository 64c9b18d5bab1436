import { exerciseMachines, type MachinesUnderTest } from '../../cloud/machines-conformance.js';
import { openRealCluster } from './real-cluster.js';

/** The suite of every adapter, on a real API server with a real kubelet. */
describe('the port of machines, on a real cluster', function () {
  this.timeout(240_000);
  for (const hosts of [1, 4]) {
    exerciseMachines('Kubernetes', [`pods: ${hosts}`], async (): Promise<MachinesUnderTest<'kubernetes'>> => {
      const real = await openRealCluster(`conformance-${hosts}`);
      const plan: MachinesUnderTest<'kubernetes'>['plan'] = (name) =>
        real.plan(`jc-${name}-g1`, { workers: hosts, cpus: '10m' });
      return {
        ...{ port: real.port, account: `/${real.namespace}`, owner: 'own-1', hosts, plan, deadlineMs: 120_000 },
        uid: /^[0-9a-f]{8}-[0-9a-f-]{27}$/,
        // No resource of Kubernetes can have this name, and its API server says so.
        badPlan: (name, variant) => {
          const good = plan(name, variant);
          return { ...good, pods: { ...good.pods, gpus: { count: 1, type: 'x', resource: 'no such resource' } } };
        },
        close: () => real.close(),
      };
    });
  }
});
