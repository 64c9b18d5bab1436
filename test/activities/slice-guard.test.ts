import assert from 'node:assert/strict';
import { MockActivityEnvironment } from '@temporalio/testing';
import { SliceGuard } from '../../activities/attempt/slice-guard.js';
import type { ReadySlice } from '../../activities/contract.js';
import type { TpuPort } from '../../cloud/tpu/port.js';
import type { Ownership, SliceObservation } from '../../domain/slice.js';

const OWNERSHIP: Ownership = { owner: 'o', job: 'train', run: 'r', generation: 1, spec: 's' };
const slice = {
  index: 0,
  ref: { googleProject: 'p', zone: 'z', name: 'jc-train-g1' },
  ownership: OWNERSHIP,
} as ReadySlice;

/** A cloud in which the one node is PREEMPTED from the second look on; answers take a turn of the event loop, as real ones do. */
function cloudThatTakesIt(): { readonly tpu: TpuPort; looks(): number } {
  let looks = 0;
  const observeSlice = async (): Promise<SliceObservation> => {
    looks += 1;
    await new Promise((resolve) => setImmediate(resolve));
    const node = { state: looks < 2 ? 'READY' : 'PREEMPTED', ownership: OWNERSHIP, nodeId: '1', hosts: [] };
    return { queuedResource: 'none', node } as unknown as SliceObservation;
  };
  const tpu = { observeSlice, watchSlice: () => new Promise(() => undefined) } as unknown as TpuPort;
  return { tpu, looks: () => looks };
}

it('a guard that is asked whether a slice is lost says so once it is, and asks no more', async () => {
  await new MockActivityEnvironment().run(async () => {
    const end = new AbortController();
    const { tpu, looks } = cloudThatTakesIt();
    const guard = new SliceGuard(tpu, [slice], 0, end.signal);
    assert.equal(await guard.lookAtAll(0), false);
    assert.equal(await guard.lookAtAll(60_000), true);
    assert.equal((await guard.lost)[0]?.cause, 'preempted');
    assert.equal(looks(), 2);
    end.abort();
  });
});
