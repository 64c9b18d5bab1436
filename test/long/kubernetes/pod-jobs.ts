import type { PodHost } from '../../../domain/slice.js';
import { JobctlUser } from '../../end-to-end/jobctl-process.js';
import { storedLog } from '../../end-to-end/stored-log.js';
import { TestStack } from '../../end-to-end/test-stack.js';
import { TEMPORAL_START_MS } from '../../temporal-server.js';
import { until } from '../../until.js';
import { openRealCluster, type RealCluster } from './real-cluster.js';

/** A step of a job. Measurements may run beside these tests. */
export const STEP_MS = 300_000;

/** Of a worker that has little CPU beside such measurements. */
const PATIENT = { heartbeatTimeoutMs: 60_000, claimTimeoutMs: 60_000 };

/** A stack whose worker runs jobs on the real cluster, in a namespace of the test's. */
export class PodJobs {
  readonly real: RealCluster;
  readonly stack: TestStack;
  readonly user: JobctlUser;

  private constructor(real: RealCluster, stack: TestStack) {
    this.real = real;
    this.stack = stack;
    this.user = JobctlUser.of(stack, { KUBECONFIG: real.kubeconfig });
  }

  /** @param kubernetes more of the worker's configuration */
  static async start(suffix: string, kubernetes: object = {}): Promise<PodJobs> {
    const real = await openRealCluster(suffix);
    const stack = await TestStack.start({ isNotReady: true, pool: 'kube', timings: PATIENT });
    const jobs = new PodJobs(real, stack);
    const listingPeriods = { urgentMs: 300, quietMs: 2_000 };
    stack.workerConfig = { kubernetes: { kubeconfig: real.kubeconfig, listingPeriods, ...kubernetes } };
    stack.spawnWorker();
    await until('the worker is ready', async () => (await stack.readiness()).ready, STEP_MS).catch(async (error) => {
      const tail = stack.tail();
      await jobs.stop();
      throw new Error(`${String(error)}\n${tail}`);
    });
    return jobs;
  }

  async stop(): Promise<void> {
    await this.user.leave();
    await this.stack.stop();
    await this.real.close();
  }

  log(id: string, attempt = 1, host = 0): Promise<string> {
    return storedLog(this.stack.store, { id, stream: 'command', host, attempt });
  }

  /** Waits for a claim about a job; a failure tells what the job and the cluster say. */
  async told<T>(claim: string, id: string, look: () => Promise<T | undefined | false>): Promise<T> {
    return until(claim, look, STEP_MS).catch(async (error: unknown) => {
      const row = JSON.stringify(await this.stack.jobs.row(id));
      const objects = this.real.kubectl('get', 'all', '-o', 'wide');
      throw new Error(`${String(error)}: ${row}\n${objects}\n${this.stack.tail()}`);
    });
  }

  inPhase(id: string, phase: string): Promise<boolean> {
    return this.told(`${id} is ${phase}`, id, async () => (await this.stack.jobs.row(id)).phase === phase);
  }

  async podsOf(id: string): Promise<readonly PodHost[]> {
    const { slices } = await this.stack.jobs.describe(id);
    return slices.flatMap(({ hosts }) => hosts ?? []).filter((host) => host.reach === 'pod');
  }

  async evict(name: string): Promise<void> {
    const { cluster, namespace } = this.real;
    await cluster.core.createNamespacedPodEviction({ name, namespace, body: { metadata: { name, namespace } } });
  }

  async untilNothingIsLeft(): Promise<void> {
    await until('nothing is left', () => this.#left() === '', STEP_MS).catch((error: unknown) => {
      throw new Error(`${String(error)}: ${this.#left()}\n${this.stack.tail()}`);
    });
  }

  /** Kubernetes puts its own certificate into each namespace. */
  #left(): string {
    return this.real
      .kubectl('get', 'all,secrets,configmaps', '-o', 'name')
      .split('\n')
      .filter((name) => name !== '' && name !== 'configmap/kube-root-ca.crt')
      .join(' ');
  }
}

/** For the hook that starts it: an image may have to be made too. */
export const POD_JOBS_START_MS = TEMPORAL_START_MS + 2 * STEP_MS;
