import { needsConfinement } from '../../rehearsal/test/needs-confinement.js';
import { exerciseMachines, type MachinesUnderTest } from './machines-conformance.js';
import { rehearsedPlan, startRehearsedKubernetes } from './rehearsed-kubernetes.js';

/** The suite of every adapter, as on a real cluster (test/long/kubernetes/machines.test.ts). */
describe('the port of machines, on the rehearsed Kubernetes', function () {
  this.timeout(60_000);
  before(function () {
    needsConfinement(this);
  });
  for (const hosts of [1, 4]) {
    exerciseMachines('the rehearsed Kubernetes', [`pods: ${hosts}`], async () => {
      const rehearsed = await startRehearsedKubernetes();
      const plan: MachinesUnderTest<'kubernetes'>['plan'] = (name) =>
        rehearsedPlan(`jc-${name}-g1`, { workers: hosts, cpus: '10m' });
      const under: MachinesUnderTest<'kubernetes'> = {
        ...{ port: rehearsed.port, account: '/default', owner: 'own-1', hosts, plan, deadlineMs: 20_000 },
        uid: /^[0-9a-f]{8}-[0-9a-f-]{27}$/,
        badPlan: (name, variant) => {
          const good = plan(name, variant);
          return { ...good, pods: { ...good.pods, gpus: { count: 1, type: 'x', resource: 'no such resource' } } };
        },
        close: () => rehearsed.stop(),
      };
      return under;
    });
  }
});
