import assert from 'node:assert/strict';
import { DearWork } from '../../server/dear-work.js';
import { ApiError } from '../../server/problem.js';

const WRONG = { tpu: {}, ...Object.fromEntries(Array.from({ length: 4_000 }, (_, at) => [`key${at}`, 1])) };

describe('work that one call makes dear', () => {
  const begun: DearWork[] = [];
  const dear = (options: ConstructorParameters<typeof DearWork>[0] = {}): DearWork => {
    const work = new DearWork(options);
    begun.push(work);
    return work;
  };
  after(() => Promise.all(begun.map((each) => each.close())));
  const refused = (code: string, detail: RegExp) => (error: unknown) =>
    error instanceof ApiError && error.code === code && detail.test(error.message);

  it('leaves the event loop to the calls of others', async () => {
    const work = dear();
    let turns = 0;
    const turning = setInterval(() => (turns += 1), 1);
    const found = await work.run('resolve', { job: WRONG }, 'mallory');
    clearInterval(turning);
    assert.ok('problems' in found && found.problems.includes('key3999'));
    assert.ok(turns > 5, `${turns} turns of the event loop`);
  });

  it('is given up after its time, and the next call has another thread', async () => {
    const work = dear({ mostMs: 1 });
    await assert.rejects(work.run('resolve', { job: WRONG }, 'mallory'), refused('unavailable', /takes longer than/));
    await assert.rejects(work.run('resolve', { job: WRONG }, 'mallory'), refused('unavailable', /takes longer than/));
  });

  it('is charged to who calls, and to nobody else', async () => {
    const work = dear({ mostMsPerMinute: 1 });
    await work.run('resolve', { job: WRONG }, 'mallory');
    await assert.rejects(work.run('resolve', { job: {} }, 'mallory'), refused('too-many-requests', /of computing/));
    assert.ok('problems' in (await work.run('resolve', { job: {} }, 'alice')));
  });

  it('runs one call of a subject at a time: others do not wait behind all of them', async () => {
    const work = dear();
    const order: string[] = [];
    const call = async (subject: string): Promise<void> => {
      await work.run('resolve', { job: WRONG }, subject);
      order.push(subject);
    };
    await Promise.all([...Array.from({ length: 12 }, () => call('mallory')), call('alice')]);
    assert.ok(order.indexOf('alice') < 6, order.join(' '));
  });
});
