import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MockActivityEnvironment } from '@temporalio/testing';
import { LogStream, logLimitOf } from '../../activities/attempt/log-stream.js';
import { type Applicant, UserJobsBook } from '../../activities/user-jobs.js';
import type { WorkflowClient } from '../../activities/workflow-lookup.js';
import { createStore, ensureBucket } from '../../cloud/store/gcs.js';
import type { StorePort } from '../../cloud/store/port.js';
import type { AttemptInput } from '../../contract/job-activities.js';
import { inputSizeProblem, jsonBytes, MOST_INPUT_BYTES } from '../../domain/bounds.js';
import { formatProblems } from '../../domain/problem.js';
import { checkFiles } from '../../quota/files/pool-files.js';
import { parsePoolFile } from '../../quota/files/pool-file.js';
import { floorProblem } from '../../quota/quota-config.js';
import { enter, noJobs } from '../../quota/submission.js';
import type { Rehearsal } from '../../rehearsal/index.js';
import { startTestRehearsal } from '../../rehearsal/test/test-rehearsal.js';
import { RehearsalAdmin } from '../end-to-end/rehearsal-admin.js';
import { quotaFileText } from '../quota/quota-file-text.js';

/**
 * F12: one user took 300 places in line in 22 s, priority 1 was everybody's, a flood of output was stored to its end, and a job of
 * 1.9 MB ended without a word. At 19b9c1e a pool file had no [limits] (an unknown key), nothing counted a user's jobs, LogStream
 * stored whatever it was given, and no size was looked at. The same on a whole stack: test/long/security/pool-rules.test.ts.
 */
describe('F12: what one user, one job and one log may take', function () {
  this.timeout(60_000);
  const directory = mkdtempSync(join(tmpdir(), 'jobctl-f12-'));
  let rehearsal: Rehearsal;
  let store: StorePort;
  let round = 0;

  before(async () => {
    rehearsal = await startTestRehearsal({ stateDir: directory });
    const options = { endpoint: rehearsal.endpoints.store, bucket: 'f12', projectId: 'p' };
    await ensureBucket(options);
    store = createStore(options);
  });
  after(async () => {
    await rehearsal?.stop();
    rmSync(directory, { recursive: true, force: true });
  });

  describe('jobs of a user', () => {
    /** Ids of jobs that are closed, by Temporal. */
    const closed = new Set<string>();
    let described = 0;
    const client = {
      workflow: {
        getHandle: (id: string) => ({
          describe: async () => {
            described += 1;
            return { status: { name: closed.has(id) ? 'TERMINATED' : 'RUNNING' }, startTime: new Date(), raw: {} };
          },
        }),
      },
    } as unknown as WorkflowClient;
    let pool = '';
    beforeEach(() => {
      pool = `pool-${round++}`;
      closed.clear();
      described = 0;
    });
    const applicant = (id: string, limits: Applicant['limits'], user = 'ann'): Applicant => ({
      ...{ pool, user, limits, client },
      job: { id, run: `run of ${id}` },
    });
    const ids = (count: number): readonly string[] => Array.from({ length: count }, (_, index) => `job-${index}`);

    it('the last place is taken once, by however many workers at one time', async () => {
      const workers = [1, 2, 3].map(() => new UserJobsBook(store));
      const answers = await Promise.all(
        ids(60).map((id, index) => (workers[index % 3] as UserJobsBook).enter(applicant(id, { openJobsPerUser: 20 }))),
      );
      assert.equal(answers.filter((answer) => answer === undefined).length, 20);
      const refusal = answers.find((answer) => answer !== undefined) ?? '';
      assert.match(
        refusal,
        /^pool pool-\d+: user 'ann' has 20 open jobs \((job-\d+, ){4}job-\d+, and 15 more\), and the pool takes 20 at most\n {2}wait until one has ended, or cancel one, or ask for another \[limits\] open_jobs_per_user in the pool file$/,
      );
      const other = await new UserJobsBook(store).enter(applicant('job-0', { openJobsPerUser: 1 }, 'bob'));
      assert.equal(other, undefined, 'another user has places of their own');
    });

    it('submits at once are few writes: a bucket takes one a second of an object', async () => {
      let writes = 0;
      const counted = {
        ...store,
        bucket: store.bucket,
        stat: (name: string) => store.stat(name),
        read: (name: string) => store.read(name),
        write: (...args: Parameters<StorePort['write']>) => {
          writes += 1;
          return store.write(...args);
        },
      } as unknown as StorePort;
      const book = new UserJobsBook(counted);
      await Promise.all(ids(300).map((id) => book.enter(applicant(id, { openJobsPerUser: 300 }))));
      assert.ok(writes <= 3, `${writes} writes`);
    });

    it('a job that was taken before is taken, whatever the limit is now; repeating takes no second place', async () => {
      const book = new UserJobsBook(store);
      for (let time = 0; time < 3; time++)
        assert.equal(await book.enter(applicant('job-0', { openJobsPerUser: 1 })), undefined);
      assert.match((await book.enter(applicant('job-1', { openJobsPerUser: 1 }))) ?? '', /has 1 open job \(job-0\)/);
    });

    it('the place of a job that has ended in any way is free; Temporal is asked only when somebody needs it', async () => {
      const book = new UserJobsBook(store);
      const limits = { openJobsPerUser: 2 };
      for (const id of ids(2)) assert.equal(await book.enter(applicant(id, limits)), undefined);
      assert.equal(described, 0);
      assert.notEqual(await book.enter(applicant('job-2', limits)), undefined);
      assert.equal(described, 2);
      closed.add('job-0');
      assert.equal(await book.enter(applicant('job-3', limits)), undefined);
      assert.notEqual(await book.enter(applicant('job-4', limits)), undefined);
    });

    it('a minute has so many, and the refusal says when the next one is taken', async () => {
      const now = Date.UTC(2026, 10, 24, 12, 0, 0);
      let jobs = noJobs('ann');
      const limits = { submitsPerMinute: 2 };
      for (const [at, want] of [
        [0, 'entered'],
        [10_000, 'entered'],
        [59_999, 'too-fast'],
        [60_000, 'entered'],
        [60_001, 'too-fast'],
        [70_000, 'entered'],
      ] as const) {
        const entry = enter(jobs, { id: `j-${at}`, run: 'r' }, limits, now + at);
        assert.equal(entry.kind, want, `after ${at} ms`);
        if (entry.kind === 'entered') ({ jobs } = entry);
        if (entry.kind === 'too-fast') assert.equal(entry.at, now + (at < 60_000 ? 60_000 : 70_000));
      }
      const book = new UserJobsBook(store);
      assert.equal(await book.enter(applicant('a', { submitsPerMinute: 1 })), undefined);
      assert.match(
        (await book.enter(applicant('b', { submitsPerMinute: 1 }))) ?? '',
        /has submitted 1 job in the last minute, and the pool takes 1 at most\n {2}submit it again after \d\d:\d\d:\d\d UTC, or ask for another \[limits\] submits_per_minute/,
      );
    });

    it('a pool without these limits writes and reads nothing', async () => {
      const book = new UserJobsBook({} as StorePort);
      assert.equal(await book.enter(applicant('job-0', { logBytesPerAttempt: 1 })), undefined);
    });

    it('a forged count holds nobody for ever, and a bucket that does not answer refuses nobody for good', async () => {
      const book = new UserJobsBook(store);
      await book.enter(applicant('job-0', { openJobsPerUser: 1 }));
      const [object] = await store.list(`quota/${pool}/users/`);
      assert.ok(object);
      await store.replace(object.name, '{"v":1,"open":7', 'application/json');
      assert.equal(await book.enter(applicant('job-1', { openJobsPerUser: 1 })), undefined);
      const admin = new RehearsalAdmin(rehearsal.endpoints.admin);
      await admin.post('refuse', { method: 'objects.insert', code: 'PERMISSION_DENIED' });
      await assert.rejects(book.enter(applicant('job-9', { openJobsPerUser: 5 })), /403|PERMISSION_DENIED/);
      await admin.stopRefusing();
      assert.equal(await book.enter(applicant('job-9', { openJobsPerUser: 5 })), undefined);
    });
  });

  describe('a log', () => {
    let prefix = '';
    beforeEach(() => {
      prefix = `logs/${round++}/`;
    });
    const LIMIT = 1_000;
    const over = new AbortController();
    const inActivity = (work: () => Promise<void>): Promise<void> => new MockActivityEnvironment().run(work);
    const open = (bytes = LIMIT): Promise<LogStream> =>
      LogStream.open(
        { store, meter: { logLag: () => undefined }, limit: { bytes, text: 'this log ends here' } },
        prefix,
        0,
        over.signal,
      );
    async function stored(): Promise<Buffer> {
      const objects = await store.list(`${prefix}host-0.`);
      return Buffer.concat(
        await Promise.all(objects.map(async ({ name }) => (await store.read(name)) ?? Buffer.alloc(0))),
      );
    }
    async function feed(stream: LogStream, output: Buffer, size: number): Promise<void> {
      for (let at = stream.position; at < output.length; at = stream.position)
        await stream.append(output.subarray(at, at + size));
      await stream.flush();
    }
    const NOTE = '\n[jobctl] this log ends here\n';
    /** Without a line's end, so that the note must bring its own. */
    const bytes = (count: number): Buffer => Buffer.from(randomBytes(count).toString('hex').slice(0, count));

    for (const size of [1, 7, LIMIT - 1, LIMIT, LIMIT + 1, 5_000])
      it(`is the first ${LIMIT} bytes and a line that says so, read in pieces of ${size}`, () =>
        inActivity(async () => {
          const output = bytes(5_000);
          const stream = await open();
          await feed(stream, output, size);
          assert.equal((await stored()).toString(), `${output.subarray(0, LIMIT).toString()}${NOTE}`);
          assert.equal(stream.position, output.length, 'the host is read on: the command goes on');
        }));

    for (const count of [LIMIT - 1, LIMIT])
      it(`of ${count} bytes is whole, and says nothing`, () =>
        inActivity(async () => {
          const output = bytes(count);
          await feed(await open(), output, 300);
          assert.equal((await stored()).toString(), output.toString());
        }));

    it('ends at the same byte when workers follow one another, or ship at one time', () =>
      inActivity(async () => {
        const output = bytes(4_000);
        const first = await open();
        await first.append(output.subarray(0, 600));
        await first.flush();
        const streams = await Promise.all([open(), open()]);
        await Promise.all(streams.map((stream, index) => feed(stream, output, 90 + index * 37)));
        await feed(await open(), output, 500);
        assert.equal((await stored()).toString(), `${output.subarray(0, LIMIT).toString()}${NOTE}`);
      }));

    it('that is full is not read again by the next worker', () =>
      inActivity(async () => {
        const output = bytes(4_000);
        await feed(await open(), output, 500);
        const next = await open();
        next.skipBeyondLimit(output.length);
        assert.equal(next.position, output.length);
        const young = await LogStream.open(
          { store, meter: { logLag: () => undefined } },
          `${prefix}young/`,
          0,
          over.signal,
        );
        young.skipBeyondLimit(9_000);
        assert.equal(young.position, 0, 'what is not full is read from where it is');
      }));

    it('each host has an equal share, and a job of a pool without the limit has none', () => {
      const input = (logBytesPerAttempt?: number): AttemptInput =>
        ({
          spec: { pool: 'research' },
          settings: logBytesPerAttempt === undefined ? {} : { limits: { logBytesPerAttempt } },
        }) as unknown as AttemptInput;
      assert.deepEqual(logLimitOf(input(), 4), {});
      assert.equal(logLimitOf(input(1_000_003), 4).limit?.bytes, 250_000);
      assert.match(
        logLimitOf(input(1_000_000), 4).limit?.text ?? '',
        /^this log ends here: pool research keeps 1000000 bytes of each log of an attempt, a share of 250000 for each of 4 hosts \(\[limits\] log_bytes_per_attempt\)\. What runs goes on/,
      );
    });
  });

  describe('the input of a job', () => {
    it('is measured as JSON in UTF-8', () => {
      for (const value of [{ a: 'é日👩\n"' }, 'x', null, [1.5, true]])
        assert.equal(jsonBytes(value), Buffer.byteLength(JSON.stringify(value)));
    });
    it('of the most is taken, of one byte more is refused with both numbers and what to do', () => {
      const frame = jsonBytes({ v: 1, job: '' });
      const of = (bytes: number): object => ({ v: 1, job: 'x'.repeat(bytes - frame) });
      assert.equal(inputSizeProblem(of(MOST_INPUT_BYTES)), undefined);
      assert.match(
        inputSizeProblem(of(MOST_INPUT_BYTES + 1)) ?? '',
        /^input: the job is 393217 bytes of JSON, and 393216 are the most\n {2}put long values into a file of the job/,
      );
      assert.match(inputSizeProblem(of(5_000), 4_999) ?? '', /5000 bytes of JSON, and 4999 are the most/);
    });
  });

  describe('[limits] of a pool file', () => {
    const QUOTA = quotaFileText({ v5litepod: 64 }, { vision: { members: ['.*'], share: 1 } });
    it('is read with its sizes, and floors go with the rules of the quota file, whatever their case', () => {
      const text =
        '[limits]\nopen_jobs_per_user = 20\nsubmits_per_minute = 5\nlog_bytes_per_attempt = "1.5MiB"\ninput_bytes = 8192\n[limits.priority_floor]\nVision = 3\n';
      const parsed = parsePoolFile(text, 'pool.toml', 'p');
      assert.ok(parsed.ok);
      assert.deepEqual(parsed.limits, {
        openJobsPerUser: 20,
        submitsPerMinute: 5,
        logBytesPerAttempt: 1_572_864,
        inputBytes: 8_192,
      });
      const checked = checkFiles({ quotaFile: { name: 'q', text: QUOTA }, poolFile: { name: 'p', text } });
      assert.ok(checked.ok && checked.config.kind === 'limited');
      const floors = checked.config.rules?.priorityFloors;
      assert.equal(floorProblem(floors, 'VISION', 3), undefined);
      assert.match(
        floorProblem(floors, 'vision', 2) ?? '',
        /^priority: 2 is higher than project vision may have in this pool: 3 at most\n {2}write priority: 3,/,
      );
      assert.equal(floorProblem(floors, 'speech', 1), undefined);
      assert.equal(floorProblem(floors, 'constructor', 1), undefined);
    });
    it('that is wrong is refused with its place, the value and what is allowed; floors of no project are a warning', () => {
      const text =
        '[limits]\nopen_jobs_per_user = 0\nlog_bytes_per_attempt = "10MB"\ninput_bytes = "1MiB"\n[limits.priority_floor]\nvision = 6\n';
      const parsed = parsePoolFile(text, 'pool.toml', 'p');
      assert.ok(!parsed.ok);
      const shown = formatProblems(parsed.problems);
      for (const want of [
        /pool\.toml:2:22: open_jobs_per_user: 0 is not a whole number from 1 to 1000000/,
        /pool\.toml:3:25: log_bytes_per_attempt: '10MB' is not a number of bytes, or a size such as 64KiB/,
        /pool\.toml:4:15: input_bytes: '1MiB' is too large\n {2}393216 bytes at most/,
        /pool\.toml:6:10: vision: 6 is not a whole number from 1 to 5/,
      ])
        assert.match(shown, want);
      const unknown = checkFiles({
        quotaFile: { name: 'q', text: QUOTA },
        poolFile: { name: 'p', text: '[limits.priority_floor]\nvison = 2\n' },
      });
      assert.ok(unknown.ok);
      assert.match(
        unknown.warnings.join('\n'),
        /p:2:1: vison: the quota file has no such project \(did you mean vision\?\)/,
      );
      const alone = checkFiles({ poolFile: { name: 'p', text: '[limits.priority_floor]\nvision = 2\n' } });
      assert.ok(alone.ok);
      assert.match(alone.warnings.join('\n'), /limits\.priority_floor|priority_floor: there is no quota file/);
    });
  });
});
