import assert from 'node:assert/strict';
import type { TpuPort } from '../../cloud/tpu/port.js';
import type { AllocationMode, SliceObservation, SlicePlan } from '../../domain/slice.js';
import { eventually } from './eventually.js';
import { ownership, slicePlan } from './slice-plan.js';

/** Where the suite runs: a port, and what to ask for there. Everything it makes is of `owner`, and it deletes it. */
export interface TpuUnderTest {
  readonly port: TpuPort;
  readonly googleProject: string;
  readonly zone: string;
  readonly accelerator: string;
  readonly hosts: number;
  readonly owner: string;
  /** How long a slice may take to become ready, or to go. */
  readonly deadlineMs: number;
  close(): Promise<void>;
}

const MODES: readonly AllocationMode[] = ['queued-resources', 'tpu-vm'];

/** What every `TpuPort` must do, whatever stands behind it. Each case leaves nothing behind if it passes. */
export function exerciseTpuPort(name: string, open: () => Promise<TpuUnderTest>): void {
  describe(`TpuPort on ${name}`, () => {
    let under: TpuUnderTest;
    before(async () => {
      under = await open();
    });
    after(() => under.close());

    for (const mode of MODES) {
      describe(mode, () => {
        lifeCases(() => under, mode);
        nameCases(() => under, mode);
      });
    }
    it('nothing of a name is not-found, and deleting it says gone', async () => {
      for (const mode of MODES) {
        const { ref } = planOn(under, 'absent', mode);
        const seen = await under.port.observeSlice(ref);
        assert.equal(seen.node, 'not-found');
        assert.equal(seen.queuedResource, mode === 'tpu-vm' ? 'unused' : 'not-found');
        assert.deepEqual(await under.port.deleteSlice(ref), { kind: 'gone' });
      }
    });
  });
}

export function planOn(under: TpuUnderTest, name: string, mode: AllocationMode): SlicePlan {
  const { googleProject, zone, accelerator, owner } = under;
  const ref = { googleProject, zone, name: `${owner}-${name}`, mode };
  return slicePlan(ref.name, mode, { ref, accelerator, ownership: ownership({ owner }) });
}

export const isReady = ({ node, queuedResource }: SliceObservation): boolean =>
  typeof node === 'object' &&
  node.state === 'READY' &&
  (typeof queuedResource === 'string' ? queuedResource === 'unused' : queuedResource.state === 'ACTIVE');

export const isGone = ({ node, queuedResource }: SliceObservation): boolean =>
  node === 'not-found' && (queuedResource === 'not-found' || queuedResource === 'unused');

export async function makeReady({ port, deadlineMs }: TpuUnderTest, plan: SlicePlan): Promise<SliceObservation> {
  const answer = await port.createSlice(plan);
  assert.equal(answer.kind, 'accepted', JSON.stringify(answer));
  return eventually(`${plan.ref.name} is ready`, () => port.observeSlice(plan.ref), isReady, deadlineMs);
}

/** Deletes again while something is left, as a slice's owner does. */
export async function makeGone({ port, deadlineMs }: TpuUnderTest, { ref, ownership }: SlicePlan): Promise<void> {
  const deleteAndLook = async (): Promise<SliceObservation> => {
    await port.deleteSlice(ref, ownership);
    return port.observeSlice(ref);
  };
  await eventually(`${ref.name} is gone`, deleteAndLook, isGone, deadlineMs);
}

function lifeCases(under: () => TpuUnderTest, mode: AllocationMode): void {
  it('a slice is created, becomes ready with its hosts and owner, is deleted and gone', async () => {
    const plan = planOn(under(), 'life', mode);
    const seen = await makeReady(under(), plan);
    assert.ok(typeof seen.node === 'object');
    assert.deepEqual(seen.node.ownership, plan.ownership);
    assert.deepEqual(
      seen.node.hosts.map(({ index }) => index),
      [...Array(under().hosts).keys()],
    );
    assert.match(seen.node.nodeId, /^\d+$/);
    if (typeof seen.queuedResource === 'object') assert.deepEqual(seen.queuedResource.ownership, plan.ownership);
    const answer = await under().port.deleteSlice(plan.ref, plan.ownership);
    assert.equal(answer.kind, 'accepted');
    await makeGone(under(), plan);
  });

  it('a listing shows a slice as a direct look does', async () => {
    const plan = planOn(under(), 'watched', mode);
    const direct = await makeReady(under(), plan);
    const signal = AbortSignal.timeout(under().deadlineMs);
    const listed = await under().port.watchSlice(plan.ref, { isUrgent: true, signal });
    assert.deepEqual({ ...listed, at: 0 }, { ...direct, at: 0 });
    await makeGone(under(), plan);
    const gone = await under().port.watchSlice(plan.ref, { isUrgent: true, signal });
    assert.ok(isGone(gone), JSON.stringify(gone));
  });

  it('what is owned is listed over all zones, by kind, until it is gone', async () => {
    const plan = planOn(under(), 'owned', mode);
    await makeReady(under(), plan);
    const owned = await ownedNames(under());
    assert.deepEqual(
      owned,
      mode === 'tpu-vm'
        ? [`node ${plan.ref.name} tpu-vm`]
        : [`node ${plan.ref.name} queued-resources`, `queued-resource ${plan.ref.name} queued-resources`],
    );
    assert.deepEqual(await under().port.listOwned(under().googleProject, 'nobody'), []);
    await makeGone(under(), plan);
    assert.deepEqual(await ownedNames(under()), []);
  });
}

async function ownedNames({ port, googleProject, owner }: TpuUnderTest): Promise<readonly string[]> {
  const owned = await port.listOwned(googleProject, owner);
  return owned.map(({ kind, ref }) => `${kind} ${ref.name} ${ref.mode}`).sort();
}

function nameCases(under: () => TpuUnderTest, mode: AllocationMode): void {
  it('a second create of one name says exists, and changes nothing', async () => {
    const plan = planOn(under(), 'twice', mode);
    const first = await makeReady(under(), plan);
    const other = { ...plan, ownership: ownership({ owner: 'own-2' }) };
    assert.deepEqual(await under().port.createSlice(other), { kind: 'exists' });
    const second = await under().port.observeSlice(plan.ref);
    assert.deepEqual({ ...second, at: 0 }, { ...first, at: 0 });
    await makeGone(under(), plan);
  });

  it("somebody else's slice is not deleted", async () => {
    const plan = planOn(under(), 'theirs', mode);
    await makeReady(under(), plan);
    for (const over of [{ owner: 'own-2' }, { job: 'other' }, { run: 'run-2' }]) {
      const answer = await under().port.deleteSlice(plan.ref, { ...plan.ownership, ...over });
      assert.equal(answer.kind, 'refused', JSON.stringify(over));
    }
    assert.ok(isReady(await under().port.observeSlice(plan.ref)));
    await makeGone(under(), plan);
  });

  it('a type that Google does not know is a bad request', async () => {
    const plan = { ...planOn(under(), 'bad', mode), accelerator: 'v99-1' };
    const answer = await under().port.createSlice(plan);
    assert.ok(answer.kind === 'refused' && answer.reason === 'bad-request', JSON.stringify(answer));
    assert.ok(isGone(await under().port.observeSlice(plan.ref)));
  });
}
