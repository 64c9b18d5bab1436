import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { leftoverOf, noteSlice } from '../../cli/commands/verbs/contract.js';
import { ownIdentity } from '../../cli/place/stack/process-identity.js';
import { type LifeMeans, SliceLife } from '../../cli/doctor/contract/slice-life.js';
import { CallFailed, type TpuApi } from '../../cloud/machines/cloud-tpu/tpu-api.js';
import { CloudUnavailable } from '../../cloud/machines/port.js';
import { labelsOf } from '../../domain/identity.js';
import { ownership, slicePlan } from '../cloud/cloud-tpu-plan.js';

const plan = slicePlan('jobctl-contract-x', 'queued-resources', { accelerator: 'v5litepod-1' });
const FOREVER = new AbortController().signal;

/** A service of which only what the case needs is written down: what there is at each look, and how the create call ends. */
class Service {
  looks = 0;
  readonly deleted: string[] = [];
  #last = 'gone';
  readonly #shown: (look: number, isDeleted: boolean) => string;
  readonly #create: () => Promise<object>;
  readonly #labels: Readonly<Record<string, string>>;

  constructor(
    shown: (look: number, isDeleted: boolean) => string,
    create: () => Promise<object>,
    labels = labelsOf(ownership()),
  ) {
    this.#shown = shown;
    this.#create = create;
    this.#labels = labels;
  }

  api(): TpuApi {
    const remove = async (name: string): Promise<object> => {
      if (this.#last === 'gone') throw new CallFailed({ code: 5, message: 'not found' }, 'DeleteQueuedResource');
      this.deleted.push(name.split('/').at(-2) ?? '');
      return {};
    };
    return {
      createQueuedResource: this.#create,
      getQueuedResource: async (name: string) => {
        const state = this.#shown((this.looks += 1), this.deleted.length > 0);
        this.#last = state;
        if (state === 'unreachable') throw new CloudUnavailable('no answer');
        return state === 'gone'
          ? undefined
          : { name, state: { state }, tpu: { nodeSpec: [{ node: { labels: this.#labels } }] } };
      },
      getNode: async () => undefined,
      getOperation: async () => ({ done: this.looks > 60 }),
      listNodes: async () => [],
      listQueuedResources: async () => [],
      deleteQueuedResource: remove,
      deleteNode: remove,
    } as unknown as TpuApi;
  }
}

const accepted = async (): Promise<object> => ({ name: 'operations/o' });
const failing = (code: number) => async (): Promise<never> => {
  throw new CallFailed({ code, message: 'so it is' }, 'CreateQueuedResource');
};

const meansOf = (service: Service): LifeMeans => ({
  api: service.api(),
  about: () => undefined,
  save: () => undefined,
  tell: () => undefined,
  everyMs: 0,
});

async function lived(service: Service): Promise<{ readonly end: string; readonly isGone: boolean }> {
  const life = new SliceLife(meansOf(service), { ref: plan.ref, owner: plan.ownership.owner });
  const { end } = await life.live(plan, FOREVER);
  return { end, isGone: await life.remove(FOREVER) };
}

describe('the life of a slice of jobctl contract', () => {
  it('deletes a request that comes long after its create call had no answer', async () => {
    const service = new Service((look, isDeleted) => (look < 36 || isDeleted ? 'gone' : 'PROVISIONING'), failing(14));
    assert.deepEqual([await lived(service), service.deleted[0]], [{ end: 'over', isGone: true }, 'queuedResources']);
  });

  it('does not take what is not shown yet for the end, while the create operation is open', async () => {
    const service = new Service((look, isDeleted) => (look < 50 || isDeleted ? 'gone' : 'FAILED'), accepted);
    assert.deepEqual([await lived(service), service.deleted[0]], [{ end: 'over', isGone: true }, 'queuedResources']);
  });

  it('does not take an outage for the end', async () => {
    const service = new Service((look, isDeleted) => {
      if (look > 3 && look < 20) return 'unreachable';
      return isDeleted && look > 25 ? 'gone' : 'FAILED';
    }, accepted);
    assert.deepEqual([await lived(service), service.looks > 26], [{ end: 'over', isGone: true }, true]);
  });

  it('looks no further where Google surely made nothing', async () => {
    const service = new Service(() => 'gone', failing(8));
    assert.deepEqual([await lived(service), service.looks], [{ end: 'refused', isGone: true }, 2]);
  });

  it('deletes it although nothing can be written down', async () => {
    const service = new Service((_look, isDeleted) => (isDeleted ? 'gone' : 'FAILED'), accepted);
    const full = (): never => {
      throw new Error('the disk is full');
    };
    const means = { ...meansOf(service), save: full };
    const life = new SliceLife(means, { ref: plan.ref, owner: plan.ownership.owner });
    await life.live(plan, FOREVER);
    assert.deepEqual([await life.remove(FOREVER), service.deleted], [true, ['queuedResources']]);
  });

  it('is not asked for after a signal', async () => {
    let asked = 0;
    const service = new Service(
      () => 'gone',
      async () => ({ name: `operations/${(asked += 1)}` }),
    );
    const life = new SliceLife(meansOf(service), { ref: plan.ref, owner: plan.ownership.owner });
    assert.equal((await life.live(plan, AbortSignal.abort())).end, 'time');
    assert.deepEqual([await life.remove(FOREVER), asked, service.looks], [true, 0, 2]);
  });

  it("leaves alone what is there under its name and is somebody else's", async () => {
    for (const labels of [{}, { ...labelsOf(ownership()), 'jobctl-owner': 'another' }]) {
      const service = new Service(() => 'ACTIVE', failing(6), labels);
      await lived(service);
      assert.deepEqual(service.deleted, []);
    }
  });

  it('deletes what is its own although Google does not show its labels', async () => {
    const service = new Service((_look, isDeleted) => (isDeleted ? 'gone' : 'FAILED'), accepted, {});
    await lived(service);
    assert.equal(service.deleted[0], 'queuedResources');
  });
});

describe('a slice of a run of jobctl contract that did not come to its end', () => {
  const slice = { googleProject: 'p', zone: 'us-central1-a', name: 'jobctl-contract-x', at: '2026-11-27T00:00:00Z' };

  it('is found also if another process has got the pid since, and is left to its run while that goes on', () => {
    const root = mkdtempSync(join(tmpdir(), 'contract-'));
    const stranger = { ...slice, process: { ...ownIdentity(), start: 'before' } };
    noteSlice({ root }, stranger);
    assert.deepEqual(leftoverOf({ root }), stranger);
    noteSlice({ root }, { ...slice, process: ownIdentity() });
    assert.throws(() => leftoverOf({ root }), /another jobctl contract runs: process \d+, slice jobctl-contract-x/);
    rmSync(root, { recursive: true });
  });
});
