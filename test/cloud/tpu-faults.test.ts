import assert from 'node:assert/strict';
import { listEverything } from '../../cloud/tpu/audit.js';
import type { TpuPort } from '../../cloud/tpu/port.js';
import type { AllocationMode, SliceObservation, SlicePlan } from '../../domain/slice.js';
import { eventually } from './eventually.js';
import { startRehearsedCloud, type RehearsedCloud } from './rehearsed-cloud.js';
import { GOOGLE_PROJECT, ownership, slicePlan, ZONE } from './slice-plan.js';
import { isGone, isReady, makeGone, makeReady, type TpuUnderTest } from './tpu-conformance.js';

/** What no real cloud does on request: lost answers, preemptions, outages, and who called how often. */
describe('TpuPort under faults', () => {
  let cloud: RehearsedCloud;
  let port: TpuPort;
  let under: TpuUnderTest;

  before(async () => {
    cloud = await startRehearsedCloud(102);
    port = cloud.tpuPort();
    const place = { googleProject: GOOGLE_PROJECT, zone: ZONE, accelerator: 'v5litepod-4', hosts: 1, owner: 'own-1' };
    under = { port, ...place, deadlineMs: 15_000, close: () => cloud.stop() };
  });
  after(() => cloud.stop());
  afterEach(() => cloud.takeBack('refuse'));

  const plan = (name: string, mode: AllocationMode = 'queued-resources'): SlicePlan =>
    slicePlan(name, mode, { accelerator: 'v5litepod-4' });

  for (const [mode, method] of [
    ['queued-resources', 'CreateQueuedResource'],
    ['tpu-vm', 'CreateNode'],
  ] as const) {
    it(`a lost answer to ${method} is unanswered, sent once, and the slice is there`, async () => {
      const wanted = plan(`lost-${mode}`, mode);
      await cloud.admin('refuse', { method, code: 14, message: 'Connection dropped', times: 1, afterEffect: true });
      const answer = await port.createSlice(wanted);
      assert.equal(answer.kind, 'unanswered', JSON.stringify(answer));
      const calls = (await cloud.journal()).filter(
        ({ kind, subject, details }) =>
          kind === 'api-call' && subject.endsWith(`/${wanted.ref.name}`) && details['method'] === method,
      );
      assert.equal(calls.length, 1);
      const seen = await eventually('it is ready', () => port.observeSlice(wanted.ref), isReady);
      assert.ok(typeof seen.node === 'object');
      assert.deepEqual(seen.node.ownership, wanted.ownership);
      await makeGone(under, wanted);
    });
  }

  it('a refused create says why, and nothing is there', async () => {
    const message = 'There is no more capacity in the zone "us-west4-a"; you can try in another zone';
    await cloud.admin('refuse', { method: 'CreateQueuedResource', code: 8, message, times: 1 });
    const wanted = plan('refused');
    assert.deepEqual(await port.createSlice(wanted), { kind: 'refused', reason: 'no-capacity', message });
    assert.ok(isGone(await port.observeSlice(wanted.ref)));
  });

  it('a node without capacity is refused, or its operation says why', async () => {
    await cloud.admin('configure', { capacity: { [`${ZONE}/v4`]: 4 } });
    const wanted = { ...plan('no-room', 'tpu-vm'), accelerator: 'v4-16', runtimeVersion: 'tpu-ubuntu2204-base' };
    const answer = await port.createSlice(wanted);
    if (answer.kind === 'accepted') {
      const isOver = ({ operation }: SliceObservation): boolean => operation?.isDone === true;
      const seen = await eventually(
        'the operation ends',
        () => port.observeSlice(wanted.ref, answer.operation),
        isOver,
      );
      assert.equal(seen.operation?.error?.code, 8);
    } else {
      assert.ok(answer.kind === 'refused' && answer.reason === 'no-capacity', JSON.stringify(answer));
    }
  });

  it('the operation of a slice that came and went says no error', async () => {
    const wanted = plan('came-and-went', 'tpu-vm');
    const answer = await port.createSlice(wanted);
    assert.ok(answer.kind === 'accepted' && answer.operation !== undefined, JSON.stringify(answer));
    await eventually('it is ready', () => port.observeSlice(wanted.ref), isReady);
    assert.equal((await port.observeSlice(wanted.ref, answer.operation)).operation, undefined);
    await makeGone(under, wanted);
    assert.deepEqual((await port.observeSlice(wanted.ref, answer.operation)).operation, { isDone: true });
    const forgotten = `projects/${GOOGLE_PROJECT}/locations/${ZONE}/operations/operation-1-2-3-4`;
    assert.equal((await port.observeSlice(wanted.ref, forgotten)).operation, undefined);
  });

  it('a preempted slice is seen as a husk, directly and in the listing, blocks its name, and can be deleted', async () => {
    const wanted = plan('husk');
    await makeReady(under, wanted);
    await cloud.admin('preempt', { name: 'husk' });
    const isHusk = ({ queuedResource, node }: SliceObservation): boolean =>
      typeof queuedResource === 'object' &&
      queuedResource.state === 'SUSPENDED' &&
      typeof node === 'object' &&
      node.state === 'PREEMPTED';
    await eventually('it is a husk', () => port.observeSlice(wanted.ref), isHusk);
    const listed = await port.watchSlice(wanted.ref, { isUrgent: true, signal: AbortSignal.timeout(5000) });
    assert.ok(isHusk(listed), JSON.stringify(listed));
    assert.deepEqual(await port.createSlice(wanted), { kind: 'exists' });
    await makeGone(under, wanted);
  });

  it('a node that outlived its queued resource is deleted with it', async () => {
    const wanted = plan('orphan');
    // The node alone, as somebody left it who deleted the queued resource by hand.
    await makeReady(under, { ...wanted, ref: { ...wanted.ref, mode: 'tpu-vm' } });
    const seen = await port.observeSlice(wanted.ref);
    assert.equal(seen.queuedResource, 'not-found');
    assert.equal(typeof seen.node, 'object');
    assert.deepEqual(await port.deleteSlice(wanted.ref, wanted.ownership), { kind: 'accepted' });
    await makeGone(under, wanted);
  });

  it("somebody else's request that still waits for its node is not deleted", async () => {
    const theirs = plan('waits');
    await cloud.admin('hold', { state: 'WAITING_FOR_RESOURCES', nameMatches: 'waits' });
    await port.createSlice(theirs);
    const answer = await port.deleteSlice(theirs.ref, ownership({ owner: 'own-2' }));
    assert.deepEqual(answer, {
      kind: 'refused',
      message: 'waits: its queued resource is not of owner own-2, job train-x1, run run-1',
    });
    assert.ok(!isGone(await port.observeSlice(theirs.ref)));
    await makeGone(under, theirs);
    await cloud.admin('release', { state: 'WAITING_FOR_RESOURCES' });
  });

  for (const [what, code] of [
    ['unavailable', 14],
    ['out of quota for calls', 8],
    ['broken inside', 13],
  ] as const) {
    it(`an API that is ${what} never says not-found or gone`, async () => {
      for (const method of ['GetQueuedResource', 'GetNode', 'ListNodes', 'DeleteQueuedResource', 'DeleteNode']) {
        await cloud.admin('refuse', { method, code });
      }
      const { ref } = plan('unknown');
      const signal = AbortSignal.timeout(5000);
      await assert.rejects(port.observeSlice(ref), { name: 'CloudUnavailable' });
      await assert.rejects(port.watchSlice(ref, { isUrgent: true, signal }), { name: 'CloudUnavailable' });
      await assert.rejects(port.listOwned(GOOGLE_PROJECT, 'own-1'), { name: 'CloudUnavailable' });
      assert.equal((await port.deleteSlice(ref)).kind, 'unanswered');
      assert.equal((await port.deleteSlice(ref, ownership())).kind, 'unanswered');
    });
  }

  it('a forbidden API is refused, and not taken for an empty one', async () => {
    for (const method of ['GetQueuedResource', 'ListNodes', 'DeleteQueuedResource']) {
      await cloud.admin('refuse', { method, code: 7, message: 'Permission denied' });
    }
    const { ref } = plan('forbidden');
    await assert.rejects(port.observeSlice(ref), { name: 'CloudRefused', message: /Permission denied/ });
    await assert.rejects(port.listOwned(GOOGLE_PROJECT, 'own-1'), { name: 'CloudRefused' });
    assert.equal((await port.deleteSlice(ref)).kind, 'refused');
  });

  it('a port is of use again when the API is back', async () => {
    await cloud.admin('refuse', { method: 'GetQueuedResource', code: 14, times: 1 });
    const { ref } = plan('back');
    await assert.rejects(port.observeSlice(ref), { name: 'CloudUnavailable' });
    assert.ok(isGone(await port.observeSlice(ref)));
  });

  it('twenty watchers of a zone cost one listing per period, and none afterwards', async () => {
    const watched = cloud.tpuPort({ periods: { urgentMs: 150, quietMs: 150 } });
    const before = (await cloud.journal()).length;
    const watch = (i: number): Promise<SliceObservation> => {
      const options = { isUrgent: i % 2 === 0, signal: AbortSignal.timeout(5000) };
      return watched.watchSlice(plan(`watched-${i}`).ref, options);
    };
    const rounds = 4;
    const all = Array.from({ length: 20 }, async (_, i) => {
      for (let round = 0; round < rounds; round++) await watch(i);
    });
    await Promise.all(all);
    const events = (await cloud.journal()).slice(before);
    const listings = (method: string): number => events.filter(({ details }) => details['method'] === method).length;
    assert.deepEqual([listings('ListNodes'), listings('ListQueuedResources')], [rounds, rounds]);
  });

  it('a listing of several pages is joined', async () => {
    const paging = cloud.tpuPort({ pageSize: 3 });
    // Held before they get a node: no VM is started for them.
    await cloud.admin('hold', { state: 'WAITING_FOR_RESOURCES', nameMatches: 'crowd-' });
    const crowd = Array.from({ length: 10 }, (_, i) => plan(`crowd-${i}`));
    await Promise.all(crowd.map((member) => port.createSlice(member)));
    for (const { ref } of crowd) {
      const seen = await paging.watchSlice(ref, { isUrgent: true, signal: AbortSignal.timeout(5000) });
      assert.ok(typeof seen.queuedResource === 'object', ref.name);
    }
    const owned = await paging.listOwned(GOOGLE_PROJECT, 'own-1');
    const names = owned.map(({ ref }) => ref.name);
    assert.deepEqual(
      names,
      crowd.map(({ ref }) => ref.name),
    );
    await Promise.all(crowd.map(({ ref }) => port.deleteSlice(ref)));
    await cloud.admin('release', { state: 'WAITING_FOR_RESOURCES' });
    const isEmpty = ({ length }: readonly unknown[]): boolean => length === 0;
    await eventually('the crowd is gone', () => port.listOwned(GOOGLE_PROJECT, 'own-1'), isEmpty);
  });

  it('the audit finds what the port lists as owned, and what was planted by hand', async () => {
    const ours = plan('ours');
    await makeReady(under, ours);
    const planted = slicePlan('planted', 'tpu-vm', {
      accelerator: 'v5litepod-4',
      ownership: ownership({ owner: 'own-2' }),
    });
    await makeReady(under, planted);
    const audited = await listEverything({ restEndpoint: cloud.restEndpoint, googleProject: GOOGLE_PROJECT });
    const line = (kind: string, name: string, state: string): string => `${kind} ${name} ${state}`;
    const owned = (await port.listOwned(GOOGLE_PROJECT, 'own-1')).map(({ kind, ref, state }) =>
      line(kind, ref.name, state),
    );
    const found = audited.map(({ kind, name, state }) => line(kind, name, state));
    assert.deepEqual(owned.toSorted(), ['node ours READY', 'queued-resource ours ACTIVE']);
    assert.deepEqual(found.toSorted(), [...owned, 'node planted READY'].toSorted());
    const node = audited.find(({ kind, name }) => kind === 'node' && name === 'ours');
    assert.deepEqual([node?.chips, node?.queuedResource, node?.zone], [4, 'ours', ZONE]);
    assert.equal(audited.find(({ name }) => name === 'planted')?.labels['jobctl-owner'], 'own-2');
    await makeGone(under, ours);
    await makeGone(under, planted);
  });
});
