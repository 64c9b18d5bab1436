import { needsConfinement } from '../../rehearsal/test/needs-confinement.js';
import { type RehearsedKubernetes, startRehearsedKubernetes } from '../cloud/rehearsed-kubernetes.js';
import { PodsForTest } from '../long/kubernetes/pod-cluster.js';
import { exercisePods } from './pod-conformance.js';

describe('pods as hosts, on the rehearsed Kubernetes', function () {
  this.timeout(120_000);
  let rehearsed: RehearsedKubernetes;
  before(async function () {
    needsConfinement(this);
    rehearsed = await startRehearsedKubernetes();
  });
  after(() => rehearsed?.stop());

  describe('the suite of every Kubernetes', () => {
    exercisePods(async () => {
      const pods = new PodsForTest(rehearsed);
      await pods.open();
      return { pods, image: 'train:1' };
    });
  });
});
