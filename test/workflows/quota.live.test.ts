import assert from 'node:assert/strict';
import { WorkflowUpdateFailedError } from '@temporalio/client';
import { appliedFileObject, lastGoodFilesObject } from '../../domain/store-layout.js';
import { admissionUpdate, leaseMessagesSignal, priorityUpdate, releaseUpdate } from '../../contract/quota.js';
import { deletionSender, jobOfLeaseKey } from '../../domain/lease.js';
import { sliceWorkflowId } from '../../contract/workflow-ids.js';
import { TEMPORAL_START_MS } from '../temporal-server.js';
import { until } from '../until.js';
import { LivePool, POOL_FILE, QUOTA_FILE, REBUILD_BOUND_MS, SOON_MS } from './live-pool.js';

/** A book that is too long for a payload: quota-book.live.test.ts. */
describe('a pool', function () {
  this.timeout(120_000);
  const live = new LivePool();

  before(async function () {
    this.timeout(TEMPORAL_START_MS);
    await live.start();
  });
  beforeEach(() => live.renew());
  after(() => live.stop());

  const refused = (text: RegExp) => (error: unknown) => {
    assert.ok(error instanceof WorkflowUpdateFailedError, String(error));
    const messages = [error.cause?.message, error.cause?.cause].join(' ');
    assert.match(messages, text);
    return true;
  };

  it('takes lent chips back from a borrower, and grants them to their owner only when they are gone', async () => {
    await live.apply(QUOTA_FILE);
    const guest = await live.tenant('guest', 'guest', { isStubborn: true });
    await live.becomes(guest, 'holding');
    const owner = await live.tenant('owner', 'owner');
    const { revoked } = await live.becomes(guest, 'giving-back');
    assert.match(revoked ?? '', /project guest borrowed these chips, and job .*-owner in project owner/);
    const state = await live.state();
    assert.deepEqual(
      [state?.leases.map(({ state: one }) => one), state?.waiting.map(({ lease }) => lease.job)],
      [['draining'], [owner]],
    );
    await live.client.workflow.getHandle(guest).signal('go');
    await live.becomes(owner, 'holding');
    assert.equal(live.seen.most, 1, 'slices that were live at a time, each of the whole pool');
    const again = await live.becomes(guest, 'waiting');
    assert.equal(again.number, 2);
    await live.finish(owner);
    await live.becomes(guest, 'holding');
    await live.finish(guest);
    await live.isEmpty();
    assert.equal(live.seen.live, 0);
  });

  it('reads files that stay the same without writing them into its history again', async () => {
    const many = Array.from({ length: 100 }, (_, index) => `project-${index}`);
    const table = (line: (name: string) => string) => many.map(line).join('\n');
    const members = table((name) => `${name} = ["${name}-.*"]`);
    const shares = table((name) => `[project_resources.${name}]\nv4 = 0.01`);
    await live.apply(
      `[toml-schema]\nversion = "1"\n[total_resources]\nv4 = 1600\n[project_membership]\n${members}\n${shares}\n`,
    );
    const size = async (): Promise<number> => (await live.handle().describe()).historySize ?? 0;
    const open = () =>
      live.handle().executeUpdate(admissionUpdate, { args: [{ v: 1, by: 'alice', admission: 'open' }] });
    await open();
    const before = await size();
    // Each of them reads the files again.
    for (let times = 0; times < 3; times++) await open();
    const each = ((await size()) - before) / 3;
    const config = JSON.stringify((await live.state())?.config).length;
    assert.ok(config > 5_000 && each < config, `${each} bytes for each reading of a configuration of ${config}`);
  });

  it('that lost its memory while a file is broken goes on with the files that were good last', async () => {
    await live.apply(QUOTA_FILE);
    await until(
      'they are kept',
      async () => (await live.store.stat(lastGoodFilesObject(live.pool))) !== undefined,
      SOON_MS,
    );
    await live.handle().terminate('its history is lost');
    await live.store.replace(
      appliedFileObject(live.pool, 'quota'),
      QUOTA_FILE.replace('v4 = 16', 'v4 = -16'),
      'text/plain',
    );
    live.forgetFiles();
    const holder = await live.tenant('holder', 'owner');
    await live.becomes(holder, 'holding');
    const { config, problem } = (await live.state()) ?? {};
    assert.deepEqual(config?.kind === 'limited' ? config.tiers : config, [{ v4: 16 }]);
    assert.match(problem ?? '', /-16/);
    await live.finish(holder);
    await live.isEmpty();
  });

  it('refuses a broken file, and nothing moves', async () => {
    await live.apply(QUOTA_FILE);
    const holder = await live.tenant('holder', 'owner');
    await live.becomes(holder, 'holding');
    await assert.rejects(live.apply(QUOTA_FILE.replace('v4 = 16', 'v4 = -16')), refused(/quota\.toml.*-16/s));
    const state = await live.state();
    assert.deepEqual(
      [state?.config?.kind === 'limited' && state.config.tiers, state?.problem, state?.leases[0]?.state],
      [[{ v4: 16 }], undefined, 'held'],
    );
    const { message } = await live.apply(QUOTA_FILE.replace('v4 = 16', 'v4 = 32'));
    assert.match(message, /in force/);
    const after = await live.state();
    assert.deepEqual(after?.config?.kind === 'limited' && after.config.tiers, [{ v4: 32 }]);
    await live.finish(holder);
  });

  it('hears its admins alone, and a job’s own user on its priority', async () => {
    const anybodys = await live.apply(QUOTA_FILE, 'mallory');
    assert.match(anybodys.message, /warning: pool \S+ has no admins, so anybody may apply files to it/);
    const { message } = await live.apply(QUOTA_FILE, 'alice', `${POOL_FILE}admins = ["alice"]\n`);
    assert.doesNotMatch(message, /warning/);
    const job = await live.tenant('bob', 'owner');
    await live.becomes(job, 'holding');
    const by = (who: string, priority: number) =>
      live.handle().executeUpdate(priorityUpdate, { args: [{ v: 1, by: who, job, priority }] });
    await assert.rejects(by('mallory', 1), refused(/no admin of pool .*alice/));
    await assert.rejects(by('alice', 6), refused(/priority: must be a whole number from 1 \(first\) to 5/));
    await assert.rejects(live.apply(QUOTA_FILE, 'mallory'), refused(/may not apply files/));
    await assert.rejects(
      live.handle().executeUpdate(admissionUpdate, { args: [{ v: 1, by: 'mallory', admission: 'frozen' }] }),
      refused(/may not freeze/),
    );
    assert.match((await by('bob', 2)).message, /priority 2/);
    await until('the job heard', async () => (await live.view(job)).priority === 2, SOON_MS);
    assert.match((await by('alice', 1)).message, /priority 1/);
    const ofBob = { demand: { project: 'owner', user: 'bob', priority: 3, units: { v4: 16 } } };
    const crew = [await live.tenant('crew-0', 'owner', ofBob), await live.tenant('crew-1', 'owner', ofBob)];
    const group = crew[0]?.replace(/-0$/, '') ?? '';
    const all = (who: string, priority = 2, of = group) =>
      live
        .handle()
        .executeUpdate(priorityUpdate, { args: [{ v: 1, by: who, job: of, isGroup: true as const, priority }] });
    await until('both wait', async () => (await live.state())?.waiting.length === 2, SOON_MS);
    await assert.rejects(all('mallory'), refused(/of user 'bob', and 'mallory' is no admin/));
    await assert.rejects(all('bob', 2, job), refused(/no member of group .* waits in pool/));
    assert.match((await all('bob')).message, /^2 members of group .* have priority 2/);
    for (const id of crew) await until('it heard', async () => (await live.view(id)).priority === 2, SOON_MS);
    for (const id of [job, ...crew]) await live.finish(id);
  });

  it('frees a lease on an admin’s word, once the deletion of its slices is stuck, and grants its chips', async () => {
    await live.apply(QUOTA_FILE, 'alice', `${POOL_FILE}admins = ["alice"]\n`);
    const guest = await live.tenant('undeletable', 'guest');
    await live.becomes(guest, 'holding');
    const release = (by: string, because = 'its project was deleted', job = guest) =>
      live.handle().executeUpdate(releaseUpdate, { args: [{ v: 1, by, job, because }] });
    await assert.rejects(release('mallory'), refused(/'mallory' is no admin of pool .* and may not release a lease/));
    await assert.rejects(release('alice', ' '), refused(/because: says nothing/));
    await assert.rejects(release('alice', 'x', 'nobody'), refused(/no job nobody waits in pool/));
    await assert.rejects(release('alice'), refused(/has its lease, and no deletion of its slices is stuck/));
    const [holder] = (await live.state())?.leases ?? [];
    const [slice] = holder?.slices ?? [];
    assert.ok(holder && slice);
    // Its job ends without a word, and its slice does not go.
    await live.client.workflow.getHandle(guest).terminate('test');
    await until('it drains', async () => (await live.state())?.leases[0]?.state === 'draining', SOON_MS);
    await assert.rejects(
      release('alice'),
      refused(new RegExp(`${slice} is still being deleted, for \\d+ s; a deletion`)),
    );
    await live.handle().signal(leaseMessagesSignal, [
      {
        lease: holder.lease,
        sender: deletionSender(slice),
        sequence: Date.now(),
        body: { kind: 'stuck', slice, since: Date.now() - 900_000, answer: 'no such project', isFinal: true },
      },
    ]);
    const shown = await until('it is published', async () => (await live.published())?.stuck, SOON_MS);
    assert.deepEqual([shown[0]?.slice, shown[0]?.answer], [slice, 'no such project']);
    const owner = await live.tenant('owner', 'owner');
    assert.match(
      (await release('alice')).message,
      new RegExp(`${slice} is not waited for any more, and its lease is free`),
    );
    await live.becomes(owner, 'holding');
    await live.client.workflow.getHandle(sliceWorkflowId(slice)).result();
    assert.match((await release('alice')).message, /it is free already/);
    await live.finish(owner);
  });

  it('grants nothing while it is frozen, stays so when its workflow is terminated, and gives all back when drained', async () => {
    await live.apply(QUOTA_FILE);
    const holder = await live.tenant('holder', 'owner');
    await live.becomes(holder, 'holding');
    const admit = (admission: 'open' | 'frozen' | 'draining') =>
      live.handle().executeUpdate(admissionUpdate, { args: [{ v: 1, by: 'alice', admission, reason: 'maintenance' }] });
    assert.match((await admit('frozen')).message, /frozen: nothing new is granted, 1 with a lease go on/);
    await until('it is published', async () => (await live.published())?.admission === 'frozen', SOON_MS);
    await live.handle().terminate('test');
    const waiter = await live.tenant('waiter', 'owner');
    await live.finish(holder);
    await until('it is rebuilt', async () => (await live.state())?.waitingCount === 1, SOON_MS);
    await live.isEmpty();
    const frozen = await until('it is published again', async () => {
      const state = await live.published();
      return state && state.view.requests.length === 1 && state.view.leases.length === 0 ? state : undefined;
    });
    assert.deepEqual([frozen.admission, frozen.admissionReason], ['frozen', 'maintenance']);
    assert.equal(frozen.admissionSet?.by, 'alice');
    await admit('open');
    await live.becomes(waiter, 'holding');
    await admit('draining');
    const again = await until('it waits again', async () =>
      (await live.view(waiter)).number === 2 ? live.view(waiter) : undefined,
    );
    assert.equal(again.state, 'waiting');
    await admit('open');
    await live.becomes(waiter, 'holding');
    await live.finish(waiter);
  });

  it('says for which job its rebuild waits, and until when; then that job still holds its chips', async () => {
    await live.apply(QUOTA_FILE);
    const mute = await live.tenant('mute', 'owner', { isMute: true });
    await live.becomes(mute, 'holding');
    const { epoch: before = 0 } = (await live.published()) ?? {};
    await live.handle().terminate('test');
    const waiter = await live.tenant('waiter', 'owner');
    const { rebuilding } = await until('it is published as rebuilding', async () => {
      const state = await live.published();
      return state?.rebuilding ? { rebuilding: state.rebuilding } : undefined;
    });
    assert.deepEqual([rebuilding.waitsFor, rebuilding.waitsForCount], [[mute], 1]);
    assert.equal(rebuilding.until - rebuilding.since, REBUILD_BOUND_MS);
    await assert.rejects(
      live.handle().executeUpdate(priorityUpdate, { args: [{ v: 1, by: 'waiter', job: waiter, priority: 1 }] }),
      refused(/is being rebuilt/),
    );
    const rebuilt = await until(
      'it is published as rebuilt',
      async () => {
        const state = await live.published();
        return state && state.epoch > before && state.rebuilding === undefined ? state : undefined;
      },
      REBUILD_BOUND_MS + SOON_MS,
    );
    // The slices of these tests are in no cloud, so it drains: it counts all the same.
    assert.deepEqual(
      rebuilt.view.leases.map(({ id, state }) => [jobOfLeaseKey(id), state]),
      [[mute, 'draining']],
    );
    assert.equal((await live.view(waiter)).state, 'waiting');
    await live.finish(mute);
    await live.becomes(waiter, 'holding');
    assert.equal(live.seen.most, 1, 'live at a time');
    await live.finish(waiter);
  });

  it('SAFETY: grants what is free beside a job that never answers, within its bound, and its chips to nobody', async () => {
    await live.apply(QUOTA_FILE.replace('v4 = 16', 'v4 = 32'));
    const holder = await live.tenant('holder', 'owner', { isMute: true });
    await live.becomes(holder, 'holding');
    // Granted and without a slice: there is nothing to find it by.
    const asking = await live.tenant('asking', 'owner', { isMute: true, isSlow: true });
    await live.becomes(asking, 'granted');
    await live.handle().terminate('test');
    const waiter = await live.tenant('waiter', 'owner');
    const other = await live.tenant('other', 'owner');
    await live.becomes(waiter, 'holding');
    await live.client.workflow.getHandle(asking).signal('go');
    const again = await until('the forgotten job asks again', async () => {
      const view = await live.view(asking);
      return view.number === 2 && view.state === 'waiting' ? view : undefined;
    });
    assert.equal(again.revoked, undefined);
    assert.equal((await live.view(other)).state, 'waiting');
    // It was submitted first.
    await live.finish(holder);
    await live.becomes(asking, 'holding');
    await live.finish(waiter);
    await live.becomes(other, 'holding');
    assert.equal(live.seen.most, 2, 'slices that were live at a time, each of half the pool');
    for (const id of [other, asking]) await live.finish(id);
    await live.isEmpty();
  });

  it('drops garbage message by message, and fails no workflow task', async () => {
    await live.apply(QUOTA_FILE);
    const holder = await live.tenant('holder', 'owner');
    await live.becomes(holder, 'holding');
    const good = (await live.state())?.leases[0]?.lease;
    const chips = { lease: good, sender: 'job', sequence: Date.now(), body: { kind: 'chips', zone: 'y' } };
    const newer = { v: 2, ...chips };
    for (const garbage of [null, 'x', 7, {}, [null], [{}], [null, 'x', newer, chips]])
      await live.handle().signal('leaseMessages', garbage);
    for (const garbage of [null, 'x', 7, {}, [null]]) await live.handle().signal('wake', garbage);
    await until('the good message among them counts', async () => {
      const lease = (await live.published())?.view.leases[0];
      return lease?.zone === 'y';
    });
    await live.finish(holder);
    await live.isEmpty();
    assert.deepEqual(await live.failedTasks(), []);
  });

  it('fails, and does not wedge, when it is started with garbage', async () => {
    for (const garbage of [null, {}, { v: 1 }, { v: 1, pool: 7 }, { v: 2, pool: 'p' }]) {
      const handle = await live.startQuota(garbage);
      await assert.rejects(handle.result(), (error: Error & { readonly cause?: Error }) => {
        assert.match(error.cause?.message ?? '', /^input of a quota workflow: /);
        return true;
      });
    }
  });

  it('rebuilds when what it carried cannot be read', async () => {
    const handle = await live.startQuota({ v: 1, pool: live.pool, carry: { state: { book: { v: 99 } }, slot: 0 } });
    const holder = await live.tenant('holder', 'owner');
    await live.becomes(holder, 'holding');
    await live.finish(holder);
    assert.deepEqual(await live.failedTasks(), []);
    await handle.terminate('test');
  });

  it('SAFETY: terminated between a grant and its slice, and in the middle of a revocation, grants no chip twice', async () => {
    await live.apply(QUOTA_FILE);
    const guest = await live.tenant('guest', 'guest', { isSlow: true });
    await live.becomes(guest, 'granted');
    await live.handle().terminate('between grant and create');
    const owner = await live.tenant('owner', 'owner', { isStubborn: true });
    await live.client.workflow.getHandle(guest).signal('go');
    await live.becomes(owner, 'holding');
    assert.equal(live.seen.most, 1, 'live at a time after the first loss');
    const rival = await live.tenant('rival', 'owner', {
      demand: { project: 'owner', user: 'r', priority: 1, units: { v4: 16 } },
    });
    await live.becomes(owner, 'giving-back');
    const epoch = (await live.state())?.epoch ?? 0;
    await live.handle().terminate('in the middle of a revocation');
    const other = await live.tenant('other', 'owner');
    const rebuilt = await until('it is rebuilt', async () => {
      const state = await live.state();
      return state && state.epoch > epoch && state.waitingCount + state.leases.length === 4 ? state : undefined;
    });
    assert.deepEqual(
      rebuilt.leases.map(({ lease }) => lease.job),
      [owner],
    );
    await live.client.workflow.getHandle(owner).signal('go');
    for (const id of [rival, owner, other, guest]) {
      await live.becomes(id, 'holding');
      await live.finish(id);
    }
    await live.isEmpty();
    assert.equal(live.seen.most, 1, 'live at a time');
  });

  it('kept who got what when in its history, each line once', async () => {
    live.pool = live.firstPool;
    const lines = await until(
      'the lines are written',
      async () => {
        const all = await live.history();
        return all.filter(({ kind }) => kind === 'freed').length === 3 ? all : undefined;
      },
      60_000,
    );
    const [guest, owner] = [`${live.pool}-guest`, `${live.pool}-owner`];
    const applied = lines.find(({ kind }) => kind === 'applied');
    assert.equal(applied?.reason, 'quota.toml and pool.toml (no admins were named)');
    assert.deepEqual(
      lines.map(({ kind, job = 'alice' }) => `${kind} ${job}`),
      [
        'applied alice',
        `granted ${guest}`,
        `chips ${guest}`,
        `revoked ${guest}`,
        `freed ${guest}`,
        `granted ${owner}`,
        `chips ${owner}`,
        `freed ${owner}`,
        `granted ${guest}`,
        `chips ${guest}`,
        `freed ${guest}`,
      ],
    );
    assert.equal(lines.find(({ kind }) => kind === 'revoked')?.for?.split('/')[0], owner);
  });
});
