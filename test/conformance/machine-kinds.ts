import { readFileSync } from 'node:fs';
import { openCluster } from '../../cloud/machines/kubernetes/cluster.js';
import * as library from '../../cloud/machines/kubernetes/library.js';
import type { MachineKindName } from '../../domain/machines.js';
import type { SliceHost } from '../../domain/slice.js';
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

/** The stack as the columns use it. */
interface Tools {
  readonly stack: TestStack;
  readonly user: JobctlUser;
  hostsOf(job: string): Promise<readonly SliceHost[]>;
  preempt(name: string): Promise<void>;
  evict(job: string): Promise<void>;
}

/** `unrehearsed`: why nothing on this computer stands in for the kind's provider. */
type Column =
  | { readonly name: string; readonly open: (tools: Tools) => Omit<KindUnderTest, 'name'> }
  | { readonly unrehearsed: string };

const COLUMNS: Readonly<Record<MachineKindName, Column>> = {
  'cloud-tpu': {
    name: 'TPU VMs',
    open: ({ stack, preempt }) => ({
      ...{ hosts: 4, loginFlags: [] },
      request: { tpu: { accelerator: 'v5litepod-16', zone: 'us-central1-a', pricing: 'spot' } },
      takeMachines: async (job) => {
        const [slice] = (await stack.jobs.describe(job)).slices;
        await preempt(slice?.ref.name ?? '');
      },
    }),
  },
  'compute-engine': {
    name: 'Compute Engine',
    open: ({ preempt }) => ({
      ...{ hosts: 2, loginFlags: [] },
      request: { compute_engine: { machine_type: 'n2-standard-4', count: 2, zones: ['us-central1-a'] } },
      takeMachines: (job) => preempt(`jc-${job}-g1-1`),
    }),
  },
  kubernetes: {
    name: 'pods',
    open: ({ evict }) => ({
      ...{ hosts: 2, loginFlags: [] },
      // Without curl, and without an account.
      request: { kubernetes: { workers: 2, image: 'without-curl:1' } },
      takeMachines: evict,
    }),
  },
  'ray-cluster': {
    name: 'RayCluster',
    open: ({ evict }) => ({
      ...{ hosts: 1, loginFlags: [] },
      request: { ray_cluster: { image: 'ray:2.60.0', ray_version: '2.60.0', workers: { min: 1, max: 2 } } },
      variables: ['RAY_ADDRESS', 'RAY_AUTH_TOKEN'],
      programs: ['ray'],
      takeMachines: evict,
    }),
  },
  machines: {
    name: 'own machines',
    open: ({ stack, user, hostsOf }) => ({
      ...{ hosts: 2, loginFlags: ['--identity', stack.privateKeyFile] },
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
    }),
  },
};
const REHEARSED = Object.values(COLUMNS).flatMap((column) => ('unrehearsed' in column ? [] : [column]));
export const REHEARSED_KINDS = REHEARSED.map(({ name }) => name);

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
  return REHEARSED.map(({ name, open }) => ({ name, ...open({ stack, user, hostsOf, preempt, evict }) }));
}
