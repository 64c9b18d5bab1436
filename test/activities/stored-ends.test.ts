import assert from 'node:assert/strict';
import { MockActivityEnvironment } from '@temporalio/testing';
import type { AttemptHost } from '../../activities/attempt/attempt-hosts.js';
import { exitRecordOf, keepEnd, storedEnds, exitProofs } from '../../activities/attempt/ends.js';
import { createHmac, createSecretKey } from 'node:crypto';
import type { JobSettings } from '../../contract/job.js';
import { deriveJobKey, jobKeysOf } from '../../cloud/job-keys/open-job-keys.js';
import { MOST_RECORD_BYTES } from '../../cloud/store/port.js';
import { formatExitRecord, parseExitRecord } from '../../cloud/hosts/runner-client.js';
import type { HostEnd } from '../../domain/recovery/host-ends.js';

const SECRET = { id: 'k', secret: createSecretKey(Buffer.alloc(32, 7)) };
const JOB = { id: 'train', run: 'r' };
const settingsOf = (job: typeof JOB): JobSettings =>
  ({ publicKey: deriveJobKey(SECRET, job).publicKey }) as JobSettings;
const OF = { job: JOB, attempt: 2, settings: settingsOf(JOB) };
const KEYED = { jobKeys: jobKeysOf({ current: SECRET, former: [] }) };
const UNKEYED = { jobKeys: jobKeysOf({ former: [] }) };
const HOSTS = [0, 1].map((index) => ({ number: index, target: { slice: 0, index, uid: 'n1' } }) as AttemptHost);
const record = (state: string, run = 'train-a2', proof?: string): string =>
  JSON.stringify({ v: 1, run, state, ...(proof === undefined ? {} : { proof }) });
const UP = record('exited 0 - 1000 2000 12 - 5 up -');

/** @param contents of the hosts in order; undefined: it stored none */
async function endsOf(
  contents: readonly (string | undefined)[],
  { failing = false, installation = UNKEYED } = {},
): Promise<readonly HostEnd[]> {
  const objects = new Map(
    HOSTS.flatMap((host, index) => {
      const content = contents[index];
      return content === undefined ? [] : [[exitRecordOf(OF, host), content] as const];
    }),
  );
  const store = {
    read: async (name: string, range?: object) => {
      assert.deepEqual(range, { start: 0, end: MOST_RECORD_BYTES }, 'a host may write more than fits into memory');
      if (failing) throw new Error('HTTP 503');
      const content = objects.get(name);
      return content === undefined ? undefined : Buffer.from(content);
    },
  };
  return new MockActivityEnvironment().run(() =>
    storedEnds({ store, hosts: { readExitRecord: parseExitRecord }, proofOf: exitProofs(installation, OF) }, OF, HOSTS),
  );
}

describe('ends that hosts stored themselves', () => {
  it('are those of all hosts', async () => {
    const ends = await endsOf([UP, record('exited 143 SIGTERM 1000 2000 12 stopped 5 stopping -')]);
    assert.deepEqual(
      ends.map((end) => 'code' in end && [end.kind, end.at.host, end.code, end.host, end.isStopped]),
      [
        ['done', 0, 0, 'up', false],
        ['failed', 1, 143, 'stopping', true],
      ],
    );
  });

  it('are of a node: another node of the same attempt number has its own', () => {
    const [host] = HOSTS as [AttemptHost];
    const other = { ...host, target: { ...host.target, uid: 'n2' } };
    assert.notEqual(exitRecordOf(OF, host), exitRecordOf(OF, other));
  });

  const none: Readonly<Record<string, readonly (string | undefined)[]>> = {
    'one host stored none': [UP, undefined],
    'a record is of another run': [UP, record('exited 0 - 1000 2000 12 - 5 up -', 'train-a1')],
    'a record is cut off': [UP, UP.slice(0, -2)],
    'a record says that the command runs': [UP, record('running 1000 12 5')],
    'a record has letters for numbers': [UP, record('exited 0 - soon 2000 12 - 5 up -')],
    'a record is empty': [UP, ''],
  };
  for (const [what, contents] of Object.entries(none))
    it(`are none where ${what}`, async () => assert.deepEqual(await endsOf(contents), []));

  it('are none where the store does not answer', async () =>
    assert.deepEqual(await endsOf([UP, UP], { failing: true }), []));

  it('bear a proof that each build makes alike: a host keeps it while workers are replaced', () => {
    const [proof] = HOSTS.map(({ target }) => exitProofs(KEYED, OF)(target));
    const key = deriveJobKey(SECRET, JOB).privateKey;
    const text = ['jobctl exit record 1', 'train-a2', 'n1', '0'].join('\0');
    assert.equal(proof, createHmac('sha256', key).update(text).digest('hex'));
  });

  describe('where jobs have keys of their own', () => {
    const exited = 'exited 0 - 1000 2000 12 - 5 up -';
    const proven = (of = OF): readonly string[] => {
      const proofOf = exitProofs(KEYED, of);
      return HOSTS.map(({ target }) => record(exited, 'train-a2', proofOf(target)));
    };
    const keyed = { installation: KEYED };

    it('are believed with the proof that each host got with its run, also by a worker with the former secret alone', async () => {
      assert.equal((await endsOf(proven(), keyed)).length, 2);
      const former = { installation: { jobKeys: jobKeysOf({ former: [SECRET] }) } };
      assert.equal((await endsOf(proven(), former)).length, 2);
    });

    const [own = ''] = proven();
    const forged: Readonly<Record<string, readonly string[]>> = {
      'without a proof': [own, UP],
      'with an empty one': [own, record(exited, 'train-a2', '')],
      'with that of another host': [own, own],
      'with that of an earlier attempt': [own, proven({ ...OF, attempt: 1 })[1] ?? ''],
      'with that of another job': [
        own,
        proven({ ...OF, job: { id: 'train', run: 's' }, settings: settingsOf({ id: 'train', run: 's' }) })[1] ?? '',
      ],
    };
    for (const [what, contents] of Object.entries(forged))
      it(`are none where a record comes ${what}`, async () => assert.deepEqual(await endsOf(contents, keyed), []));
  });
});

describe('an end that a host has told', () => {
  const DONE = { kind: 'exited', code: 0, startedAt: 1, endedAt: 2, outputBytes: 0, isStopped: false } as const;
  const [host] = HOSTS as [AttemptHost];
  /** What is written, and what is logged. */
  async function kept(write: () => Promise<void>): Promise<{ writes: unknown[]; warnings: string[] }> {
    const [writes, warnings]: [unknown[], string[]] = [[], []];
    const none = (): void => undefined;
    const warn = (message: string): void => void warnings.push(message);
    const store = {
      write: async (...args: readonly unknown[]) => {
        writes.push(args);
        await write();
        return { kind: 'conflict' } as const;
      },
    };
    await new MockActivityEnvironment(
      {},
      { logger: { log: none, trace: none, debug: none, info: none, warn, error: none } },
    ).run(() =>
      keepEnd({ store, hosts: { exitRecord: formatExitRecord }, proofOf: exitProofs(KEYED, OF) }, OF, host, DONE),
    );
    return { writes, warnings };
  }

  it('is kept as the host would write it, with its proof, where the host has not written it', async () => {
    const record = formatExitRecord(DONE, { runId: 'train-a2', proof: exitProofs(KEYED, OF)(host.target) });
    const { writes, warnings } = await kept(async () => undefined);
    assert.deepEqual([writes, warnings], [[[exitRecordOf(OF, host), record, 'absent', 'application/json']], []]);
  });

  it('is believed all the same where it cannot be kept', async () => {
    const { warnings } = await kept(async () => assert.fail('HTTP 503'));
    assert.deepEqual(warnings, ['the end of host 0 is not kept: HTTP 503']);
  });
});
