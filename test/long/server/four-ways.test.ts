import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'yaml';
import { outcomeObject, specObject } from '../../../domain/store-layout.js';
import { jobFile } from '../../end-to-end/job-files.js';
import { InstalledWheel } from '../../python/wheel.js';
import { ServerStack } from '../../server/server-stack.js';
import { TEMPORAL_START_MS } from '../../temporal-server.js';
import {
  byCurl,
  byPython,
  commandLineByServer,
  commandLineByTemporal,
  jobClientByServer,
  jobClientByTemporal,
  type Place,
  type Told,
  type Way,
} from './ways.js';

const WHO = 'alice@example.org';
const JOB = jobFile('echo out of the job; echo to stderr >&2; exit 7', {
  project: 'vision',
  user: WHO,
  tpu: { accelerator: 'v5litepod-1' },
  env: { GREETING: 'hé \u{1f600}' },
});
const WRONG = { ...JOB, comand: { run: 'true' }, tpu: { accelerator: 'v5litepod-3', zone: 'us-central1-a' } };
const PROBLEM = [
  "accelerator: 'v5litepod-3' is no Cloud TPU type",
  '  the nearest are v5litepod-1 (1 host) and v5litepod-4 (1 host)',
  '  allowed: v5litepod-1, v5litepod-4, v5litepod-8, v5litepod-16, v5litepod-32, v5litepod-64, v5litepod-128, v5litepod-256',
  'comand: no such key in a job file',
  '  did you mean command?',
].join('\n');
/** Beside a place in a file the last part of a key is said, and no place is known of a job that is JSON. */
const withLastKeys = (problem: string): string => problem.replace(/^(\w+\.)+(?=\w+: )/gm, '');

const serverWays = async (place: Place): Promise<readonly Way[]> => [
  await commandLineByServer(place),
  await jobClientByServer(place),
  byPython('blocking', place),
  byPython('asyncio', place),
  byCurl(place),
];
/** With a worker that believes names, also past the server. */
const MODES = {
  trusted: async (place: Place) => [
    commandLineByTemporal(place),
    jobClientByTemporal(place),
    ...(await serverWays(place)),
  ],
  verified: serverWays,
};

describe('the same job by each way', function () {
  this.timeout(300_000);
  let folder: string;
  let wheel: InstalledWheel;
  /** Over both modes. */
  const hashes = new Set<unknown>();
  before(async function () {
    this.timeout(600_000);
    folder = mkdtempSync(join(tmpdir(), 'jobctl-ways-'));
    wheel = await InstalledWheel.install(folder);
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  for (const [mode, waysOf] of Object.entries(MODES))
    describe(`in ${mode} mode`, () => {
      let stack: ServerStack;
      let ways: readonly Way[];
      before(async function () {
        this.timeout(TEMPORAL_START_MS + 120_000);
        stack = await ServerStack.start(mode === 'trusted' ? { isTrusted: true } : {});
        const own = join(folder, mode);
        mkdirSync(own);
        ways = await waysOf({ stack, wheel, folder: own, token: await stack.issuer.token({ email: WHO }) });
      });
      after(() => stack?.stop());

      /** What each way is told, and the id that it gave. */
      const byEach = async (
        job: object,
        id: (index: number) => string,
      ): Promise<readonly (Told & { id: string; way: string })[]> => {
        const told = ways.map(async (way, index) => ({
          ...(await way.run(job, id(index))),
          id: id(index),
          way: way.name,
        }));
        return Promise.all(told);
      };

      /** All that is kept of a job, but its id and its times. */
      async function landed(id: string): Promise<Readonly<Record<string, unknown>>> {
        const { memo, searchAttributes } = await stack.stack.client.workflow.getHandle(id).describe();
        const [spec, outcome] = await Promise.all(
          [specObject(id), outcomeObject(id)].map((name) => stack.store.read(name)),
        );
        const { result, exitCode, cause, attempts } = JSON.parse(String(outcome)) as Record<string, unknown>;
        const { contentHash, isVerified = false, name, slice } = memo ?? {};
        const attributes = ['JobUser', 'JobProject', 'JobPool', 'JobAccelerator', 'JobPhase'].map(
          (key) => searchAttributes[key],
        );
        return {
          contentHash,
          isVerified,
          name,
          slice,
          attributes,
          spec: parse(String(spec)) as unknown,
          result,
          exitCode,
          cause,
          attempts,
        };
      }

      it('ends alike, is told alike, and is kept alike: content, owner, phase, outcome, log', async () => {
        const told = await byEach(JOB, (index) => `way-${mode}-${index}`);
        const kept = await Promise.all(told.map(({ id }) => landed(id)));
        const [first] = kept;
        assert.deepEqual(first?.['spec'], JOB);
        assert.deepEqual(first?.['attributes'], [[WHO], ['vision'], ['default'], ['v5litepod-1'], ['failed']]);
        assert.deepEqual(
          [first?.['result'], first?.['exitCode'], first?.['isVerified']],
          ['failed', 7, mode === 'verified'],
        );
        for (const [index, { way, ...of }] of told.entries()) {
          assert.deepEqual(of, { kind: 'ended', exitCode: 7, log: 'out of the job\nto stderr\n', id: of.id }, way);
          assert.deepEqual(kept[index], first, way);
        }
        hashes.add(first?.['contentHash']);
      });

      it('is the same job again under its id, whichever way asks', async () => {
        const id = `way-${mode}-0`;
        const run = async (): Promise<string> => (await stack.stack.client.workflow.getHandle(id).describe()).runId;
        const before = await run();
        for (const { way, ...told } of await byEach(JOB, () => id))
          assert.deepEqual(told, { kind: 'ended', exitCode: 7, log: 'out of the job\nto stderr\n', id }, way);
        assert.equal(await run(), before);
      });

      it('another one under its id is refused with the same words', async () => {
        const told = await byEach({ ...JOB, command: { run: 'id' } }, () => `way-${mode}-0`);
        for (const { way, ...refused } of told) {
          assert.equal(refused.kind, 'refused', way);
          const [problem] = (refused as { problem: string }).problem.split('\n');
          assert.equal(problem, `a job named 'way-${mode}-0' is there already, with other content`, way);
        }
      });

      it('a wrong one is refused with the same problems, and nothing is started', async () => {
        const told = await byEach(WRONG, (index) => `wrong-${mode}-${index}`);
        for (const { way, ...refused } of told) {
          assert.equal(refused.kind, 'refused', way);
          assert.equal(withLastKeys((refused as { problem: string }).problem), PROBLEM, way);
          const handle = stack.stack.client.workflow.getHandle(refused.id);
          await assert.rejects(handle.describe(), { name: 'WorkflowNotFoundError' }, way);
        }
      });
    });

  describe('in both modes', () => {
    it('has one content hash', () => assert.equal(hashes.size, 1));
  });
});
