import assert from 'node:assert/strict';
import { mock } from 'node:test';
import {
  refusalLines,
  verdictLines,
  firstVerdict,
  type FirstVerdict,
} from '../../cli/jobs/submitting/first-verdict.js';
import type { JobRow } from '../../client/job-rows.js';
import type { TaskQueuePolls } from '../../client/temporal-calls.js';

const START = Date.UTC(2026, 10, 26);

interface Told {
  /** What each look at the job finds; the last of them again and again. */
  readonly rows: readonly (Partial<JobRow> | Error)[];
  readonly polls?: Partial<TaskQueuePolls>;
  readonly refusal?: string;
}

const named = (name: string, message: string): Error => Object.assign(new Error(message), { name });

/** Without a bucket, so that no place in line is known. A second passes between two looks. */
function verdictOf({ rows, polls, refusal }: Told): Promise<FirstVerdict | undefined> {
  let looks = 0;
  const client = {
    row: async (): Promise<JobRow> => {
      mock.timers.setTime(START + 1_000 * looks);
      const row = rows[Math.min(looks++, rows.length - 1)];
      if (row instanceof Error) throw row;
      return { id: 'train', pool: 'default', ...row } as JobRow;
    },
    polls: async () => ({ taskQueue: 'jobctl', namespace: 'default', ...polls }),
    wait: async (): Promise<void> => {
      if (refusal !== undefined) throw named('JobInvalid', refusal);
    },
  };
  const question = { client, context: {}, id: 'train', signal: new AbortController().signal };
  return firstVerdict(question as unknown as Parameters<typeof firstVerdict>[0]);
}

const waits = { phase: 'queued', why: 'waits for quota of project vision' } as const;
const unheard = { phase: 'queued' } as const;

describe('the first verdict on a job that is submitted', () => {
  beforeEach(() => mock.timers.enable({ apis: ['Date'], now: START }));
  afterEach(() => mock.timers.reset());

  const cases: Record<string, { readonly told: Told; readonly lines: readonly string[] }> = {
    'its pool has granted it: where it is now': {
      told: { rows: [unheard, { phase: 'provisioning', why: '1 x v5litepod-16 in us-central1-a' }] },
      lines: ['provisioning: 1 x v5litepod-16 in us-central1-a'],
    },
    'it waits, and its place is not known': {
      told: { rows: [unheard, waits] },
      lines: [`queued: ${waits.why}`, '  its place in line is not known yet; `jobctl why train` tells it'],
    },
    'it waits for others, of which its pool hears nothing': {
      told: { rows: [unheard, { phase: 'queued', why: 'waits for prep-1 to succeed' }, { phase: 'running' }] },
      lines: ['queued: waits for prep-1 to succeed; its pool hears of it then'],
    },
    'nobody polls its task queue': {
      told: { rows: [unheard] },
      lines: [
        "queued: no worker polls task queue 'jobctl' of namespace 'default'",
        '  the job is kept and starts when a worker comes up: `jobctl worker` (docs/worker.md), or `jobctl dev up` for a local stack',
        '  if your workers poll another queue, name it: --task-queue or JOBCTL_TASK_QUEUE',
      ],
    },
    'a worker that polled 75 s ago polls no more': {
      told: { rows: [unheard], polls: { lastAt: START - 75_000 } },
      lines: [
        "queued: no worker polls task queue 'jobctl' of namespace 'default'; it was polled last 1m 16s ago",
        '  the job is kept and starts when a worker comes up: `jobctl worker` (docs/worker.md), or `jobctl dev up` for a local stack',
        '  if your workers poll another queue, name it: --task-queue or JOBCTL_TASK_QUEUE',
      ],
    },
    'a worker that polled a moment ago and answers nothing is waited for 5 s': {
      told: { rows: [unheard], polls: { lastAt: START } },
      lines: [
        'not known yet: no worker has answered for it within 5s',
        '  the job is kept; `jobctl status train` tells when one has',
      ],
    },
    'an outage is no error of the command': {
      told: { rows: [named('TemporalUnreachable', 'nothing listens there')] },
      lines: [
        'not known yet: no worker has answered for it within 0s (nothing listens there)',
        '  the job is kept; `jobctl status train` tells when one has',
      ],
    },
  };
  for (const [name, { told, lines }] of Object.entries(cases))
    it(name, async () => {
      const verdict = (await verdictOf(told)) ?? assert.fail('no verdict');
      assert.deepEqual(verdictLines('train', verdict, Date.now()), lines);
    });

  it('what was refused says why, and that its name is free', async () => {
    const message = 'tpu.accelerator: v5litepod-32 can never start';
    const verdict = await verdictOf({ rows: [{ phase: 'failed', endedAt: START }], refusal: message });
    assert.deepEqual(verdict, { kind: 'refused', message });
    const free = 'nothing of it runs, and its name is free; submit again when that is mended';
    assert.deepEqual(refusalLines('train', message), [`train was refused: ${message}`, free]);
  });

  it('what has failed was not refused', async () =>
    assert.deepEqual(await verdictOf({ rows: [{ phase: 'failed', endedAt: START }] }), {
      kind: 'ended',
      phase: 'failed',
    }));
});
