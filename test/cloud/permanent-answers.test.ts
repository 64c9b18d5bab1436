import assert from 'node:assert/strict';
import { MockActivityEnvironment } from '@temporalio/testing';
import { deleteUntilGone } from '../../activities/giving-back.js';
import type { Machines } from '../../cloud/machines/port.js';
import type { StuckDeletion } from '../../domain/lease.js';
import type { MachinePlan } from '../../domain/machines.js';
import { DEFAULT_TIMINGS } from '../../domain/timings.js';
import { slicePlan } from './cloud-tpu-plan.js';
import { vmsPlan } from './compute-engine-plan.js';
import { makeReady } from './machines-conformance.js';
import { type RehearsedCloud, startRehearsedCloud } from './rehearsed-cloud.js';
import { rehearsedPlan, type RehearsedKubernetes, startRehearsedKubernetes } from './rehearsed-kubernetes.js';

const timings = { ...DEFAULT_TIMINGS, giveBackMs: 0, notFoundApartMs: 50 };
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
    [cloud, kubernetes] = await Promise.all([startRehearsedCloud(124), startRehearsedKubernetes(125)]);
  });
  after(() => Promise.all([cloud?.stop(), kubernetes?.stop()]));

  const google = {
    answers: GOOGLE,
    refuse: (body: object) => cloud.admin('refuse', body),
    takeBack: () => cloud.takeBack('refuse'),
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
    pods: {
      answers: KUBERNETES,
      methods: ['kubernetes.get', 'kubernetes.delete'],
      port: () => kubernetes.port,
      plan: (name) => rehearsedPlan(name),
      refuse: (body) => kubernetes.admin('refuse', body),
      takeBack: () => kubernetes.takeBack('refuse'),
    },
  };

  let count = 0;
  for (const [kind, { answers, methods, port, plan, refuse, takeBack }] of Object.entries(kinds))
    for (const [name, answer] of Object.entries(answers)) {
      const refuseAll = async (): Promise<void> => {
        for (const method of methods) await refuse({ method, ...answer });
      };
      const deletion = (of: MachinePlan, more: object, tell?: (deletion: StuckDeletion) => Promise<void>) => {
        const { owner, job, run } = of.ownership;
        const input = { ref: of.ref, owner: { owner, job, run }, notBefore: 0, timings, ...more };
        return new MockActivityEnvironment().run(() => deleteUntilGone(port(), input, tell));
      };

      it(`${kind}, ${name}: a slice that was never accepted is gone at once`, async () => {
        await refuseAll();
        try {
          await deletion(plan(`never-${++count}`), { isNeverAccepted: true });
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
        await deletion(wanted, {}, async (stuck) => {
          told.push(stuck);
          await takeBack();
        });
        assert.deepEqual(
          told.map(({ isFinal }) => isFinal),
          [true],
          JSON.stringify(told),
        );
      });
    }
});
