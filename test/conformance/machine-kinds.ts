import { readFileSync } from 'node:fs';
import { openCluster } from '../../cloud/machines/kubernetes/cluster.js';
import * as library from '../../cloud/machines/kubernetes/library.js';
import type { MachineKindName } from '../../domain/machines.js';
import { TestStack } from '../end-to-end/test-stack.js';
import { JobctlUser } from '../end-to-end/jobctl-process.js';
import { RehearsalAdmin } from '../end-to-end/rehearsal-admin.js';
import { type Rack, startRack } from '../hosts/rack.js';
import { everybodysQuota } from '../quota/quota-file-text.js';
import { slowness } from '../until.js';
import type { KindsUnderTest, KindUnderTest } from './exercise-kinds.js';

/** A stack whose pool has every kind of machines that a rehearsal has, and a rack behind sshd. */
export class StackOfAllKinds implements KindsUnderTest {
  readonly stack: TestStack;
  readonly user: JobctlUser;
  readonly rack: Rack;
  readonly kinds: readonly KindUnderTest[];
  readonly pool = POOL;

  private constructor(stack: TestStack, rack: Rack) {
    [this.stack, this.rack] = [stack, rack];
    this.user = JobctlUser.of(stack, {
      ...{ JOBCTL_SECRET_STORE: stack.secretStore, JOBCTL_POOL: POOL },
      ...{ JOBCTL_SSH_JOB_KEY_SECRET: stack.jobKeySecret(), KUBECONFIG: stack.rehearsal.endpoints.kubeconfig ?? '' },
    });
    this.kinds = kindsOf(stack, this.user);
  }

  static async start(): Promise<StackOfAllKinds> {
    const quota = everybodysQuota({ machine: 4, v5litepod: 64, cpu: 64 });
    const stack = await TestStack.start({
      pool: POOL,
      quota,
      poolFile: '[quota]\n',
      kubernetes: true,
      isNotReady: true,
    });
    const file = stack.privateKeyFile;
    const key = { private: readFileSync(file, 'utf8'), public: readFileSync(`${file}.pub`, 'utf8') };
    const rack = await startRack(4, key);
    const machines = rack.inventory.map(
      ({ name, address, port, user, hostKey = '' }) =>
        `[[machines]]\nname = "${name}"\naddress = "${address}:${port}"\nuser = "${user}"\nhost_key = "${hostKey}"\n`,
    );
    stack.writePoolFile(machines.join('\n'));
    await stack.startWorker();
    return new StackOfAllKinds(stack, rack);
  }

  async stop(): Promise<void> {
    await this.user.leave();
    await this.stack.stop();
    await this.rack.stop();
  }
}

const POOL = 'all-kinds';

/** The column of each kind. */
const COLUMNS: Readonly<Record<MachineKindName, string>> = {
  'cloud-tpu': 'TPU VMs',
  'compute-engine': 'Compute Engine',
  kubernetes: 'pods',
  'ray-cluster': 'RayCluster',
  machines: 'own machines',
};
export const ALL_KINDS = Object.values(COLUMNS);

function kindsOf(stack: TestStack, user: JobctlUser): readonly KindUnderTest[] {
  const admin = new RehearsalAdmin(stack.rehearsal.endpoints.admin);
  const hostsOf = async (job: string) => (await stack.jobs.describe(job)).slices.flatMap(({ hosts }) => hosts ?? []);
  const preempt = async (name: string): Promise<void> =>
    admin.post('preempt', { name, noticeMs: Math.round(6_000 * slowness()) });
  const evict = async (job: string): Promise<void> => {
    const { core } = openCluster(library, { kubeconfig: stack.rehearsal.endpoints.kubeconfig ?? '' });
    const pod = (await hostsOf(job)).find((host) => host.reach === 'pod');
    if (pod === undefined) throw new Error(`${job} has no pod`);
    const { namespace, pod: name } = pod;
    await core.createNamespacedPodEviction({ name, namespace, body: { metadata: { name, namespace } } });
  };
  return [
    {
      ...{ name: COLUMNS['cloud-tpu'], hosts: 4, loginFlags: [] },
      request: { tpu: { accelerator: 'v5litepod-16', zone: 'us-central1-a', pricing: 'spot' } },
      takeMachines: async (job) => {
        const [slice] = (await stack.jobs.describe(job)).slices;
        await preempt(slice?.ref.name ?? '');
      },
    },
    {
      ...{ name: COLUMNS['compute-engine'], hosts: 2, loginFlags: [] },
      request: { compute_engine: { machine_type: 'n2-standard-4', count: 2, zones: ['us-central1-a'] } },
      takeMachines: (job) => preempt(`jc-${job}-g1-1`),
    },
    {
      ...{ name: COLUMNS.kubernetes, hosts: 2, loginFlags: [] },
      // Without curl, and without an account.
      request: { kubernetes: { workers: 2, image: 'without-curl:1' } },
      takeMachines: evict,
    },
    {
      ...{ name: COLUMNS['ray-cluster'], hosts: 1, loginFlags: [] },
      request: { ray_cluster: { image: 'ray:2.60.0', ray_version: '2.60.0', workers: { min: 1, max: 2 } } },
      variables: ['RAY_ADDRESS', 'RAY_AUTH_TOKEN'],
      programs: ['ray'],
      takeMachines: evict,
    },
    {
      ...{ name: COLUMNS.machines, hosts: 2, loginFlags: ['--identity', stack.privateKeyFile] },
      request: { machines: { hosts: 2 } },
      // Nobody takes them back: an operator wants them for something else.
      takeMachines: async (job) => {
        const held = (await hostsOf(job)).flatMap((host) => (host.reach === 'ssh' && host.own ? [host.own.name] : []));
        for (const words of [
          ['machines', 'drain', ...held, '--pool', POOL, '--reason', 'for a test'],
          ['requeue', job],
        ]) {
          const { code, stderr } = await user.here(...words);
          if (code !== 0) throw new Error(`${words.join(' ')}: ${stderr}`);
        }
      },
    },
  ];
}
