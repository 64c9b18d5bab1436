import assert from 'node:assert/strict';
import { createRayClusters } from '../../../cloud/machines/ray-cluster/kuberay.js';
import { resolveJob } from '../../../domain/job-file/resolve.js';
import { KINDS } from '../../../domain/machine-kinds/registry.js';
import type { RayClusterPlan } from '../../../domain/machine-kinds/ray-cluster/words.js';
import { formatProblems } from '../../../domain/problem.js';
import { exerciseMachines, type MachinesUnderTest } from '../../cloud/machines-conformance.js';
import { startKuberay } from './kuberay.js';
import { openRealCluster } from './real-cluster.js';

/** The suite of every adapter, on RayClusters of KubeRay's real operator with real Ray. */
describe('the port of machines, on RayClusters', function () {
  this.timeout(600_000);
  exerciseMachines('KubeRay', ['a head and one worker'], async (): Promise<MachinesUnderTest<'ray-cluster'>> => {
    const real = await openRealCluster('ray-cluster');
    const { namespace, kubeconfig } = real;
    const kuberay = await startKuberay(real.cluster, kubeconfig, namespace);
    const port = createRayClusters({ cluster: { kubeconfig }, periods: { urgentMs: 200, quietMs: 1000 } });
    const plan = (name: string): RayClusterPlan => {
      const section = {
        ...{ namespace, image: kuberay.image, ray_version: kuberay.version, dashboard: false },
        ...{ head: { memory: '3Gi' }, workers: { min: 1, max: 2, memory: '2Gi' } },
      };
      const job = resolveJob({ ray_cluster: section, command: { run: 'true' } });
      assert.ok(job.ok && 'ray_cluster' in job.spec, job.ok ? '' : formatProblems(job.problems));
      return KINDS['ray-cluster'].plan(job.spec, {
        ...{ owner: 'own-1', googleProject: '', zone: 'default-cluster', name: `jc-${name}-g1`, job: 'train' },
        ...{ run: 'run-1', generation: 1, loginUser: 'me', publicKey: 'k' },
      });
    };
    return {
      ...{ port, account: `/${namespace}`, owner: 'own-1', hosts: 1, plan, deadlineMs: 300_000 },
      uid: /^[0-9a-f]{8}-[0-9a-f-]{27}$/,
      // No quantity, as the definition of RayClusters says too.
      badPlan: (name) => {
        const good = plan(name);
        return { ...good, pods: { ...good.pods, workers: { ...good.pods.workers, cpus: 'many' } } };
      },
      close: async () => {
        await port.close();
        await real.close();
        await kuberay.stop();
      },
    };
  });
});
