import assert from 'node:assert/strict';
import { MockActivityEnvironment } from '@temporalio/testing';
import { deleteUntilGone } from '../../activities/giving-back.js';
import { awaitSlice } from '../../activities/slice.js';
import type { Machines } from '../../cloud/machines/port.js';
import { DEFAULT_TIMINGS } from '../../domain/timings.js';
import { slicePlan } from '../cloud/cloud-tpu-plan.js';
import { type RehearsedCloud, startRehearsedCloud } from '../cloud/rehearsed-cloud.js';
import { until } from '../until.js';

const timings = DEFAULT_TIMINGS;
const inActivity = <T>(work: () => Promise<T>): Promise<T> => new MockActivityEnvironment().run(work);

/** All slices of an installation share one budget of calls (docs/runs.md, `bench:recovery`). */
describe('what the slice of one host costs in API calls', function () {
  this.timeout(60_000);
  let cloud: RehearsedCloud;
  let machines: Machines;

  before(async () => {
    cloud = await startRehearsedCloud();
    machines = cloud.tpuPort();
  });
  after(() => cloud?.stop());
  beforeEach(() => cloud.admin('configure', { creatingMs: 0, queueMs: 0, provisioningMs: 150, deletingMs: 50 }));

  async function callsOf(work: () => Promise<unknown>): Promise<Readonly<Record<string, number>>> {
    const before = (await cloud.journal()).at(-1)?.seq ?? 0;
    await work();
    const counts: Record<string, number> = {};
    for (const { kind, details } of await cloud.journal(before)) {
      const method = String(details['method']);
      if (kind === 'api-call') counts[method] = (counts[method] ?? 0) + 1;
    }
    return counts;
  }
  const planned = (name: string) => slicePlan(name, 'queued-resources', { accelerator: 'v5litepod-8' });
  const ready = (plan: ReturnType<typeof planned>): Promise<unknown> =>
    inActivity(() => awaitSlice(machines, { ref: plan.ref, ownership: plan.ownership, timings }));
  const gone = ({ ref, ownership: owner }: ReturnType<typeof planned>): Promise<void> =>
    inActivity(() => deleteUntilGone(machines, { ref, owner, notBefore: 0, timings }));

  it('is one look until it is ready, if it is ready at once, and two until it is gone', async () => {
    const plan = planned('counted');
    await machines.create(plan);
    assert.deepEqual(await callsOf(() => ready(plan)), { GetQueuedResource: 1, GetNode: 1 });
    const { GetOperation: words = 0, ...calls } = await callsOf(() => gone(plan));
    assert.deepEqual(calls, { GetQueuedResource: 2, GetNode: 2, DeleteQueuedResource: 1 });
    assert.ok(words > 0);
  });

  for (const mode of ['queued-resources', 'tpu-vm'] as const)
    it(`is no delete call in ${mode} mode for what is being deleted`, async () => {
      const plan = slicePlan(`going-${mode}`, mode, { accelerator: 'v5litepod-8' });
      await machines.create(plan);
      await ready(plan);
      await cloud.admin('hold', { state: 'DELETING', nameMatches: 'going' });
      await machines.remove(plan.ref, plan.ownership);
      assert.deepEqual(await machines.observe(plan), { kind: 'deleting' });
      const seq = (await cloud.journal()).at(-1)?.seq;
      const calls = await callsOf(async () => {
        const end = gone(plan);
        await until('it is looked at twice', async () => {
          const looks = (await cloud.journal(seq)).filter(({ details }) => details['method'] === 'GetNode');
          return looks.length >= 2;
        });
        await cloud.admin('release', {});
        await end;
      });
      assert.deepEqual(
        Object.keys(calls).filter((method) => method.startsWith('Delete')),
        [],
      );
    });

  it('is nothing of its own while many are asked for at once, nor once another worker waits for it', async () => {
    await cloud.admin('hold', { state: 'WAITING_FOR_RESOURCES', nameMatches: 'asked' });
    const plans = Array.from({ length: 20 }, (_, at) => planned(`asked-${at}`));
    await Promise.all(plans.map((plan) => machines.create(plan)));
    const looksSince = async (seq: number): Promise<{ listed: number; byName: number }> => {
      const methods = (await cloud.journal(seq)).map(({ details }) => String(details['method']));
      const listed = methods.filter((method) => method === 'ListNodes').length;
      return { listed, byName: methods.filter((method) => method.startsWith('Get')).length };
    };
    const waited = async (some: typeof plans, least: number, heartbeatDetails?: object): Promise<number> => {
      const seq = (await cloud.journal()).at(-1)?.seq ?? 0;
      const environments: MockActivityEnvironment[] = [];
      const waits = some.map(async ({ ref, ownership }) => {
        const environment = new MockActivityEnvironment({ ...(heartbeatDetails && { heartbeatDetails }) });
        environments.push(environment);
        await environment.run(() => awaitSlice(machines, { ref, ownership, timings })).catch(() => undefined);
      });
      await until('they wait for the listing, and the few have looked', async () => {
        const { listed, byName } = await looksSince(seq);
        return listed >= 4 && byName >= least;
      });
      for (const environment of environments) environment.cancel();
      await Promise.all(waits);
      return (await looksSince(seq)).byName;
    };
    // Two calls for each of four looks, of the few.
    const byName = await waited(plans, 1);
    assert.ok(byName <= 8 * 8, `${byName} looks by name of ${plans.length}`);
    assert.equal(await waited(plans.slice(0, 2), 0, { back: 0, word: '' }), 0);
    await cloud.admin('release', {});
  });

  it('is nothing of its own while many are being deleted: a listing tells all of them', async () => {
    const plans = Array.from({ length: 20 }, (_, at) =>
      slicePlan(`many-${at}`, 'tpu-vm', { accelerator: 'v5litepod-8' }),
    );
    await Promise.all(plans.map((plan) => machines.create(plan)));
    await Promise.all(plans.map((plan) => ready(plan)));
    await cloud.admin('hold', { state: 'DELETING', nameMatches: 'many' });
    const seq = (await cloud.journal()).at(-1)?.seq;
    const ends = plans.map((plan) => gone(plan));
    const counts = async (): Promise<{ listed: number; byName: number }> => {
      const methods = (await cloud.journal(seq)).map(({ details }) => String(details['method']));
      const listed = methods.filter((method) => method === 'ListNodes').length;
      return { listed, byName: methods.filter((method) => method.startsWith('Get')).length };
    };
    await until('each was looked at before its removal', async () => (await counts()).byName >= plans.length);
    const before = await counts();
    await until('they looked three times more', async () => (await counts()).listed >= before.listed + 3);
    const { byName } = await counts();
    await cloud.admin('release', {});
    await Promise.all(ends);
    // The first few look by name after it too.
    assert.ok(byName <= plans.length + 16, `${byName} looks by name of ${plans.length}`);
  });
});
