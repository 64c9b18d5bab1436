import assert from 'node:assert/strict';
import { listEverything } from '../../cloud/machines/cloud-tpu/audit.js';
import type { CloudTpuMachines } from '../../cloud/machines/cloud-tpu/google-tpu.js';
import type { AllocationMode, CloudTpuPlan } from '../../domain/machine-kinds/cloud-tpu/words.js';
import type { Condition } from '../../domain/slice.js';
import { GOOGLE_PROJECT, ownership, slicePlan, ZONE } from './cloud-tpu-plan.js';
import { eventually } from './eventually.js';
import { isGone, makeGone, makeReady, observed } from './machines-conformance.js';
import { startRehearsedCloud, type RehearsedCloud } from './rehearsed-cloud.js';

/** What no real cloud does on request: lost answers, preemptions, outages, and who called how often. */
describe('the Cloud TPU adapter under faults', () => {
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

  const plan = (name: string, mode: AllocationMode = 'queued-resources'): CloudTpuPlan =>
    slicePlan(name, mode, { accelerator: 'v5litepod-4' });

  for (const [mode, method] of [
    ['queued-resources', 'CreateQueuedResource'],
    ['tpu-vm', 'CreateNode'],
  ] as const) {
    it(`a lost answer to ${method} is unanswered, sent once, and the slice is there`, async () => {
      const wanted = plan(`lost-${mode}`, mode);
      await cloud.admin('refuse', { method, code: 14, message: 'Connection dropped', times: 1, afterEffect: true });
      const answer = await port.create(wanted);
      assert.equal(answer.kind, 'unanswered', JSON.stringify(answer));
      const calls = (await cloud.journal()).filter(
        ({ kind, subject, details }) =>
          kind === 'api-call' && subject.endsWith(`/${wanted.ref.name}`) && details['method'] === method,
      );
      assert.equal(calls.length, 1);
      await eventually('it is ready', () => observed(under, wanted), isReady);
      await makeGone(under, wanted);
    });
  }

  it('a refused create says why, and nothing is there', async () => {
    const message = 'There is no more capacity in the zone "us-west4-a"; you can try in another zone';
    await cloud.admin('refuse', { method: 'CreateQueuedResource', code: 8, message, times: 1 });
    const wanted = plan('refused');
    assert.deepEqual(await port.create(wanted), {
      kind: 'refused',
      scope: 'zone',
      message,
    });
    assert.ok(isGone(await observed(under, wanted)));
  });

  it('a node without capacity is refused, or its operation says why', async () => {
    await cloud.admin('configure', { capacity: { [`${ZONE}/v4`]: 4 } });
    const wanted = { ...plan('no-room', 'tpu-vm'), accelerator: 'v4-16', runtimeVersion: 'tpu-ubuntu2204-base' };
    const answer = await port.create(wanted);
    if (answer.kind === 'accepted') {
      const { ref, ownership: own } = wanted;
      const ask = (): Promise<Condition> => port.observe({ ref, ownership: own, ...operationOf(answer) });
      const isOver = ({ kind }: Condition): boolean => kind === 'lost';
      const seen = await eventually('the operation ends', ask, isOver);
      assert.ok(seen.kind === 'lost' && seen.cause === 'refused' && seen.scope === 'zone', JSON.stringify(seen));
    } else {
      assert.ok(answer.kind === 'refused' && answer.scope === 'zone', JSON.stringify(answer));
    }
  });

  it('the operation of a slice that came and went is no evidence of a loss', async () => {
    const wanted = plan('came-and-went', 'tpu-vm');
    const answer = await port.create(wanted);
    assert.ok(answer.kind === 'accepted' && answer.operation !== undefined, JSON.stringify(answer));
    await eventually('it is ready', () => observed(under, wanted), isReady);
    const ask = (operation: string): Promise<Condition> => port.observe({ ...wanted, operation });
    assert.equal((await ask(answer.operation)).kind, 'ready');
    await makeGone(under, wanted);
    assert.deepEqual(await ask(answer.operation), { kind: 'missing' });
    const forgotten = `projects/${GOOGLE_PROJECT}/locations/${ZONE}/operations/operation-1-2-3-4`;
    assert.deepEqual(await ask(forgotten), { kind: 'missing' });
  });

  it('a preempted slice is seen as a husk, directly and in the listing, blocks its name, and can be deleted', async () => {
    const wanted = plan('husk');
    await makeReady(under, wanted);
    await cloud.admin('preempt', { name: 'husk' });
    const isHusk = (seen: Condition): boolean => seen.kind === 'lost' && seen.cause === 'preempted';
    await eventually('it is a husk', () => observed(under, wanted), isHusk);
    const listed = await port.watch(wanted, { isUrgent: true, signal: AbortSignal.timeout(5000) });
    assert.ok(isHusk(listed), JSON.stringify(listed));
    assert.deepEqual(await port.create(wanted), { kind: 'exists' });
    await makeGone(under, wanted);
  });

  it('a removal is under way until its request is gone, then done; one that never was is unknown', async () => {
    const wanted = plan('removed');
    await makeReady(under, wanted);
    await cloud.admin('hold', { state: 'DELETING', nameMatches: 'removed' });
    const answer = await port.remove(wanted.ref, wanted.ownership);
    assert.ok(answer.kind === 'accepted' && answer.operation !== undefined, JSON.stringify(answer));
    assert.equal(await port.removal(answer.operation), 'under way');
    await cloud.admin('release', {});
    await makeGone(under, wanted);
    assert.equal(await port.removal(answer.operation), 'done');
    assert.equal(await port.removal(`${answer.operation}-other`), 'unknown');
  });

  it('a node that outlived its queued resource is deleted with it', async () => {
    const wanted = plan('orphan');
    // The node alone, as somebody left it who deleted the queued resource by hand.
    await makeReady(under, { ...wanted, ref: { ...wanted.ref, mode: 'tpu-vm' } });
    assert.equal((await observed(under, wanted)).kind, 'ready');
    assert.equal((await port.remove(wanted.ref, wanted.ownership)).kind, 'accepted');
    await makeGone(under, wanted);
  });

  for (const mode of ['queued-resources', 'tpu-vm'] as const)
    it(`in ${mode} mode a name under which the look found nothing is not deleted blindly: it may be another's by then`, async () => {
      const absent = slicePlan('absent', mode);
      const before = (await cloud.journal()).length;
      assert.deepEqual(await port.remove(absent.ref, absent.ownership), { kind: 'gone' });
      const methods = (await cloud.journal()).slice(before).map(({ details }) => String(details['method']));
      assert.ok(methods.includes('GetNode'), methods.join());
      assert.deepEqual(
        methods.filter((method) => method.startsWith('Delete')),
        [],
      );
    });

  it("somebody else's request that still waits for its node is not deleted", async () => {
    const theirs = plan('waits');
    await cloud.admin('hold', { state: 'WAITING_FOR_RESOURCES', nameMatches: 'waits' });
    await port.create(theirs);
    const answer = await port.remove(theirs.ref, ownership({ owner: 'own-2' }));
    assert.deepEqual(answer, {
      kind: 'refused',
      message: 'waits: its queued resource is not of owner own-2, job train-x1, run run-1',
    });
    assert.ok(!isGone(await observed(under, theirs)));
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
      const wanted = plan('unknown');
      const signal = AbortSignal.timeout(5000);
      await assert.rejects(observed(under, wanted), { name: 'CloudUnavailable' });
      await assert.rejects(port.watch(wanted, { isUrgent: true, signal }), { name: 'CloudUnavailable' });
      await assert.rejects(port.listOwned(GOOGLE_PROJECT, 'own-1'), { name: 'CloudUnavailable' });
      assert.equal((await port.remove(wanted.ref, ownership())).kind, 'unanswered');
    });
  }

  it('a zone that cannot be reached makes a listing no proof, and hides nothing that is elsewhere', async () => {
    const wanted = plan('elsewhere');
    await makeReady(under, wanted);
    await cloud.admin('configure', { unreachableZones: ['us-central2-b'] });
    await assert.rejects(port.listOwned(GOOGLE_PROJECT, 'own-1'), {
      name: 'CloudUnavailable',
      message: /could not reach projects\/[^/]+\/locations\/us-central2-b/,
    });
    const missing = new Set<string>();
    const owned = await port.listOwned(GOOGLE_PROJECT, 'own-1', (place) => missing.add(place));
    assert.ok(owned.some(({ ref }) => ref.name === wanted.ref.name));
    assert.deepEqual([...missing], ['us-central2-b']);
    await cloud.admin('configure', { unreachableZones: [ZONE] });
    await assert.rejects(port.watch(wanted, { isUrgent: true, signal: AbortSignal.timeout(5000) }), {
      name: 'CloudUnavailable',
    });
    await cloud.admin('configure', { unreachableZones: [] });
    await makeGone(under, wanted);
  });

  it('a forbidden API is refused, and not taken for an empty one', async () => {
    for (const method of ['GetQueuedResource', 'ListNodes', 'DeleteQueuedResource']) {
      await cloud.admin('refuse', { method, code: 7, message: 'Permission denied' });
    }
    const wanted = plan('forbidden');
    await assert.rejects(observed(under, wanted), { name: 'CloudRefused', message: /Permission denied/ });
    await assert.rejects(port.listOwned(GOOGLE_PROJECT, 'own-1'), { name: 'CloudRefused' });
    assert.equal((await port.remove(wanted.ref, ownership())).kind, 'refused');
  });

  it('a port is of use again when the API is back', async () => {
    await cloud.admin('refuse', { method: 'GetQueuedResource', code: 14, times: 1 });
    const wanted = plan('back');
    await assert.rejects(observed(under, wanted), { name: 'CloudUnavailable' });
    assert.ok(isGone(await observed(under, wanted)));
  });

  it('twenty watchers of a zone cost one listing per period, and none afterwards', async () => {
    const watched = cloud.tpuPort({ periods: { urgentMs: 150, quietMs: 150 } });
    const before = (await cloud.journal()).length;
    const watch = (i: number): Promise<Condition> => {
      const options = { isUrgent: i % 2 === 0, signal: AbortSignal.timeout(5000) };
      return watched.watch(plan(`watched-${i}`), options);
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
    await Promise.all(crowd.map((member) => port.create(member)));
    for (const member of crowd) {
      const seen = await paging.watch(member, { isUrgent: true, signal: AbortSignal.timeout(5000) });
      assert.equal(seen.kind, 'waiting', member.ref.name);
    }
    const owned = await paging.listOwned(GOOGLE_PROJECT, 'own-1');
    const names = owned.map(({ ref }) => ref.name);
    assert.deepEqual(
      names,
      crowd.map(({ ref }) => ref.name),
    );
    await Promise.all(crowd.map(({ ref }) => port.remove(ref, ownership())));
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
    const owned = (await port.listOwned(GOOGLE_PROJECT, 'own-1')).map(({ ref }) => ref.name);
    assert.deepEqual(owned, ['ours', 'ours']);
    assert.deepEqual(audited.map(({ kind, name, state }) => `${kind} ${name} ${state}`).toSorted(), [
      'node ours READY',
      'node planted READY',
      'queued-resource ours ACTIVE',
    ]);
    const node = audited.find(({ kind, name }) => kind === 'node' && name === 'ours');
    assert.deepEqual([node?.chips, node?.request, node?.zone], [4, 'ours', ZONE]);
    assert.equal(audited.find(({ name }) => name === 'planted')?.labels['jobctl-owner'], 'own-2');
    await makeGone(under, ours);
    await makeGone(under, planted);
  });
});

const isReady = ({ kind }: Condition): boolean => kind === 'ready';
const operationOf = ({ operation }: { readonly operation?: string }) => (operation === undefined ? {} : { operation });
