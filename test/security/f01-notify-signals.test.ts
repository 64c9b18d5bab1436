import assert from 'node:assert/strict';
import { leaseMessageForm } from '../../contract/quota-forms.js';
import { leaseMessagesSignal } from '../../contract/quota.js';
import { readableNotify } from '../../domain/job-file/notify.js';
import { resolveJob } from '../../domain/job-file/resolve.js';
import { formatProblems } from '../../domain/problem.js';
import { Inbox } from '../../workflows/inbox.js';
import { BareRun } from '../workflows/bare-run.js';

/**
 * F1: six lines of a job file stopped the pool for everybody: `notify` sent a signal of jobctl's own to `quota/default`, whose
 * handler threw for ever. At 19b9c1e each of these files is valid, a refused job signals too, and the handler throws
 * `messages is not iterable`. The handlers of all workflows, with random values: test/workflows/message-forms.property.test.ts.
 */
const TPU = { accelerator: 'v5litepod-1', zone: 'us-central1-a' };
const targets: Readonly<Record<string, { readonly id: string; readonly signal: string }>> = {
  'the pool': { id: 'quota/default', signal: 'leaseMessages' },
  'the pool, by a signal of another name': { id: 'quota/default', signal: 'jobEnded' },
  'a slice': { id: 'slice/x-g1', signal: 'release' },
  'the janitor': { id: 'jobctl-janitor-workflow', signal: 'wake' },
  'another job, as its pool': { id: 'victim-1', signal: 'revoked' },
};

const FAILED = { kind: 'failed', facts: { attempts: 0, preemptions: 0 } } as const;

describe('F1: who a job may signal', () => {
  afterEach(() => BareRun.end());

  for (const [name, workflow] of Object.entries(targets))
    it(`not ${name}; a job that is refused signals nobody there either`, () => {
      const job = { tpu: TPU, command: { run: 'true' }, notify: { to: { workflow } } };
      const resolved = resolveJob(job);
      assert.ok(!resolved.ok);
      assert.match(
        formatProblems(resolved.problems),
        /^notify\.to\.workflow\.(id|signal): '.*' is a (signal|workflow)/,
      );
      assert.deepEqual(readableNotify({ ...job, nonsense: 1 }, FAILED), []);
    });

  it('a pool drops what is no list of lease messages, whoever sends it, and hears the next one', () => {
    const run = new BareRun();
    const heard: unknown[] = [];
    new Inbox().onEach(leaseMessagesSignal, leaseMessageForm, (all) => heard.push(...all)).open();
    const notice = { v: 1, job: 'x', run: 'r', result: 'succeeded', outcome: {} };
    for (const value of [notice, undefined, null, 7, [notice], [[]]]) run.send('leaseMessages', value);
    assert.deepEqual(heard, []);
    const lease = { pool: 'p', job: 'j', run: 'r', number: 1 };
    run.send('leaseMessages', [{ lease, sender: 'job', sequence: 1, body: { kind: 'gone' } }]);
    assert.equal(heard.length, 1);
  });
});
