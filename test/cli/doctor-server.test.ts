import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { queueCheck, workerCheck } from '../../cli/doctor/server.js';
import { cutText } from '../../cli/commands/verbs/logs.js';
import { freePort } from '../temporal-server.js';
import { jobctl } from './command-line.js';
import { type OtherServer, startOtherServers } from './other-servers.js';
import { row, T0 } from './rows.js';

const POLLS = { taskQueue: 'jobctl', namespace: 'ml', lastAt: T0 };

describe('jobctl doctor --server', () => {
  const queues: Readonly<Record<string, readonly [Parameters<typeof queueCheck>, string, RegExp]>> = {
    'is ours': [[{ ...POLLS, owner: 'a' }, 'a'], 'ok', /is this installation, 'a'/],
    'is nobody’s': [[POLLS, 'a'], 'warning', /claimed by no installation/],
    'is another’s': [[{ ...POLLS, owner: 'b' }, 'a'], 'failed', /is installation 'b', and this is installation 'a'/],
    'is somebody’s, and our owner id cannot be read': [
      [{ ...POLLS, owner: 'b' }, undefined],
      'warning',
      /cannot be read/,
    ],
  };
  for (const [what, [asked, state, words]] of Object.entries(queues))
    it(`says whose a task queue is that ${what}`, () => {
      const found = queueCheck(...asked);
      assert.equal(found.state, state);
      assert.match(found.what, words);
    });

  it('names the workers of another installation, and says where no worker polls', () => {
    assert.equal(workerCheck(POLLS, T0).state, 'ok');
    assert.match(workerCheck(POLLS, T0 + 600_000).what, /^no worker polls/);
    const strange = workerCheck({ ...POLLS, owner: 'a', strangers: ['7@box/bbbbbbbbbbbb'] }, T0);
    assert.equal(strange.state, 'failed');
    assert.match(strange.what, /7@box\/bbbbbbbbbbbb/);
  });
});

describe('jobctl doctor --server where Temporal is away', () => {
  it('says so, and looks at the store all the same', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'doctor-'));
    const env = {
      JOBCTL_BUCKET: pathToFileURL(folder).href,
      JOBCTL_HOME: folder,
      TEMPORAL_ADDRESS: `127.0.0.1:${await freePort()}`,
    };
    const { exitCode, stdout, stderr } = await jobctl(['doctor', '--server', '-o', 'json'], env);
    const { findings } = JSON.parse(stdout) as { findings: readonly { check: string; state: string; what: string }[] };
    assert.deepEqual(
      findings.map(({ check, state }) => [check, state]),
      [
        ['server', 'failed'],
        ['store', 'failed'],
      ],
      stdout,
    );
    assert.match(findings[0]?.what ?? '', /cannot be reached/);
    assert.match(findings[1]?.what ?? '', /is no folder of a store/);
    assert.equal(exitCode, 1, stderr);
  });
});

describe('jobctl doctor --server and the buckets', () => {
  it('names each that does not exist, and how it is made, and says nothing of a bucket that is there', async () => {
    const { ports, stop } = await startOtherServers();
    const folder = mkdtempSync(join(tmpdir(), 'doctor-'));
    const found = async (server: OtherServer) => {
      const env = {
        ...{ JOBCTL_BUCKET: 'team-jobs', JOBCTL_SYSTEM_BUCKET: 'team-decides', JOBCTL_HOME: folder },
        JOBCTL_STORE_ENDPOINT: `http://127.0.0.1:${ports.get(server)}`,
        TEMPORAL_ADDRESS: `127.0.0.1:${await freePort()}`,
      };
      const { stdout } = await jobctl(['doctor', '--server', '-o', 'json'], env);
      const { findings } = JSON.parse(stdout) as {
        findings: readonly { check: string; state: string; what: string }[];
      };
      return findings.filter(({ check }) => check === 'store').map(({ state, what }) => [state, what] as const);
    };
    try {
      const missing = await found('one without the bucket');
      assert.deepEqual(
        missing.map(([state]) => state),
        ['failed', 'failed'],
      );
      for (const [at, name] of ['team-jobs', 'team-decides'].entries())
        assert.match(missing[at]?.[1] ?? '', new RegExp(`gs://${name} does not exist .*"name":"${name}"`));
      assert.deepEqual(
        (await found('one that forbids')).map(([state]) => state),
        ['warning', 'warning'],
      );
    } finally {
      stop();
      rmSync(folder, { recursive: true });
    }
  });
});

describe('the log of a job that was terminated', () => {
  const terminated = row({ phase: 'terminated', endedAt: T0, attempts: 2 });
  it('says that it ends there, and when', () => {
    assert.match(
      cutText(terminated, 2) ?? '',
      new RegExp(`from outside at ${new Date(T0).toISOString()}: its log ends there`),
    );
  });
  it('says nothing of an attempt before the last one, or of a job that has an end', () => {
    assert.equal(cutText(terminated, 1), undefined);
    assert.equal(cutText(row({ phase: 'failed', endedAt: T0, attempts: 2 }), 2), undefined);
  });
});
