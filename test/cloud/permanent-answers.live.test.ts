import assert from 'node:assert/strict';
import { CancelledFailure } from '@temporalio/common';
import { OwnMachinesOperator } from '../../cloud/machines/own/operator.js';
import { PoolRecords } from '../../cloud/machines/own/pool-record.js';
import type { Machines } from '../../cloud/machines/port.js';
import type { StuckDeletion } from '../../domain/lease.js';
import { refIn } from '../../domain/machine-kinds/machines/index.js';
import type { MachinePlan } from '../../domain/machines.js';
import { lookAfter, rackStore, visitsOf } from '../hosts/rack.js';
import { type KeyPair, makeKeyPair, type TestHost, startTestHost } from '../hosts/ssh-host.js';
import { ownership, slicePlan } from './cloud-tpu-plan.js';
import { vmsPlan } from './compute-engine-plan.js';
import { deletionOf, shouldNotTell } from './deletion.js';
import { makeReady } from './machines-conformance.js';
import { type RehearsedCloud, startRehearsedCloud } from './rehearsed-cloud.js';
import {
  rehearsedPlan,
  rehearsedRayPlan,
  type RehearsedKubernetes,
  startRehearsedKubernetes,
} from './rehearsed-kubernetes.js';

const DEADLINE_MS = 20_000;

interface Answer {
  readonly code: string;
  readonly message: string;
  readonly reason?: string;
}

/** Of Google's APIs: what never changes by itself. */
const GOOGLE: Readonly<Record<string, Answer>> = {
  'a zone that does not exist, or is forbidden now': {
    code: 'PERMISSION_DENIED',
    message: "Permission denied on 'locations/us-central2-b' (or it may not exist).",
    reason: 'LOCATION_POLICY_VIOLATED',
  },
  'a project that was deleted': {
    code: 'PERMISSION_DENIED',
    message: "Project 'p-old' not found or permission denied",
    reason: 'CONSUMER_INVALID',
  },
  'an API that was switched off': {
    code: 'PERMISSION_DENIED',
    message: 'Cloud TPU API has not been used in project 123 before or it is disabled.',
    reason: 'SERVICE_DISABLED',
  },
  'a right that was taken away': {
    code: 'PERMISSION_DENIED',
    message: "Permission 'tpu.nodes.get' denied on resource '//tpu.googleapis.com/projects/p'",
    reason: 'IAM_PERMISSION_DENIED',
  },
  'billing that was closed': {
    code: 'PERMISSION_DENIED',
    message: 'This API method requires billing to be enabled.',
    reason: 'BILLING_DISABLED',
  },
};
const KUBERNETES: Readonly<Record<string, Answer>> = {
  'a right that was taken away': {
    code: 'PERMISSION_DENIED',
    message: 'jobs.batch is forbidden: User "jobctl" cannot get resource "jobs" in API group "batch"',
  },
  'credentials that were revoked': { code: 'UNAUTHENTICATED', message: 'Unauthorized' },
};

interface Kind {
  readonly answers: Readonly<Record<string, Answer>>;
  readonly methods: readonly string[];
  readonly port: () => Machines;
  readonly plan: (name: string) => MachinePlan;
  readonly refuse: (body: object) => Promise<void>;
  readonly takeBack: () => Promise<void>;
}

/** What a deletion says and does of each permanent answer, of each kind of machines (docs/adr/0099). */
describe('an answer that never changes', function () {
  this.timeout(60_000);
  let cloud: RehearsedCloud;
  let kubernetes: RehearsedKubernetes;
  before(async () => {
    [cloud, kubernetes] = await Promise.all([startRehearsedCloud(), startRehearsedKubernetes()]);
  });
  after(() => Promise.all([cloud?.stop(), kubernetes?.stop()]));

  const google = {
    answers: GOOGLE,
    refuse: (body: object) => cloud.admin('refuse', body),
    takeBack: () => cloud.takeBack('refuse'),
  };
  const apiServer = {
    answers: KUBERNETES,
    methods: ['kubernetes.get', 'kubernetes.delete'],
    refuse: (body: object) => kubernetes.admin('refuse', body),
    takeBack: () => kubernetes.takeBack('refuse'),
  };
  const tpu = (mode: 'tpu-vm' | 'queued-resources'): Kind => ({
    ...google,
    methods: ['GetNode', 'GetQueuedResource', 'DeleteNode', 'DeleteQueuedResource'],
    port: () => cloud.tpuPort(),
    plan: (name) => slicePlan(name, mode, { accelerator: 'v5litepod-4' }),
  });
  const kinds: Readonly<Record<string, Kind>> = {
    node: tpu('tpu-vm'),
    'queued resource': tpu('queued-resources'),
    VMs: {
      ...google,
      methods: ['instances.get', 'instances.delete'],
      port: () => cloud.computePort(),
      plan: (name) => vmsPlan(name),
    },
    pods: { ...apiServer, port: () => kubernetes.port, plan: (name) => rehearsedPlan(name) },
    RayCluster: { ...apiServer, port: () => kubernetes.rayPort, plan: (name) => rehearsedRayPlan(name) },
  };

  let count = 0;
  for (const [kind, { answers, methods, port, plan, refuse, takeBack }] of Object.entries(kinds))
    for (const [name, answer] of Object.entries(answers)) {
      const refuseAll = async (): Promise<void> => {
        for (const method of methods) await refuse({ method, ...answer });
      };

      it(`${kind}, ${name}: a slice that was never accepted is gone at once`, async () => {
        await refuseAll();
        try {
          await deletionOf(port(), plan(`never-${++count}`), { isNeverAccepted: true }).done;
        } finally {
          await takeBack();
        }
      });

      it(`${kind}, ${name}: one that may exist is told, waits, and is gone once the answer has changed`, async () => {
        const wanted = plan(`kept-${++count}`);
        await makeReady({ port: port(), deadlineMs: DEADLINE_MS }, wanted);
        await refuseAll();
        const told: StuckDeletion[] = [];
        // It goes on for as long as the answer is what it is.
        await deletionOf(port(), wanted, {}, async (stuck) => {
          told.push(stuck);
          await takeBack();
        }).done;
        assert.deepEqual(
          told.map(({ isFinal }) => isFinal),
          [true],
          JSON.stringify(told),
        );
      });
    }

  /** Of a slice of its own, with its pods running. */
  async function runningIn(namespace: string): Promise<MachinePlan> {
    await kubernetes.cluster.core.createNamespace({ body: { metadata: { name: namespace } } });
    const plan = rehearsedPlan(namespace, { namespace });
    await makeReady({ port: kubernetes.port, deadlineMs: DEADLINE_MS }, plan);
    return plan;
  }

  it('pods, a namespace that is gone: what was in it is gone', async () => {
    const plan = await runningIn('gone');
    await kubernetes.cluster.core.deleteNamespace({ name: 'gone' });
    await deletionOf(kubernetes.port, plan, {}, shouldNotTell).done;
  });

  it('pods, a namespace that never stops terminating: ours in it is gone, and nothing new is accepted', async () => {
    const { core } = kubernetes.cluster;
    const plan = await runningIn('terminating');
    const metadata = { name: 'held', finalizers: ['example.com/nobody-takes-it-off'] };
    await core.createNamespacedConfigMap({ namespace: 'terminating', body: { metadata } });
    await core.deleteNamespace({ name: 'terminating' });
    await deletionOf(kubernetes.port, plan, {}, shouldNotTell).done;
    const late = rehearsedPlan('late', { namespace: 'terminating' });
    const answer = await kubernetes.port.create(late);
    assert.ok(answer.kind === 'refused' && answer.scope === 'zone-lasting', JSON.stringify(answer));
    await deletionOf(kubernetes.port, late, { isNeverAccepted: true }, shouldNotTell).done;
  });

  it('pods, a cluster that is gone: told as what may change, until a person releases the lease', async () => {
    const lost = await startRehearsedKubernetes();
    const plan = rehearsedPlan('lost');
    await makeReady({ port: lost.port, deadlineMs: DEADLINE_MS }, plan);
    await lost.stop();
    // No answer is no refusal: what was never accepted is not gone by it either.
    for (const more of [{}, { isNeverAccepted: true }]) {
      const told: StuckDeletion[] = [];
      const deletion = deletionOf(lost.port, plan, more, async (stuck) => {
        told.push(stuck);
        deletion.environment.cancel('CANCELLED');
      });
      await assert.rejects(deletion.done, CancelledFailure);
      assert.deepEqual(
        told.map(({ isFinal, answer }) => [isFinal, /ECONNREFUSED/.test(answer)]),
        [[undefined, true]],
        JSON.stringify(told),
      );
    }
  });

  const SILENT: Readonly<Record<string, (key: KeyPair) => Promise<TestHost>>> = {
    'that is off for good': async (key) => {
      const host = await startTestHost({ authorized: key });
      await host.stop();
      return host;
    },
    'that lets our key in no more': () => startTestHost({ authorized: makeKeyPair() }),
  };
  for (const [name, start] of Object.entries(SILENT))
    it(`a machine of one's own ${name}: told with what frees it, and gone once a person has said that it is off`, async () => {
      const key = makeKeyPair();
      const host = await start(key);
      const { user, address } = host.target;
      const machine = { name: 'rack-1', address, port: host.port, user, accelerators: {} };
      const rack = { inventory: [{ ...machine, labels: {} }], key };
      const store = await rackStore(cloud.storeEndpoint, `rack-${++count}`);
      const records = new PoolRecords(store);
      const plan = { ref: refIn('lab', 'held'), ownership: ownership(), machines: { hosts: 1, labels: {} } };
      const slice = { uid: 'u-1', ownership: plan.ownership, at: Date.now(), machines: [machine], maybe: [] };
      await records.update('lab', (before) => ({ ...before, slices: { held: { ...slice, isWhole: true } } }));
      const port = lookAfter(rack, store);
      const operator = new OwnMachinesOperator({ records, visits: visitsOf(rack, store), owner: 'own-1' });
      const told: StuckDeletion[] = [];
      await deletionOf(port, plan, { isNeverAccepted: true }, async (stuck) => {
        told.push(stuck);
        await operator.forget('lab', rack.inventory, 'ops');
      }).done;
      await Promise.all([port.close(), host.stop()]);
      assert.equal(told.length, 1, JSON.stringify(told));
      assert.match(told[0]?.answer ?? '', /If it is off: jobctl machines forget rack-1 --pool lab/);
      assert.deepEqual((await records.read('lab')).slices, {});
    });
});
