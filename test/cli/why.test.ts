import assert from 'node:assert/strict';
import { renderPlan } from '../../cli/commands/verbs/quota-plan.js';
import { withFailingTasks } from '../../cli/commands/verbs/list.js';
import { renderBoard } from '../../cli/jobs/render-job-list.js';
import { lookOf } from '../../cli/terminal/render/look.js';
import {
  renderFailing,
  renderRebuilding,
  renderWaiting,
  renderWhy,
  wordingFor,
} from '../../cli/terminal/render/why.js';
import { textWidth } from '../../cli/terminal/render/columns.js';
import { whyWaiting } from '../../quota/explanation/why-waiting.js';
import { jobOfLeaseKey } from '../../domain/lease.js';
import { NO_PROJECT } from '../../quota/quota-config.js';
import { planOf } from '../../quota/plan.js';
import type { PoolSnapshot } from '../../quota/published-state.js';
import type { JobView } from '../../contract/job.js';
import { lease, pool, project, request } from '../quota/builders.js';
import { row, T0 } from './rows.js';

const MINUTE = 60_000;
const ago = (minutes: number): number => T0 - minutes * MINUTE;
const key = (job: string): string => `${job}/0192f3c4-1111-7aaa-8bbb-0123456789ab/1`;
const config = pool({ v5litepod: 128 }, project('vision', { v5litepod: 32 }), project('speech', { v5litepod: 32 }));

/** A team that shares one pool. */
function team(more: Partial<PoolSnapshot> = {}): PoolSnapshot {
  const leases = [
    lease(key('train-7f3k'), { v5litepod: 16 }, { project: 'vision', startedAt: ago(90) }),
    lease(key('tune-3b'), { v5litepod: 16 }, { project: 'vision', startedAt: ago(80) }),
    lease(key('asr'), { v5litepod: 16 }, { project: 'speech', startedAt: ago(100) }),
    lease(key('eval-11'), { v5litepod: 48 }, { project: 'speech', startedAt: ago(70) }),
  ];
  const requests = [
    request(key('sweep-0q1d'), { v5litepod: 64 }, { project: 'vision', submittedAt: ago(20) }),
    request(key('tune-9c'), { v5litepod: 64 }, { project: 'vision', submittedAt: ago(40), user: 'alice' }),
  ];
  return { pool: 'default', at: T0, epoch: 1, admission: 'open', view: { config, requests, leases }, ...more };
}

/** Times as minutes from T0: the clock of the computer is not the test's. */
function shown(state: PoolSnapshot, job: string, width?: number): readonly string[] {
  const waiting = whyWaiting(state, job);
  assert.ok(waiting, `${job} waits`);
  const clock = (minutes: number): string => wordingFor(false, T0).timeOf(T0 + minutes * MINUTE);
  return renderWaiting(row({ id: job, phase: 'queued' }), waiting, T0 + 3_000, width).map((line) =>
    line.replaceAll(clock(20), '+20m').replaceAll(clock(40), '+40m'),
  );
}

describe('jobctl why of a job that waits', () => {
  it('names no project of a job that has none', () => {
    const { view } = team();
    const requests = view.requests.map((each) => ({ ...each, project: NO_PROJECT }));
    assert.deepEqual(shown(team({ view: { ...view, requests } }), 'sweep-0q1d').slice(0, 2), [
      'sweep-0q1d waits for 64 chips of v5litepod without a project (2nd of 2 in line, behind tune-9c).',
      ' 1. a job without a project has no nominal quota of v5litepod: all 64 chips would be borrowed',
    ]);
  });

  it('place in line, reasons by number, what would help, when a rule does, and how old that is', () => {
    assert.deepEqual(shown(team(), 'sweep-0q1d'), [
      'sweep-0q1d waits for 64 chips of v5litepod in project vision (2nd of 2 in line, behind tune-9c).',
      " 1. vision's quota: 32 nominal, 32 in use (train-7f3k 16, tune-3b 16), so all 64 chips would be borrowed",
      ' 2. the pool: 128 chips, 96 in use, 32 free: 32 short',
      ' 3. speech uses 48 borrowed; a borrower is not preempted for a borrower',
      '32 chips have to come free at least. With priority 2 it would be 1st. Chips that come free are kept for it from +40m, if not for an older job.',
      'Pool default as of 3s ago.',
    ]);
  });
  it('the first in line is told whose end would do', () => {
    assert.equal(
      shown(team(), 'tune-9c').at(-2),
      '32 chips have to come free at least: the end of eval-11 (48) would do. Chips that come free are kept for it from +20m, if not for an older job.',
    );
  });
  it('an admin who froze the pool is quoted, and a problem of its files is shown', () => {
    const state = team({
      admission: 'frozen',
      admissionReason: 'maintenance until 14:00',
      problem: 'quota.toml:3:1: bad',
    });
    const lines = shown({ ...state, view: { ...state.view, isFrozen: true } }, 'tune-9c');
    assert.equal(lines[1], ' 1. the pool is frozen: nothing new is granted, nothing that runs is touched');
    assert.equal(lines.filter((line) => line.endsWith("the admin's reason: maintenance until 14:00")).length, 1);
    assert.equal(lines.at(-2), "The pool's files have a problem: quota.toml:3:1: bad");
  });
  for (const [admission, did] of [
    ['frozen', 'froze'],
    ['draining', 'drained'],
  ] as const)
    for (const admissionReason of [undefined, 'new racks'])
      it(`who ${did} the pool, when, and the line that thaws it, ${admissionReason ? 'and' : 'without'} a reason`, () => {
        const reason = admissionReason === undefined ? {} : { admissionReason };
        const state = team({ admission, admissionSet: { by: 'alice', at: ago(6) }, ...reason });
        const lines = shown({ ...state, view: { ...state.view, isFrozen: true } }, 'tune-9c');
        const because = admissionReason === undefined ? '' : "; the admin's reason: new racks";
        assert.ok(
          lines.some(
            (line) =>
              / alice (\w+) it at \d\d:\d\d, 6m 0\ds ago/.exec(line)?.[1] === did && line.endsWith(`ago${because}`),
          ),
          lines.join('\n'),
        );
        assert.ok(lines.includes('An admin of the pool opens it again: jobctl quota thaw'), lines.join('\n'));
      });
  it('in a drained pool nobody is told that what runs is left alone', () => {
    const state = team({ admission: 'draining', admissionReason: 'new racks' });
    const lines = shown({ ...state, view: { ...state.view, isFrozen: true } }, 'tune-9c');
    assert.equal(lines[1], ' 1. the pool is drained: nothing new is granted, and every lease is asked back');
    assert.ok(lines.some((line) => line.endsWith("the admin's reason: new racks")));
  });
  it('on a terminal no line is wider than it, and the text of a reason stands under itself', () => {
    const lines = shown(team(), 'sweep-0q1d', 60);
    assert.deepEqual(
      lines.filter((line) => textWidth(line) > 60),
      [],
    );
    assert.match(lines.find((line) => line.includes('borrowed')) ?? '', /^ {4}/);
  });
  it('a job that the pool does not know of is not explained', () => {
    assert.equal(whyWaiting(team(), 'train-7f3k'), undefined);
  });
});

describe('jobctl why while the pool is being rebuilt', () => {
  const clock = (minutes: number): string => wordingFor(false, T0).timeOf(T0 + minutes * MINUTE);
  const saidOf = (waitsFor: readonly string[], waitsForCount = waitsFor.length, width?: number): readonly string[] => {
    const rebuilding = { since: ago(1), until: T0 + MINUTE, waitsFor, waitsForCount };
    const shownRow = row({ id: 'sweep-0q1d', phase: 'queued', label: 'REHEARSAL' });
    return renderRebuilding(shownRow, { pool: 'default', at: T0, rebuilding }, T0 + 3_000, width);
  };
  const head = `sweep-0q1d waits: pool default lost its memory and is being rebuilt since ${clock(-1)}: `;
  const foot = 'Pool default as of 3s ago. REHEARSAL: not on real Cloud TPUs.';

  it('which job it waits for, and until when at most', () => {
    assert.deepEqual(saidOf(['train-7f3k']), [
      `${head}it waits for train-7f3k to say what it holds, until ${clock(1)} at most, and grants nothing until then.`,
      foot,
    ]);
  });
  it('several, and how many more than are named', () => {
    const [first] = saidOf(['a', 'b'], 23);
    assert.equal(
      first,
      `${head}it waits for a, b and 21 more to say what they hold, until ${clock(1)} at most, and grants nothing until then.`,
    );
  });
  it('nobody yet: it reads what is open', () => {
    assert.equal(saidOf([])[0], `${head}it is reading what is open, and grants nothing until then.`);
  });
  it('no line is wider than the terminal', () => {
    const lines = saidOf(['a-job-of-a-long-name', 'another-one'], 2, 60);
    assert.ok(lines.length > 3 && lines.every((line) => textWidth(line) <= 60), lines.join('\n'));
  });
});

describe('jobctl why of a job whose workflow stands still', () => {
  it('since when, the first error in one line, and what to do', () => {
    const failingTask = { attempt: 7, since: ago(5), error: 'no codec key\nis configured.' };
    const [first, ...rest] = renderFailing(row({ failingTask }), T0);
    assert.equal(
      first,
      'Its workflow stands still, attempt 7 of its workflow task after 5m 00s: no codec key is configured.',
    );
    assert.match(rest.join(' '), /hears nothing.*Tell who runs the worker: docs\/operations\.md/);
  });
  it('an error that Temporal did not keep is left out; a clock that is behind is no negative time', () => {
    assert.equal(
      renderFailing(row({ failingTask: { attempt: 2, since: T0 + MINUTE } }), T0)[0],
      'Its workflow stands still, attempt 2 of its workflow task after 0s.',
    );
    assert.equal(
      renderFailing(row({ failingTask: { attempt: 2 } }), T0)[0],
      'Its workflow stands still, attempt 2 of its workflow task.',
    );
  });
  it('of another job: nothing', () => assert.deepEqual(renderFailing(row(), T0), []));
  it('in a list its row says so, in place of what it said last, also where it waits in line', () => {
    const failingTask = { attempt: 3, since: ago(1), error: 'bad' };
    const places = { byJob: new Map([['q', { position: 1, of: 1, why: 'the pool' }]]) };
    const rows = [row({ failingTask }), row({ id: 'q', phase: 'queued', failingTask }), row({ id: 'well' })];
    const board = { groups: [], rows, total: 3, open: 3, phases: new Map(), places };
    const { table } = renderBoard(board, T0, lookOf({}, {}));
    const text = 'stands still, attempt 3 of its workflow task after 1m 00s: bad';
    assert.deepEqual(
      table.slice(1).map((line) => line.endsWith(text)),
      [true, true, false],
    );
  });
  it('a list asks about the open jobs that are known to fail, and about no other', async () => {
    const asked: string[] = [];
    const client = {
      row: async (id: string) => {
        asked.push(id);
        if (id === 'deleted') throw new Error('no such job');
        return row(id === 'mended' ? { id } : { id, failingTask: { attempt: 4 } });
      },
    };
    const open = ['deleted', 'wedged', 'mended'].map((id) => row({ id }));
    const rows = [row(), ...open, row({ id: 'ended', endedAt: T0 })];
    const known = new Set(['deleted', 'wedged', 'mended', 'ended', 'of-another-page']);
    const after = await withFailingTasks(rows, known, client);
    assert.deepEqual(asked, ['deleted', 'wedged', 'mended']);
    assert.deepEqual(
      after.map(({ id, failingTask }) => [id, failingTask?.attempt]),
      [
        ['train-7f3k', undefined],
        ['deleted', undefined],
        ['wedged', 4],
        ['mended', undefined],
        ['ended', undefined],
      ],
    );
  });
});

describe('jobctl why of a job that does not wait', () => {
  it('a running one: what it does', () => {
    assert.deepEqual(renderWhy(row(), undefined, T0 + 70_000), [
      'train-7f3k is running, attempt 1, for 1m 10s: attempt 1 on 4 hosts in us-central1-a.',
    ]);
  });
  it('one that has no slice yet: what each slice does', () => {
    const slice = { state: 'waiting', detail: 'no capacity', ref: { name: 'jc-train-g1', zone: 'us-east1-d' } };
    const spec = { tpu: { pricing: 'spot', allocationMode: 'tpu-vm', zones: ['us-east1-d'] } };
    const view = { phase: 'provisioning', spec, slices: [slice] } as unknown as JobView;
    assert.deepEqual(renderWhy(row({ phase: 'provisioning', attempts: 0, why: 'asking' }), view, T0 + 40_000), [
      'train-7f3k is provisioning, for 40s: asking.',
      '  jc-train-g1 in us-east1-d: waiting, no capacity',
      'The zone refuses the request while it has no unused spot chips, and keeps no place in a line: the job asks again.',
      'For chips elsewhere: another zone in tpu.zones, pricing ondemand or flex-start; that takes another job.',
    ]);
  });
  const purchases: Readonly<Record<string, readonly [tpu: object, waits: RegExp, can: RegExp | undefined]>> = {
    'flex-start': [
      { pricing: 'flex-start', allocationMode: 'queued-resources' },
      /^Flex-start: Google keeps the request in line until the zone has chips for flex-start, and names neither its place nor a time; what starts then is not preempted\.$/,
      /another zone in tpu\.zones, pricing spot or ondemand/,
    ],
    'flex-start with a bound': [
      { pricing: 'flex-start', allocationMode: 'queued-resources', validUntilSeconds: 7200 },
      /nor a time, for 2h at most; what/,
      /pricing spot/,
    ],
    'spot, queued, in several zones': [
      { pricing: 'spot', allocationMode: 'queued-resources', zones: ['a', 'b'] },
      /^Google keeps the request in line until the zone has unused spot chips/,
      /^For chips elsewhere: pricing ondemand or flex-start;/,
    ],
    'on demand': [
      { pricing: 'ondemand', allocationMode: 'tpu-vm' },
      /^The zone refuses the request while it has no unused chips on demand, and/,
      /pricing flex-start, which waits in line/,
    ],
    reserved: [
      { pricing: 'reserved', allocationMode: 'queued-resources' },
      /until the zone has free chips of the reservation/,
      /^They come free when what holds them ends/,
    ],
    'the pricing of its tier': [{ pricing: 'any', allocationMode: 'tpu-vm' }, /^The zone refuses/, undefined],
  };
  for (const [name, [tpu, waits, can]] of Object.entries(purchases))
    it(`one that asks for ${name}: what its request waits for, and what can be done`, () => {
      const slice = { state: 'starting', ref: { name: 'jc-train-g1', zone: 'us-east1-d' } };
      const spec = { tpu: { zones: ['us-east1-d'], ...tpu } };
      const lines = (phase: string): readonly string[] =>
        renderWhy(row({ phase: 'provisioning' }), { phase, spec, slices: [slice] } as unknown as JobView, T0);
      const [wait = '', way, ...more] = lines('provisioning').filter((line) =>
        /^(Flex|Google keeps|The z|For|They)/.test(line),
      );
      assert.match(wait, waits);
      if (can === undefined) assert.equal(way, undefined);
      else assert.match(way ?? '', can);
      assert.deepEqual(more, []);
      assert.ok(!lines('setting-up').join('\n').includes(wait));
    });
  it('one that failed: on whose account, what it had to bear, and which hook did not come off', () => {
    const outcome = {
      result: 'failed',
      cause: { by: 'task', message: 'host 0 ended with exit code 7' },
      attempts: 3,
      preemptions: 2,
      quotaPreemptions: 1,
      requestedRestarts: 2,
      hooks: [
        { hook: 'failure', status: 'timed-out', message: 'host 0: its timeout is over' },
        { hook: 'finally', status: 'done' },
      ],
      submittedAt: T0,
      endedAt: T0 + 600_000,
    } as const;
    assert.deepEqual(
      renderWhy(
        row({ phase: 'failed', why: 'exit code 7', endedAt: T0 + 600_000, outcome, label: 'REHEARSAL' }),
        undefined,
        T0,
      ),
      [
        'train-7f3k failed after 10m 00s: exit code 7. REHEARSAL: not on real Cloud TPUs.',
        'On account of the task: host 0 ended with exit code 7',
        'It had 2 preemptions by the provider, 1 preemption by quota and 2 restarts that its exit code asked for.',
        'Its hook failure timed out: host 0: its timeout is over.',
      ],
    );
  });
});

describe('jobctl quota plan, for people', () => {
  it('jobs by their own names, granted, preempted and waiting', () => {
    const { view } = team();
    const requests = [
      ...view.requests,
      request(key('small'), { v5litepod: 32 }, { project: 'ads', user: 'zoe', submittedAt: ago(1) }),
    ];
    const plan = planOf({ ...view, requests }, T0, wordingFor(false, T0));
    assert.deepEqual(
      renderPlan(plan, { ...view, requests }, 'pool default', jobOfLeaseKey).map((line) => line.slice(0, 60)),
      [
        'pool default: 1 job granted, 0 preempted, 2 waiting',
        '',
        '  GRANTED  PROJECT  USER  UNITS',
        '  small    ads      zoe   32 v5litepod',
        '',
        '  WAITING     PROJECT  USER   UNITS         PLACE  WHY',
        "  tune-9c     vision   alice  64 v5litepod  1      vision's ",
        "  sweep-0q1d  vision   u      64 v5litepod  2      vision's ",
      ],
    );
  });
});
