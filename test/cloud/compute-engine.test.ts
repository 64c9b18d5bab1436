import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { listEveryVm } from '../../cloud/machines/compute-engine/audit.js';
import { CloudRefused, CloudUnavailable } from '../../cloud/machines/port.js';
import { labelsOf } from '../../domain/identity.js';
import type { ComputeEnginePlan } from '../../domain/machine-kinds/compute-engine/words.js';
import type { Condition } from '../../domain/slice.js';
import { GOOGLE_PROJECT, ownership, ZONE } from './cloud-tpu-plan.js';
import { vmsPlan } from './compute-engine-plan.js';
import { eventually } from './eventually.js';
import {
  exerciseMachines,
  isGone,
  makeGone,
  makeReady,
  type MachinesUnderTest,
  observed,
} from './machines-conformance.js';
import { type RehearsedCloud, startRehearsedCloud } from './rehearsed-cloud.js';

const VARIANTS: Readonly<Record<string, Partial<ComputeEnginePlan>>> = {
  'a gang of Spot VMs': {},
  'VMs with GPUs, on demand': { machineType: 'g2-standard-8', pricing: 'ondemand' },
};

exerciseMachines('the rehearsed Compute Engine', Object.keys(VARIANTS), async () => {
  const cloud = await startRehearsedCloud();
  const owner = 'own-1';
  const plan = (name: string, variant: string): ComputeEnginePlan =>
    vmsPlan(`${owner}-${name}`, { ...VARIANTS[variant], ownership: ownership({ owner }) });
  const under: MachinesUnderTest<'compute-engine'> = {
    port: cloud.computePort(),
    account: GOOGLE_PROJECT,
    owner,
    hosts: 2,
    uid: /^[0-9a-f]{16}$/,
    deadlineMs: 15_000,
    plan,
    badPlan: (name, variant) => ({ ...plan(name, variant), machineType: 'x9-standard-1' }),
    close: () => cloud.stop(),
  };
  return under;
});

const OWNER = { owner: 'own-1', job: 'train-x1', run: 'run-1' };
const DEADLINE_MS = 15_000;

describe('VMs of the rehearsed Compute Engine', function () {
  this.timeout(60_000);
  let cloud: RehearsedCloud;
  let under: { readonly port: ReturnType<RehearsedCloud['computePort']>; readonly deadlineMs: number };

  before(async () => {
    cloud = await startRehearsedCloud();
    under = { port: cloud.computePort(), deadlineMs: DEADLINE_MS };
  });
  after(() => cloud.stop());
  afterEach(() => cloud.takeBack('refuse'));

  const lostOf = async (plan: ComputeEnginePlan): Promise<Extract<Condition, { kind: 'lost' }>> => {
    const operation = await createdAs(plan);
    const look = (): Promise<Condition> => under.port.observe({ ...plan, operation });
    const seen = await eventually(`${plan.ref.name} is lost`, look, ({ kind }) => kind === 'lost', DEADLINE_MS);
    assert.ok(seen.kind === 'lost');
    return seen;
  };
  const createdAs = async (plan: ComputeEnginePlan): Promise<string> => {
    const answer = await under.port.create(plan);
    assert.ok(answer.kind === 'accepted' && answer.operation !== undefined, JSON.stringify(answer));
    return answer.operation;
  };
  const vmsNow = async () => {
    const all = await listEveryVm({ googleProject: GOOGLE_PROJECT, restEndpoint: cloud.restEndpoint });
    return all.map(({ name, state }) => `${name} ${state}`).sort();
  };

  it('a gang of which one VM cannot be had is lost with the zone, and its other VM is given back', async () => {
    await cloud.admin('capacity', { zone: ZONE, generation: 'n2-standard-4', chips: 1 });
    const plan = vmsPlan('stockout');
    const seen = await lostOf(plan);
    assert.ok(seen.cause === 'refused');
    assert.equal(seen.scope, 'zone');
    assert.match(seen.message, /^the create of VM stockout-1 failed: The zone '.+' does not have enough resources/);
    assert.equal((await vmsNow()).length, 1);
    await makeGone(under, plan);
    assert.deepEqual(await vmsNow(), []);
    await cloud.admin('capacity', { zone: ZONE, generation: 'n2-standard-4', chips: null });
  });

  it('quota of a region is the zone, and one of all regions that is 0 is the installation', async () => {
    const quotas = { any: { PREEMPTIBLE_CPUS: { limit: 4, usage: 0 }, GPUS_ALL_REGIONS: { limit: 0, usage: 0 } } };
    await cloud.admin('project', { regionQuotas: quotas });
    const ofRegion = await lostOf(vmsPlan('cpus'));
    assert.ok(ofRegion.cause === 'refused');
    assert.deepEqual(
      [ofRegion.scope, /Quota 'PREEMPTIBLE_CPUS' exceeded\. {2}Limit: 4\.0 in region/.test(ofRegion.message)],
      ['zone', true],
      ofRegion.message,
    );
    await makeGone(under, vmsPlan('cpus'));
    const ofAll = await lostOf(vmsPlan('gpus', { machineType: 'g2-standard-4' }));
    assert.ok(ofAll.cause === 'refused');
    assert.equal(ofAll.scope, 'installation', ofAll.message);
    await makeGone(under, vmsPlan('gpus'));
    await cloud.takeBack('project');
  });

  it('a create whose answer was lost is made again with no second effect', async () => {
    const plan = vmsPlan('again');
    await cloud.admin('refuse', {
      method: 'instances.insert',
      code: 'UNAVAILABLE',
      message: 'x',
      times: 1,
      afterEffect: true,
    });
    assert.equal((await under.port.create(plan)).kind, 'unanswered');
    const again = await under.port.create(plan);
    // On a busy machine its VMs are made by now, and the request with them.
    if (again.kind !== 'exists') {
      assert.ok(again.kind === 'accepted' && again.operation !== undefined, JSON.stringify(again));
      assert.equal((JSON.parse(again.operation) as string[]).length, 2);
    }
    assert.deepEqual((await vmsNow()).length, 2);
    await makeGone(under, plan);
  });

  it('an answer that was lost counts before the refusal of another VM: it may still come into being', async () => {
    const about = (nameMatches: string, code: string) => ({
      method: 'instances.insert',
      code,
      message: 'x',
      nameMatches,
    });
    await cloud.admin('refuse', about('mixed-1$', 'PERMISSION_DENIED'));
    await cloud.admin('refuse', about('mixed-0$', 'UNAVAILABLE'));
    assert.equal((await under.port.create(vmsPlan('mixed'))).kind, 'unanswered');
    await cloud.takeBack('refuse');
    await cloud.admin('refuse', about('mixed-1$', 'PERMISSION_DENIED'));
    assert.deepEqual(await under.port.create(vmsPlan('mixed')), {
      kind: 'refused',
      scope: 'permission',
      message: 'x',
      isPartial: true,
    });
    await cloud.takeBack('refuse');
    await makeGone(under, vmsPlan('mixed'));
    assert.deepEqual(await vmsNow(), []);
  });

  it('why a VM could not be had is known also if the answer of its create was lost', async () => {
    await cloud.admin('capacity', { zone: ZONE, generation: 'n2-standard-4', chips: 0 });
    const plan = vmsPlan('unheard');
    assert.equal((await under.port.create(plan)).kind, 'accepted');
    const isLost = ({ kind }: Condition): boolean => kind === 'lost';
    const seen = await eventually('it is lost', () => observed(under, plan), isLost, DEADLINE_MS);
    assert.ok(seen.kind === 'lost' && seen.cause === 'refused');
    assert.equal(seen.scope, 'zone');
    await cloud.admin('capacity', { zone: ZONE, generation: 'n2-standard-4', chips: null });
  });

  it('VMs in a tier that is bought flex-start are refused: nothing of them waits in a queue', async () => {
    const answer = await under.port.create(vmsPlan('flex', { pricing: 'flex-start' }));
    const message = 'pricing: flex-start is for Cloud TPU, and these are VMs';
    assert.deepEqual(answer, { kind: 'refused', scope: 'request', message });
  });

  it('a preempted VM of a gang warns while it stops, and is then the loss of the slice', async () => {
    for (const pricing of ['spot', 'preemptible'] as const) {
      const plan = vmsPlan(`taken-${pricing}`, { pricing });
      await makeReady(under, plan);
      await cloud.admin('preempt', { name: `${plan.ref.name}-1`, noticeMs: 1500 });
      const warned = await observed(under, plan);
      assert.ok(warned.kind === 'ready', JSON.stringify(warned));
      assert.equal(warned.warning, `VM ${plan.ref.name}-1 is STOPPING`);
      const seen = await eventually(
        'it is lost',
        () => observed(under, plan),
        ({ kind }) => kind === 'lost',
        DEADLINE_MS,
      );
      assert.ok(seen.kind === 'lost');
      // Spot VMs are asked for with the termination action DELETE; a preemptible one knows only STOP.
      const words = pricing === 'spot' ? 'was preempted and deleted' : 'is TERMINATED';
      assert.deepEqual(
        { cause: seen.cause, message: seen.message },
        { cause: 'preempted', message: `the VM ${plan.ref.name}-1 ${words}` },
      );
      await makeGone(under, plan);
    }
    assert.deepEqual(await vmsNow(), []);
  });

  it('a VM on demand that ended is a failure, and one that somebody deleted is missing beside what is left', async () => {
    const plan = vmsPlan('ended', { pricing: 'ondemand' });
    await makeReady(under, plan);
    await cloud.admin('force', { name: 'ended-0', state: 'TERMINATED' });
    assert.deepEqual(await observed(under, plan), {
      kind: 'lost',
      cause: 'failed',
      message: 'the VM ended-0 is TERMINATED',
    });
    await cloud.admin('force', { name: 'ended-0', state: 'REPAIRING' });
    assert.deepEqual(await observed(under, plan), {
      kind: 'waiting',
      detail: 'VM ended-0 REPAIRING',
      tellAfterMs: 10_000,
    });
    await cloud.admin('force', { name: 'ended-0', state: 'SUSPENDED' });
    assert.equal((await observed(under, plan)).kind, 'lost');
    await cloud.admin('force', { name: 'ended-0', state: 'READY' });
    const path = `${cloud.restEndpoint}/compute/v1/projects/${GOOGLE_PROJECT}/zones/${ZONE}/instances/ended-1`;
    assert.equal((await fetch(path, { method: 'DELETE' })).status, 200);
    const isMissing = (seen: Condition): boolean => seen.kind === 'missing';
    const seen = await eventually('it is missing', () => observed(under, plan), isMissing, DEADLINE_MS);
    assert.deepEqual(seen, { kind: 'missing', isRequestLeft: true });
    await makeGone(under, plan);
  });

  it("somebody else's VM under a name of the gang stays, and what is ours of it goes", async () => {
    const theirs = vmsPlan('shared-1', {
      ownership: ownership({ owner: 'own-2', job: 'theirs' }),
      ref: { ...vmsPlan('shared-1').ref, vms: 1 },
    });
    await makeReady(under, theirs);
    const plan = vmsPlan('shared');
    assert.deepEqual(await under.port.create(plan), { kind: 'exists' });
    const taken = { kind: 'foreign', message: 'the VM shared-1 belongs to job theirs, run run-1' };
    // Until shared-0 has been made, and after it: the gang will never be whole.
    const isUp = (seen: readonly string[]): boolean => seen.includes('shared-0 RUNNING');
    assert.deepEqual(await observed(under, plan), taken);
    await eventually('shared-0 runs', vmsNow, isUp, DEADLINE_MS);
    assert.deepEqual(await observed(under, plan), taken);
    const left = await under.port.observe({ ref: plan.ref, ownership: OWNER });
    assert.deepEqual(left, { kind: 'missing', isRequestLeft: true }, 'to who deletes');
    assert.equal((await under.port.remove(plan.ref, OWNER)).kind, 'refused');
    const look = (): Promise<Condition> => under.port.observe({ ref: plan.ref, ownership: OWNER });
    const seen = await eventually('theirs alone is left', look, ({ kind }) => kind === 'foreign', DEADLINE_MS);
    assert.deepEqual(seen, taken);
    assert.deepEqual(await vmsNow(), ['shared-1 RUNNING']);
    await makeGone(under, theirs);
  });

  it('what is listed at all is listed once for all who watch', async () => {
    const plans = ['one', 'two', 'three'].map((name) => vmsPlan(name, { ref: { ...vmsPlan(name).ref, vms: 1 } }));
    await Promise.all(plans.map((plan) => makeReady(under, plan)));
    const port = cloud.computePort({ periods: { urgentMs: 300, quietMs: 300 } });
    const seq = (await cloud.journal()).at(-1)?.seq ?? 0;
    const signal = AbortSignal.timeout(DEADLINE_MS);
    const seen = await Promise.all(plans.map((plan) => port.watch(plan, { isUrgent: true, signal })));
    assert.ok(seen.every(({ kind }) => kind === 'ready'));
    const calls = (await cloud.journal(seq)).filter(({ kind }) => kind === 'api-call');
    assert.deepEqual(
      calls.map(({ details }) => details['method']),
      ['compute.googleapis.com/compute.v1.instances.list'],
    );
    await Promise.all(plans.map((plan) => makeGone(under, plan)));
  });

  it('an outage says nothing, a project that refuses is refused, and neither is missing', async () => {
    const plan = vmsPlan('quiet');
    await cloud.admin('refuse', { method: 'instances.get', code: 'UNAVAILABLE', message: 'try later' });
    await assert.rejects(observed(under, plan), CloudUnavailable);
    assert.equal((await under.port.remove(plan.ref, OWNER)).kind, 'unanswered');
    await cloud.takeBack('refuse');
    await cloud.admin('refuse', {
      method: 'instances.get',
      code: 'NOT_FOUND',
      message: "The resource 'projects/tpu-project' was not found",
    });
    await assert.rejects(observed(under, plan), CloudRefused);
    await cloud.takeBack('refuse');
    assert.ok(isGone(await observed(under, plan)));
    const elsewhere = { ...plan, ref: { ...plan.ref, zone: 'us-nowhere9-z' } };
    await assert.rejects(observed(under, elsewhere), CloudRefused);
  });

  it('a zone that cannot be reached makes a listing no proof, and hides nothing that is elsewhere', async () => {
    // The rehearsal reaches all zones. As documented of aggregatedList, in each of its two ways.
    const labels = labelsOf(ownership());
    const vm = { name: 'vm-0', zone: `https://www.googleapis.com/compute/v1/projects/p/zones/${ZONE}`, labels };
    const reached = { [`zones/${ZONE}`]: { instances: [vm] } };
    const bodies = [
      { items: { ...reached, 'zones/us-east1-b': { warning: { code: 'UNREACHABLE' } } } },
      { items: reached, unreachables: ['projects/p/zones/us-east1-b'] },
    ];
    for (const body of bodies) {
      const server = createServer((_request, response) => response.end(JSON.stringify(body))).listen(0, '127.0.0.1');
      await once(server, 'listening');
      const { port } = server.address() as AddressInfo;
      const machines = cloud.computePort({ endpoint: `http://127.0.0.1:${port}` });
      try {
        await assert.rejects(machines.listOwned('p', 'own-1'), CloudUnavailable);
        const missing: string[] = [];
        const owned = await machines.listOwned('p', 'own-1', (place) => missing.push(place));
        assert.deepEqual([owned.map(({ ref }) => ref.name), missing], [['vm-0'], ['us-east1-b']]);
      } finally {
        server.close();
      }
    }
  });

  it('the host keys that its agents wrote are read', async () => {
    const plan = vmsPlan('keys');
    await makeReady(under, plan);
    const read = await under.port.readGuestAttributes(plan.ref);
    assert.ok(read.kind === 'read');
    assert.deepEqual(
      read.hosts.map(({ hostname }) => hostname),
      ['keys-0', 'keys-1'],
    );
    for (const { hostKeys } of read.hosts) assert.match(hostKeys[0] ?? '', /^ssh-ed25519 AAAA/);
    await makeGone(under, plan);
  });
});
