import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { temporal } from '@temporalio/proto';
import { newCodecKey } from '../../../cloud/codec/codec-key.js';
import { type ChangeSwitches, isInForce } from '../../../contract/changes.js';
import { changesObject } from '../../../domain/store-layout.js';
import { jobFile } from '../../end-to-end/job-files.js';
import { storedLog } from '../../end-to-end/stored-log.js';
import { TestStack } from '../../end-to-end/test-stack.js';
import { homesWith } from '../../end-to-end/vm-homes.js';
import { everybodysQuota } from '../../quota/quota-file-text.js';
import { HistoryFacts } from '../../replay/history-facts.js';
import { readRuns, type Run } from '../../replay/recording.js';
import { replay } from '../../replay/recorded.js';
import { TEMPORAL_START_MS } from '../../temporal-server.js';
import { until } from '../../until.js';
import { CHANGE, NextBuild } from './two-builds.js';

const KEY = 'JOBCTL_TEST_UPGRADE';
/** Of one host each; four more than the pool has room for, so that it has grants to make under each build. */
const JOBS = 20;
const QUOTA = everybodysQuota({ v5litepod: (JOBS - 4) * 8 });
const COMMAND = 'echo "$JOBCTL_JOB_ID" >> ~/begins; echo begin; while [ ! -e ~/enough ]; do sleep 0.5; done; echo end';

for (const [what, isEncrypting] of [
  ['plain payloads', false],
  ['encrypted payloads', true],
] as const) {
  describe(`20 jobs live through an upgrade and a rollback (${what})`, function () {
    this.timeout(280_000);
    let stack: TestStack;
    let next: NextBuild;
    let thisProgram: readonly string[];
    const jobs: string[] = [];
    const told = new Set<string>();

    before(async function () {
      this.timeout(TEMPORAL_START_MS);
      next = await NextBuild.make();
      process.env[KEY] = newCodecKey(new Date(), 'test-key');
      const codec = isEncrypting ? { codec: { key: `env:${KEY}` } } : {};
      stack = await TestStack.start({ quota: QUOTA, pool: `upgrade-${String(isEncrypting)}`, ...codec });
      thisProgram = stack.program;
    });
    after(async () => {
      await stack?.stop();
      next?.remove();
    });

    async function submit(count: number): Promise<void> {
      const job = jobFile(COMMAND, { pool: `upgrade-${String(isEncrypting)}`, tpu: { accelerator: 'v5litepod-8' } });
      for (let index = 0; index < count; index++) jobs.push((await stack.jobs.submit({ job })).id);
    }

    /** Commands that are under way, by job: the folders in which they wrote that they began. */
    function begun(): ReadonlyMap<string, string> {
      const found = new Map<string, string>();
      for (const home of homesWith('begins', stack.rehearsalDirectory)) {
        const lines = readFileSync(join(home, 'begins'), 'utf8').trimEnd().split('\n');
        assert.deepEqual(lines, lines.slice(0, 1), `a command began twice in ${home}`);
        found.set(lines[0] as string, home);
      }
      return found;
    }
    const running = (): readonly string[] => [...begun().keys()].filter((id) => !told.has(id));
    const areRunning = (count: number): Promise<unknown> =>
      until(`${count} commands run`, () => running().length === count, 120_000);

    /** Ends the commands of the next few jobs. */
    async function end(count: number): Promise<void> {
      const homes = begun();
      const chosen = running().slice(0, count);
      for (const id of chosen) {
        told.add(id);
        writeFileSync(join(homes.get(id) as string, 'enough'), '');
      }
      for (const id of chosen) assert.equal((await stack.jobs.wait(id)).result, 'succeeded', stack.tail());
    }

    async function replaceWorker(program: readonly string[]): Promise<void> {
      await stack.stopWorker();
      stack.program = program;
      await stack.startWorker();
    }

    const runs = (): Promise<readonly Run[]> => readRuns(stack.client, `TaskQueue = '${stack.taskQueue}'`);
    const carriers = async (): Promise<readonly string[]> =>
      (await runs()).flatMap(({ history }) => {
        const facts = new HistoryFacts(history);
        return hasMarker(history) ? [facts.workflowType] : [];
      });

    it('the build after this one takes them over, and goes on with them in the old way', async () => {
      await submit(JOBS);
      await areRunning(JOBS - 4);
      await replaceWorker(next.program);
      await end(2);
      await areRunning(JOBS - 4);
      assert.deepEqual(await carriers(), []);
    });

    it('a rollback before the change is active is clean', async () => {
      await replaceWorker(thisProgram);
      await end(2);
      await areRunning(JOBS - 4);
      assert.deepEqual(await carriers(), []);
    });

    it('the change is switched on: a worker that does not know it stops before any workflow takes the new way', async () => {
      await promisify(execFile)(process.execPath, [...next.program, ...activate(stack)]);
      const refused = await until('it is not ready', async () => refusalOf(await stack.readiness()), 60_000);
      assert.match(refused, /this build does not know change 'test-change', active since 20\d\d-.*Update it/);
      const switches = JSON.parse(String(await stack.store.read(changesObject))) as ChangeSwitches;
      assert.equal(isInForce(switches, CHANGE, Date.now()), false, 'it was still to come into force');
      // The rest of the two minutes is not waited for.
      const changes = { [CHANGE]: { ...switches.changes[CHANGE], activeFrom: Date.now() } };
      await stack.store.replace(changesObject, JSON.stringify({ v: 1, changes }));
    });

    it('under the build after this one new workflows take the new way, and those that are open live on', async () => {
      await replaceWorker(next.program);
      await submit(4);
      await end(4);
      await areRunning(JOBS - 4);
      const types = await until('each workflow type carries the marker', async () => {
        const found = new Set(await carriers());
        return found.size === 3 && [...found].sort();
      });
      assert.deepEqual(types, ['job', 'quota', 'slice']);
    });

    it('a rollback after that is refused with the change and a workflow that carries it; nothing is lost', async () => {
      await stack.stopWorker();
      stack.program = thisProgram;
      stack.spawnWorker();
      const refused = await until('it is not ready', async () => refusalOf(await stack.readiness()), 60_000);
      assert.match(
        refused,
        /does not know change 'test-change', .* \d+ open workflows carry it, such as \S+\. Update it/,
      );
      await replaceWorker(next.program);
    });

    it('all end as they should: one start of each command, and no workflow task that failed', async () => {
      await until('the rest has begun', () => begun().size >= JOBS - 4, 120_000);
      for (const id of jobs) await endOf(id);
      for (const id of jobs) {
        const { result, attempts } = await stack.jobs.wait(id);
        assert.deepEqual([result, attempts], ['succeeded', 1], id);
        assert.equal(await storedLog(stack.store, { id, stream: 'command', host: 0 }), 'begin\nend\n');
      }
      const all = await runs();
      const failed = all.flatMap(({ workflowId, history }) =>
        new HistoryFacts(history).has('workflowTaskFailedEventAttributes') ? [workflowId] : [],
      );
      assert.deepEqual(failed, [], 'workflows with a failed workflow task');
      const codecKey = isEncrypting ? process.env[KEY] : undefined;
      const recorded = all.map((run) => ({ ...run, file: run.workflowId, codecKey }));
      const failures = await replay(recorded, async (encrypting) => next.bundle(encrypting));
      assert.deepEqual(failures, []);
      const marked = all.filter(({ history }) => hasMarker(history)).length;
      process.stdout.write(
        `      ${jobs.length} jobs, ${all.length} histories, ${marked} with the marker of the change\n`,
      );
    });

    async function endOf(id: string): Promise<void> {
      if (told.has(id)) return;
      const home = await until(`${id} runs`, () => begun().get(id), 120_000);
      told.add(id);
      writeFileSync(join(home, 'enough'), '');
    }
  });
}

const activate = ({ server, store, rehearsal, taskQueue }: TestStack): readonly string[] => [
  ...['setup', 'server', '--activate', CHANGE, '--temporal-address', server.address, '--namespace', server.namespace],
  ...['--bucket', store.bucket, '--store-endpoint', rehearsal.endpoints.store, '--google-project', 'rehearsal'],
  ...['--task-queue', taskQueue],
];

const refusalOf = ({ reasons }: { readonly reasons: readonly string[] }): string | undefined =>
  reasons.find((reason) => reason.includes(CHANGE));

/** The marker's own details may be encrypted; there is no other change. */
const hasMarker = ({ events }: temporal.api.history.v1.IHistory): boolean =>
  events?.some(({ markerRecordedEventAttributes: marker }) => marker?.markerName === 'core_patch') === true;
