import { exerciseKinds, type KindsUnderTest, type KindUnderTest } from '../../conformance/exercise-kinds.js';
import { JobctlUser } from '../../end-to-end/jobctl-process.js';
import type { TestStack } from '../../end-to-end/test-stack.js';
import { type Kuberay, startKuberay } from './kuberay.js';
import { debianImage } from './pod-images.js';
import { POD_JOBS_START_MS, PodJobs, STEP_MS } from './pod-jobs.js';

const POOL = 'kube';
const PODS = 'pods of a real Kubernetes';
const RAY = 'RayCluster of the real operator';

/** What is promised of every kind of machines (test/conformance), on a real cluster with KubeRay's real operator and real Ray. */
class StackOnRealCluster implements KindsUnderTest {
  readonly stack: TestStack;
  readonly user: JobctlUser;
  readonly pool = POOL;
  readonly kinds: readonly KindUnderTest[];
  readonly #jobs: PodJobs;
  readonly #kuberay: Kuberay;

  private constructor(jobs: PodJobs, kuberay: Kuberay, image: string) {
    [this.#jobs, this.#kuberay, this.stack] = [jobs, kuberay, jobs.stack];
    const { kubeconfig, namespace } = jobs.real;
    const secrets = { JOBCTL_SECRET_STORE: jobs.stack.secretStore };
    this.user = JobctlUser.of(jobs.stack, { ...secrets, JOBCTL_POOL: POOL, KUBECONFIG: kubeconfig });
    const takeMachines = async (job: string): Promise<void> => {
      const [pod] = await jobs.podsOf(job);
      if (pod === undefined) throw new Error(`${job} has no pod`);
      await jobs.evict(pod.pod);
    };
    const { image: ray, version } = kuberay;
    this.kinds = [
      {
        ...{ name: PODS, hosts: 2, loginFlags: [], takeMachines },
        request: { kubernetes: { namespace, image, workers: 2 } },
      },
      {
        ...{ name: RAY, hosts: 1, loginFlags: [], takeMachines },
        request: {
          ray_cluster: {
            ...{ namespace, image: ray, ray_version: version, dashboard: false },
            ...{ head: { memory: '3Gi' }, workers: { memory: '2Gi', min: 1, max: 1 } },
          },
        },
        variables: ['RAY_ADDRESS', 'RAY_AUTH_TOKEN'],
        programs: ['ray'],
      },
    ];
  }

  static async start(): Promise<StackOnRealCluster> {
    const jobs = await PodJobs.start('conformance');
    const image = await debianImage(jobs.real.cluster);
    const { cluster, kubeconfig, namespace } = jobs.real;
    return new StackOnRealCluster(jobs, await startKuberay(cluster, kubeconfig, namespace), image);
  }

  async stop(): Promise<void> {
    await this.user.leave();
    await this.#jobs.stop();
    await this.#kuberay.stop();
  }
}

describe('machines of a real cluster', () => {
  exerciseKinds([PODS, RAY], { startMs: POD_JOBS_START_MS, stepMs: STEP_MS }, () => StackOnRealCluster.start());
});
