import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, utimesSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Writable } from 'node:stream';
import { FollowedJobs } from '../../activities/attempt/followed-jobs.js';
import { BuildLog } from '../../activities/await-build.js';
import { LogStream } from '../../activities/attempt/log-stream.js';
import { FollowMarks, MARK_EVERY_MS } from '../../client/follow-marks.js';
import { LogFollower } from '../../client/log-follower.js';
import { ensureFolder, FolderStore } from '../../cloud/store/folder.js';
import type { BuildPlace } from '../../cloud/builds/port.js';
import type { StorePort } from '../../cloud/store/port.js';
import { BUILD_STREAM, followedObject, FOLLOWED_PREFIX, logPrefix } from '../../domain/store-layout.js';
import { until } from '../until.js';

describe('a followed log', () => {
  let folder: string;
  let store: StorePort;
  let lists = 0;
  let round = 0;
  /** Listings go on for a while after a test. They must not see the store of the next one. */
  const counting = (of = store, during = round): Pick<StorePort, 'list' | 'remove'> => ({
    list: (...asked) => {
      if (during === round) lists += 1;
      return of.list(...asked);
    },
    remove: (name) => of.remove(name),
  });
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'jobctl-followed-'));
    await ensureFolder(folder);
    store = new FolderStore(folder);
    lists = 0;
    round += 1;
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));
  const mark = (job: string): Promise<void> => store.replace(followedObject(job), `${Math.random()}`);
  const listedAgain = async (jobs: FollowedJobs): Promise<void> => {
    const before = lists;
    await until('it was listed twice more', () => !jobs.isFollowed('a') && lists > before + 1);
  };

  describe('is known to a worker', () => {
    it('by its mark, and only the job that is marked', async () => {
      const jobs = new FollowedJobs(counting(), { lookMs: 5 });
      assert.equal(jobs.isFollowed('a'), false);
      await mark('a');
      await until('it is seen', () => jobs.isFollowed('a'));
      assert.deepEqual([jobs.isFollowed('ab'), jobs.isFollowed('')], [false, false]);
    });

    it('until the mark is not renewed any more, whatever its age says', async () => {
      await mark('left');
      await mark('followed');
      const tomorrow = new Date(Date.now() + 86_400_000);
      utimesSync(join(folder, followedObject('left')), tomorrow, tomorrow);
      const jobs = new FollowedJobs(counting(), { lookMs: 5, freshMs: 1_000 });
      await until('both are seen', () => jobs.isFollowed('left') && jobs.isFollowed('followed'));
      await until('one is stale, and not the other', async () => {
        await mark('followed');
        return !jobs.isFollowed('left') && jobs.isFollowed('followed');
      });
    });

    it('by listings that are made while a stream asks, and by one for all jobs', async () => {
      const jobs = new FollowedJobs(counting(), { lookMs: 5, askedMs: 50 });
      assert.equal(lists, 0);
      await listedAgain(jobs);
      for (let n = 0; n < 100; n++) jobs.isFollowed(`job-${n}`);
      const before = lists;
      jobs.isFollowed('a');
      assert.equal(lists, before, 'a question makes no listing of its own');
      let last = -1;
      await until('the listings end', async () => {
        const isSame = lists === last;
        last = lists;
        await new Promise((resolve) => setTimeout(resolve, 20));
        return isSame && lists === last;
      });
      await listedAgain(jobs);
    });

    it('also after the store was away', async () => {
      let isAway = true;
      const away: Pick<StorePort, 'list' | 'remove'> = {
        ...counting(),
        list: (...asked) => (isAway ? (lists++, Promise.reject(new Error('away'))) : store.list(...asked)),
      };
      const jobs = new FollowedJobs(away, { lookMs: 5 });
      await mark('a');
      jobs.isFollowed('a');
      await until('it was asked', () => lists > 2);
      isAway = false;
      await until('it is seen', () => jobs.isFollowed('a'));
    });

    it('and the mark of a follower that has left is removed after a while, and no other', async () => {
      for (const job of ['old', 'new']) await mark(job);
      const jobs = new FollowedJobs(counting(), { lookMs: 5, freshMs: 200, keptMs: 1_000 });
      await until('it is gone', async () => {
        jobs.isFollowed('new');
        await mark('new');
        return (await store.list(FOLLOWED_PREFIX)).length === 1;
      });
      assert.ok(await store.stat(followedObject('new')));
    });
  });

  describe('of an old run', () => {
    const { now } = Date;
    afterEach(() => {
      Date.now = now;
    });

    it('is stored coarsely while nobody follows, and what is held at once when somebody does', async () => {
      let asked = 0;
      let isFollowed = false;
      const shipping = {
        store,
        meter: { logLag: () => undefined },
        isFollowed: () => {
          asked += 1;
          return isFollowed;
        },
      };
      const prefix = logPrefix('a', 1, 'command');
      const stream = await LogStream.open(shipping, prefix, 0, new AbortController().signal);
      await stream.append(Buffer.from('one\n'));
      await until('a young run is stored at once', () => stream.heldSince === undefined);
      assert.equal(asked, 0, 'and asks nobody');
      Date.now = () => now() + 20 * 60_000;
      await stream.append(Buffer.from('two\n'));
      const before = asked;
      await until('it was asked thrice', () => asked > before + 2);
      assert.equal((await store.list(prefix)).length, 1, 'it is held');
      isFollowed = true;
      await until('it is stored', async () => (await store.list(prefix)).length === 2);
    });
  });

  describe('of an image that is built', () => {
    const { now } = Date;
    afterEach(() => {
      Date.now = now;
    });

    it('is stored at once too, however long the build takes', async () => {
      let output: Writable | undefined;
      const builds = { follow: async (_place: BuildPlace, _pod: object, into: Writable) => void (output = into) };
      const shipping = { store, meter: { logLag: () => undefined } };
      const place = { place: { namespace: 'n' }, number: 0, signal: new AbortController().signal };
      const log = new BuildLog({ builds, shipping }, place);
      await log.serve([{ id: 'a', run: 'r', attempt: 1 }]);
      log.read({ name: 'p', uid: 'u' });
      const into = await until('it is read', () => output);
      const began = now();
      // A slow clock: a stretch that nobody follows is due in five minutes.
      Date.now = () => began + 20 * 60_000 + (now() - began) / 10;
      into.write('one\n');
      await mark('a');
      const prefix = logPrefix('a', 1, BUILD_STREAM);
      await until('it is stored', async () => (await store.list(prefix)).length === 1);
    });
  });

  describe('is marked', () => {
    it('once by all followers of a process, and again when the mark may be stale', async () => {
      const marked: string[] = [];
      const marks = new FollowMarks(async () => ({ replace: async (name) => void marked.push(name) }));
      for (let n = 0; n < 100; n++) for (const job of ['a', 'b']) marks.mark(job);
      await until('both are marked', () => marked.length > 1);
      assert.deepEqual(marked, [followedObject('a'), followedObject('b')]);
      const { now } = performance;
      performance.now = () => now.call(performance) + MARK_EVERY_MS;
      try {
        marks.mark('a');
        await until('it is marked again', () => marked.length > 2);
      } finally {
        performance.now = now;
      }
    });

    for (const [what, open] of [
      ['may only read', async () => ({ replace: () => Promise.reject(new Error('403')) })],
      ['finds no store', () => Promise.reject(new Error('no credentials'))],
    ] as const)
      it(`or not, by one that ${what}, and nothing else fails`, async () => {
        new FollowMarks(open).mark('a');
        await new Promise((resolve) => setImmediate(resolve));
      });

    it('while its job is open, and not for one that has ended', async () => {
      const marked: string[] = [];
      const follow = async (row: { readonly attempts: number; readonly endedAt?: number }): Promise<void> => {
        const sink = { stretch: async () => undefined, attemptEnd: async () => undefined };
        const selection = { job: 'a', stream: 'command', firstAttempt: 1 };
        const follower = new LogFollower(store, selection, sink, { mark: (job) => marked.push(job) });
        follower.reached(row);
        const ended = new AbortController();
        const run = follower.run(ended.signal);
        await follower.caughtUp(ended.signal);
        ended.abort();
        await run;
      };
      await follow({ attempts: 1 });
      assert.deepEqual([...new Set(marked.splice(0))], ['a']);
      await follow({ attempts: 1, endedAt: 1 });
      assert.deepEqual(marked, []);
    });
  });
});
