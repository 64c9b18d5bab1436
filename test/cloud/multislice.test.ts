import assert from 'node:assert/strict';
import { listEverything } from '../../cloud/machines/cloud-tpu/audit.js';
import type { CloudTpuMachines } from '../../cloud/machines/cloud-tpu/google-tpu.js';
import { nodeRefs } from '../../domain/machine-kinds/cloud-tpu/plan.js';
import type { CloudTpuPlan } from '../../domain/machine-kinds/cloud-tpu/words.js';
import { machinesOfSlices, type Condition, type Owner } from '../../domain/slice.js';
import { GOOGLE_PROJECT, ownership, slicePlan, ZONE } from './cloud-tpu-plan.js';
import { eventually } from './eventually.js';
import { isGone, makeGone, makeReady, observed } from './machines-conformance.js';
import { startRehearsedCloud, type RehearsedCloud } from './rehearsed-cloud.js';

const owner: Owner = (({ owner: whose, job, run }) => ({ owner: whose, job, run }))(ownership());

const is200 = (status: number): boolean => status === 200;

/** docs/adr/0054 */
describe('one request for two slices, over the wire', function () {
  this.timeout(60_000);
  let cloud: RehearsedCloud;
  let port: CloudTpuMachines;
  let under: { readonly port: CloudTpuMachines; readonly deadlineMs: number };

  before(async () => {
    cloud = await startRehearsedCloud();
    port = cloud.tpuPort();
    under = { port, deadlineMs: 15_000 };
  });
  after(() => cloud.stop());
  afterEach(() => cloud.takeBack('refuse'));

  /** Two hosts each. */
  const plan = (name: string, over: Partial<CloudTpuPlan> = {}): CloudTpuPlan => {
    const usual = slicePlan(name, 'queued-resources', { accelerator: 'v5litepod-16', ...over });
    return { ...usual, ref: { ...usual.ref, slices: 2 } };
  };
  /** A node by itself, under the name of one of the request's. */
  const lone = (name: string, over: Partial<CloudTpuPlan> = {}): CloudTpuPlan =>
    slicePlan(name, 'tpu-vm', { accelerator: 'v5litepod-16', ...over });
  const whileDeleting = (wanted: CloudTpuPlan): Promise<Condition> =>
    port.observe({ ref: wanted.ref, ownership: owner });
  const becomes = (wanted: CloudTpuPlan, kind: Condition['kind']): Promise<Condition> =>
    eventually(
      `${wanted.ref.name} is ${kind}`,
      () => observed(under, wanted),
      (seen) => seen.kind === kind,
    );
  const everything = async (): Promise<readonly string[]> =>
    (await listEverything({ restEndpoint: cloud.restEndpoint, googleProject: GOOGLE_PROJECT })).map(
      ({ kind, name, chips }) => `${kind} ${name} ${chips}`,
    );

  it('is made with one call, is ready with the hosts of both by their order, and goes with one removal', async () => {
    const wanted = plan('whole');
    const ready = await makeReady(under, wanted);
    const slices = machinesOfSlices(ready);
    assert.deepEqual(
      slices.map(({ hosts }) => hosts.map(({ index }) => index)),
      [
        [0, 1, 2, 3],
        [0, 1, 2, 3],
      ],
    );
    assert.equal(new Set(slices.flatMap(({ hosts }) => hosts.map(({ internalIp }) => internalIp))).size, 8);
    const alone = await Promise.all(nodeRefs(wanted.ref).map((ref) => port.observe({ ...wanted, ref })));
    assert.deepEqual(
      alone,
      slices.map((machines) => ({ kind: 'ready', ...machines })),
      'each slice can be looked at alone',
    );
    const signal = AbortSignal.timeout(5000);
    assert.deepEqual(await port.watch(wanted, { isUrgent: true, signal }), ready);
    const listed = ['node whole-0 16', 'node whole-1 16', 'queued-resource whole 32'];
    assert.deepEqual((await everything()).toSorted(), listed);
    const owned = await port.listOwned(GOOGLE_PROJECT, 'own-1');
    assert.equal(owned.length, 3);
    for (const each of owned) assert.deepEqual(each, { ref: wanted.ref, ownership: wanted.ownership });

    const answer = await port.remove(wanted.ref, owner);
    assert.ok(answer.kind === 'accepted' && answer.operation !== undefined, JSON.stringify(answer));
    await eventually('it is gone', () => whileDeleting(wanted), isGone);
    assert.equal(await port.removal(answer.operation), 'done');
    assert.deepEqual(await everything(), []);
    const calls = (await cloud.journal()).flatMap(({ kind, details }) =>
      kind === 'api-call' && /^(Create|Delete)/.test(String(details['method'])) ? [details['method']] : [],
    );
    assert.deepEqual(calls, ['CreateQueuedResource', 'DeleteQueuedResource']);
  });

  it('whose answer was lost is there, is adopted by its own labels alone, and is not made again', async () => {
    const wanted = plan('lost');
    await cloud.admin('refuse', { method: 'CreateQueuedResource', code: 14, times: 1, afterEffect: true });
    assert.equal((await port.create(wanted)).kind, 'unanswered');
    assert.deepEqual(await port.create(wanted), { kind: 'exists' });
    await becomes(wanted, 'ready');
    for (const over of [{ owner: 'own-2' }, { run: 'run-2' }, { generation: 2 }, { spec: 'other' }])
      assert.equal(
        (await port.observe({ ...wanted, ownership: ownership(over) })).kind,
        'foreign',
        JSON.stringify(over),
      );
    assert.equal((await port.remove(wanted.ref, { ...owner, run: 'run-2' })).kind, 'refused');
    await becomes(wanted, 'ready');
    await makeGone(under, wanted);
  });

  for (const othersOnPreemption of ['kept', 'preempted']) {
    it(`that lost one node (the other is ${othersOnPreemption}) is lost, and both nodes and the request go`, async () => {
      await cloud.admin('configure', { othersOnPreemption });
      const wanted = plan(`one-${othersOnPreemption}`);
      await makeReady(under, wanted);
      await cloud.admin('preempt', { name: `${wanted.ref.name}-1` });
      const seen = await becomes(wanted, 'lost');
      assert.ok(seen.kind === 'lost' && seen.cause === 'preempted', JSON.stringify(seen));
      const listed = await port.watch(wanted, { isUrgent: true, signal: AbortSignal.timeout(5000) });
      assert.equal(listed.kind, 'lost');
      await makeGone(under, wanted);
      assert.deepEqual(await everything(), []);
    });
  }

  it('costs one call a look while it waits, and none of it is another’s to remove', async () => {
    const wanted = plan('waits');
    await cloud.admin('hold', { state: 'WAITING_FOR_RESOURCES', nameMatches: 'waits' });
    assert.equal((await port.create(wanted)).kind, 'accepted');
    const before = (await cloud.journal()).length;
    const seen = await observed(under, wanted);
    assert.ok(seen.kind === 'waiting' && seen.detail.endsWith('(WAITING_FOR_RESOURCES)'), JSON.stringify(seen));
    const methods = (await cloud.journal()).slice(before).map(({ details }) => details['method']);
    assert.deepEqual(methods, ['GetQueuedResource']);
    assert.equal((await port.remove(wanted.ref, { ...owner, owner: 'own-2' })).kind, 'refused');
    await makeGone(under, wanted);
    await cloud.admin('release', { state: 'WAITING_FOR_RESOURCES' });
  });

  it('whose one node was deleted by hand is not gone, and is not ready', async () => {
    const wanted = plan('by-hand');
    await makeReady(under, wanted);
    const [first] = nodeRefs(wanted.ref);
    assert.ok(first);
    const { request: _, ...bare } = first;
    assert.equal((await port.remove({ ...bare, mode: 'tpu-vm' }, owner)).kind, 'accepted');
    const isOver = ({ kind }: Condition): boolean => kind !== 'ready' && kind !== 'missing';
    const seen = await eventually('it is lost', () => observed(under, wanted), isOver);
    assert.equal(seen.kind, 'lost', JSON.stringify(seen));
    await makeGone(under, wanted);
    assert.deepEqual(await everything(), []);
  });

  it('with somebody else’s node in the place of one of its own stays, and only our node goes', async () => {
    const wanted = plan('mixed');
    const theirs = lone('mixed-1', { ownership: ownership({ owner: 'own-2' }) });
    await makeReady(under, wanted);
    await makeGone(under, lone('mixed-1'));
    await makeReady(under, theirs);
    const answer = await port.remove(wanted.ref, owner);
    assert.ok(answer.kind === 'refused' && /its node is not of owner own-1/.test(answer.message), answer.kind);
    const left = ['node mixed-1 16', 'queued-resource mixed 32'];
    await eventually('our node is gone', everything, (all) => all.toSorted().join() === left.join());
    assert.equal((await whileDeleting(wanted)).kind, 'lost', 'there is something to remove');
    await makeGone(under, theirs);
    await makeGone(under, wanted);
  });

  it('is gone when the last of its nodes is', async () => {
    const wanted = plan('slow');
    await makeReady(under, wanted);
    await cloud.admin('hold', { state: 'DELETING', nameMatches: 'slow-1$' });
    assert.equal((await port.remove(wanted.ref, owner)).kind, 'accepted');
    const isHalf = async (): Promise<boolean> => !(await everything()).some((each) => each.startsWith('node slow-0'));
    await eventually('the first node is gone', isHalf, (is) => is);
    assert.equal((await whileDeleting(wanted)).kind, 'deleting');
    await cloud.admin('release', {});
    await eventually('it is gone', () => whileDeleting(wanted), isGone);
  });

  it('of which nodes are left alone is found by them, and each is deleted; somebody else’s is not', async () => {
    const wanted = plan('orphans');
    const theirs = lone('orphans-1', { ownership: ownership({ owner: 'own-2' }) });
    await makeReady(under, lone('orphans-0'));
    await makeReady(under, theirs);
    const left = await whileDeleting(wanted);
    assert.deepEqual(left, { kind: 'missing', isRequestLeft: true }, 'there is something to remove');
    assert.equal((await port.remove(wanted.ref, owner)).kind, 'refused');
    await eventually('ours is gone', everything, (all) => !all.some((each) => each.startsWith('node orphans-0')));
    assert.equal((await whileDeleting(wanted)).kind, 'foreign');
    assert.deepEqual(await everything(), ['node orphans-1 16']);
    await makeGone(under, theirs);
  });

  it('both of whose nodes outlived it is found by them, and removed node by node', async () => {
    await cloud.admin('configure', { othersOnPreemption: 'kept' });
    const wanted = plan('both');
    await makeReady(under, wanted);
    await cloud.admin('preempt', { name: 'both-1' });
    // Without force, which is allowed for a SUSPENDED one, its nodes stay.
    const url = `${cloud.restEndpoint}/v2/projects/${GOOGLE_PROJECT}/locations/${ZONE}/queuedResources/both`;
    await eventually('it is deleted without them', async () => (await fetch(url, { method: 'DELETE' })).status, is200);
    await eventually('its nodes are left', everything, (all) => all.join() === 'node both-0 16,node both-1 16');
    const owned = await port.listOwned(GOOGLE_PROJECT, 'own-1');
    assert.equal(owned.length, 2);
    for (const each of owned) assert.deepEqual(each, { ref: wanted.ref, ownership: wanted.ownership });
    assert.deepEqual(await port.listOwned(GOOGLE_PROJECT, 'own-2'), []);
    assert.equal((await whileDeleting(wanted)).kind, 'lost');
    assert.deepEqual(await port.remove(wanted.ref, owner), { kind: 'accepted' });
    await eventually('both are gone', () => whileDeleting(wanted), isGone);
    assert.deepEqual(await everything(), []);
  });

  it('is refused for a type that Google takes no multislice of', async () => {
    const usual = plan('old', { accelerator: 'v3-8', runtimeVersion: 'tpu-ubuntu2204-base' });
    const wanted = { ...usual, ref: { ...usual.ref, zone: 'us-central1-a' } };
    const answer = await port.create(wanted);
    assert.equal(answer.kind, 'refused', JSON.stringify(answer));
    assert.ok(isGone(await observed(under, wanted)));
  });
});
