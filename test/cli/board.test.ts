import assert from 'node:assert/strict';
import fc from 'fast-check';
import type { Board } from '../../client/job-board.js';
import { inBoardOrder } from '../../client/job-board.js';
import type { GroupRow } from '../../client/group-rows.js';
import type { JobClient } from '../../client/job-client.js';
import type { JobRow, ShownPhase } from '../../client/job-rows.js';
import { stripVTControlCharacters } from 'node:util';
import { type Terminal, textWidth } from '../../cli/terminal/render/columns.js';
import { groupsOfBoard } from '../../cli/jobs/groups/board.js';
import { boardLines, renderBoard, type ShownBoard } from '../../cli/jobs/render-job-list.js';
import { lookOf, cutAtWord } from '../../cli/terminal/render/look.js';
import type { WaitingLine } from '../../quota/waiting-line.js';
import { row, T0 } from './rows.js';

const S = 1000;
const UTF8 = { LANG: 'C.UTF-8' };
const PIPE = lookOf({}, UTF8);
const terminal = (columns: number, env: Record<string, string> = { ...UTF8, NO_COLOR: '1' }) =>
  lookOf({ isTTY: true, columns } satisfies Terminal, env);

function board(rows: readonly JobRow[], over: Partial<ShownBoard> = {}): ShownBoard {
  const phases = new Map<ShownPhase, { jobs: number; chips: number }>();
  for (const { phase, chips = 0 } of rows) {
    const before = phases.get(phase) ?? { jobs: 0, chips: 0 };
    phases.set(phase, { jobs: before.jobs + 1, chips: before.chips + chips });
  }
  return { groups: [], rows, total: rows.length, open: rows.length, phases, places: { byJob: new Map() }, ...over };
}
const shown = (of: ShownBoard, look = PIPE, now = T0 + 190 * S): readonly string[] =>
  boardLines(renderBoard(of, now, look));

describe('jobctl list', () => {
  it('says that there are none, and where the others are', () => {
    assert.deepEqual(shown(board([])), ['no jobs']);
    assert.deepEqual(shown(board([], { endedWithin: 'in the last day' })), [
      'no jobs that are open or ended in the last day; --all shows those that ended before',
    ]);
  });

  it('has one row a job, then how many there are of each phase, with their chips', () => {
    const rows = [
      row({ chips: 16 }),
      row({ id: 'sweep-0q1d', phase: 'queued', attempts: 0, why: 'waits for\nquota', chips: 16 }),
      row({ id: 'eval-1', phase: 'failed', endedAt: T0 + 9 * S, why: 'the command exited with code 7 on host 2' }),
      row({ id: 'gone-1', phase: 'terminated', endedAt: T0 + 8 * S }),
    ];
    assert.deepEqual(shown(board(rows, { endedWithin: 'in the last day' })), [
      'JOB         PROJECT  USER (unverified)  SLICE         PHASE       TIME    ATTEMPT  WHY',
      'train-7f3k  vision   alice              v5litepod-16  running     3m 10s  1        attempt 1 on 4 hosts in us-central1-a',
      'sweep-0q1d  vision   alice              v5litepod-16  queued      3m 10s  0        waits for quota',
      'eval-1      vision   alice              v5litepod-16  failed      9s      1        3m 01s ago: the command exited with code 7 on host 2',
      'gone-1      vision   alice              v5litepod-16  terminated  8s      1        3m 02s ago: ended in Temporal from outside, without an outcome',
      '1 running (16 chips), 1 queued (16 chips); ended in the last day: 1 failed, 1 terminated',
    ]);
  });

  it('has the groups above the jobs: open ones, and the last ten that ended, by what they last told', () => {
    const group = (over: Partial<GroupRow>): GroupRow => ({
      ...{ id: 'exp-7f3k', name: 'exp', user: 'alice', project: 'vision', pool: 'default', members: 12 },
      ...{ submittedAt: T0, ...over },
    });
    const ended = Array.from({ length: 11 }, (_, at) =>
      group({ id: `old-${at}`, endedAt: T0 + 60 * S, counts: { succeeded: 10, failed: 2 } }),
    );
    const groups = [
      group({ counts: { waiting: 12 }, awaited: 'prep-0q1d to succeed' }),
      group({ id: 'new-1', user: 'bob' }),
      group({ id: 'lost-1', endedAt: T0 + 60 * S, counts: { open: 3 }, end: 'terminated' }),
      ...ended,
    ];
    const lines = shown(board([row({})], { groups }));
    assert.deepEqual(lines.slice(0, 5), [
      'GROUP     PROJECT  USER (unverified)  JOBS  TIME    MEMBERS',
      'exp-7f3k  vision   alice              12    3m 10s  waits for prep-0q1d to succeed',
      'new-1     vision   bob                12    3m 10s  not begun: no worker has taken it yet',
      'lost-1    vision   alice              12    1m 00s  2m 10s ago: ended in Temporal from outside, last 3 open',
      'old-0     vision   alice              12    1m 00s  2m 10s ago: 10 succeeded, 2 failed',
    ]);
    assert.deepEqual(lines.slice(13, 16), [
      '.. and 2 groups that ended before: `--output json` has all',
      '',
      shown(board([row({})]))[0],
    ]);
    assert.deepEqual(shown(board([], { groups: groups.slice(0, 1) })).at(-1), 'no jobs', 'a group that waits has none');
  });

  for (const [phase, want] of [
    [undefined, ['a', 'b', 'c']],
    [
      ['queued', 'running'],
      ['a', 'b'],
    ],
    [['running'], []],
  ] as const)
    it(`of phases ${phase ?? 'of all kinds'} it has the groups ${want.join(', ') || 'of none'}, by one call`, async () => {
      const of = (over: Partial<GroupRow>): GroupRow => ({ id: 'a', members: 2, ...over }) as GroupRow;
      const all = [of({ awaited: 'x to end' }), of({ id: 'b' }), of({ id: 'c', counts: { open: 1, waiting: 1 } })];
      const asked: object[] = [];
      const client = { groups: async (...call: object[]) => (asked.push(...call), all) } as unknown as JobClient;
      const found = await groupsOfBoard(client, { user: 'alice', ...(phase && { phase }), state: 'open' }, 7);
      assert.deepEqual(
        found.map(({ id }) => id),
        want,
      );
      assert.deepEqual(asked, want.length === 0 ? [] : [{ user: 'alice' }, 7]);
    });

  it('counts no chips for jobs that hold none, and says that no worker goes on with them', () => {
    const rows = [row({ chips: 16 }), row({ id: 'rest-1', phase: 'released', chips: 16 })];
    const noWorker = { taskQueue: 'jobctl', namespace: 'ml', lastAt: T0 };
    assert.deepEqual(shown(board(rows, { noWorker }), PIPE, T0 + 180 * S).slice(-2), [
      '1 running (16 chips), 1 released',
      "no worker polls task queue 'jobctl' of namespace 'ml'; it was polled last 3m 00s ago: the open jobs of this queue stand still, and their rows show the last known state",
    ]);
  });

  it('a row without a reason says that no worker polls its task queue; one with a reason, of another queue or ended does not', () => {
    const rows = [
      row({ id: 'fresh-1', phase: 'queued', why: '' }),
      row({ id: 'waits-1', phase: 'queued', why: 'waits for quota' }),
      row({ id: 'other-1', phase: 'queued', why: '', taskQueue: 'other' }),
      row({ id: 'ended-1', phase: 'cancelled', why: '', endedAt: T0 + S }),
    ];
    const whys = (more: Parameters<typeof board>[1]): readonly string[] =>
      shown(board(rows, more))
        .slice(1, 5)
        .map((line) => /\d {8}(.*)$/.exec(line)?.[1] ?? '');
    const noWorker = { taskQueue: 'jobctl', namespace: 'ml', lastAt: T0 };
    assert.deepEqual(whys({ noWorker }).slice(0, 3), [
      "no worker polls its task queue 'jobctl'",
      'waits for quota',
      '',
    ]);
    assert.deepEqual(whys({}).slice(0, 3), ['', 'waits for quota', '']);
    assert.doesNotMatch(whys({ noWorker })[3] ?? '', /no worker/);
  });

  it('a name that nobody has verified says so: in the title where none is, else in its row', () => {
    const users = (...rows: Parameters<typeof row>[0][]): readonly string[] =>
      shown(board(rows.map(row)))
        .slice(0, rows.length + 1)
        .map(
          (line) =>
            line.slice(21, line.indexOf('SLICE') === -1 ? undefined : line.indexOf('SLICE')).split('  ')[0] ?? '',
        );
    assert.deepEqual(users({ isVerified: false }, {}), ['USER (unverified)', 'alice', 'alice']);
    assert.deepEqual(users({ isVerified: true }, { isVerified: false }, {}), [
      'USER',
      'alice',
      'alice (unverified)',
      'alice (unverified)',
    ]);
  });

  it('a queued job stands somewhere in line, and waits for what the pool says', () => {
    const rows = [row({ id: 'other-1' }), row({ phase: 'queued', attempts: 0 })];
    const byJob = new Map([['train-7f3k', { position: 2, of: 5, why: 'the pool: 32 short' }]]);
    const lines = shown(board(rows, { places: { byJob, missing: 'the store\nis away' }, total: 9 }), PIPE, T0);
    assert.match(lines[1] ?? '', / {2}running {7}0s /);
    assert.match(lines[2] ?? '', / {2}queued \(2nd\) {2}0s {4}0 {8}the pool: 32 short$/);
    assert.deepEqual(lines.slice(-3), [
      '1 running, 1 queued',
      '2 of 9 jobs shown: --limit shows more',
      'places in line are not known: the store is away',
    ]);
  });

  it('a rehearsal is said once where all of it is one, else in each row', () => {
    const all = shown(board([row({ label: 'REHEARSAL' })]));
    assert.equal(all[0], 'REHEARSAL: these jobs do not run on real Cloud TPUs');
    assert.doesNotMatch(all.slice(1).join('\n'), /REHEARSAL|LABEL/);
    const [heading, titles, ...rows] = shown(board([row({ label: 'REHEARSAL' }), row()]));
    assert.equal(heading, 'REHEARSAL: rows so labelled do not run on real Cloud TPUs');
    assert.match(titles ?? '', /^JOB {9}LABEL /);
    assert.deepEqual(
      [/^train-7f3k {2}REHEARSAL /.test(rows[0] ?? ''), /^train-7f3k {2}- /.test(rows[1] ?? '')],
      [true, true],
    );
  });

  it('paints phases on a terminal, and nowhere with NO_COLOR or in a pipe', () => {
    const of = board([row(), row({ id: 'b', phase: 'failed', endedAt: T0 })]);
    const painted = shown(of, terminal(200, UTF8)).join('\n');
    for (const start of ['\u001b[32mrunning', '\u001b[31mfailed']) assert.ok(painted.includes(start), painted);
    const plain = shown(of, terminal(200));
    assert.equal(stripVTControlCharacters(painted), plain.join('\n'));
    assert.equal(plain.join('\n').includes('\u001b'), false);
    assert.equal(shown(of).join('\n').includes('\u001b'), false);
  });
});

// 200 jobs of five users ---------------------------------------------------------------------------------------------

const USERS = ['alice', 'bob', 'carol', 'dave', 'erin'];
const WHY = "16 more chips: research has its 48 nominal in use, the pool has 0 free; 3rd of research's 40 jobs in line";

/** Four run, the rest waits, as of people.md, F5. */
function fiveUsers(): ShownBoard {
  const rows = Array.from({ length: 200 }, (_, index) =>
    row({
      id: `lr-sweep-${index}-7f3k`,
      user: USERS[index % 5] ?? '',
      project: index % 2 === 0 ? 'research' : 'eval',
      chips: 16,
      label: 'REHEARSAL',
      ...(index < 4 ? {} : { phase: 'queued' as const, attempts: 0 }),
    }),
  );
  const byJob = new Map(rows.slice(4).map(({ id }, index) => [id, { position: index + 1, of: 196, why: WHY }]));
  return board(rows, { places: { byJob } });
}

describe('the board of 200 jobs of five users', () => {
  const whole = shown(fiveUsers());

  it('has the four that run at its top, and says what all of them hold', () => {
    assert.deepEqual(
      whole.slice(2, 7).map((line) => / {2}(running|queued \(1st\)) {2}/.exec(line)?.[1]),
      ['running', 'running', 'running', 'running', 'queued (1st)'],
    );
    assert.equal(whole.at(-1), '4 running (64 chips), 196 queued (3136 chips)');
  });

  for (const columns of [80, 100, 200])
    it(`fits ${columns} columns: a line a job, ids whole, no word broken`, () => {
      const lines = shown(fiveUsers(), terminal(columns));
      assert.equal(lines.length, whole.length);
      const words = new Set(whole.join(' ').split(/\s+/));
      for (const [index, line] of lines.entries()) {
        assert.ok(textWidth(line) <= columns, line);
        for (const word of line.split(/\s+/).filter((each) => each !== '' && each !== '…'))
          assert.ok(words.has(word) || words.has(`${word};`) || words.has(`${word}:`), `'${word}' of: ${line}`);
        if (index > 1 && index < 202) assert.equal(line.split(' ')[0], whole[index]?.split(' ')[0]);
      }
      assert.match(lines.slice(2, -1).join('\n'), columns === 200 ? /in line$/m : / …$/m);
    });
});

describe('a row on a screen', () => {
  const names = fc.stringMatching(/^[a-z][a-z0-9-]{0,40}[a-z0-9]$/);
  const jobs = fc.array(
    fc.record({
      id: fc.oneof(names, fc.constant('a-name-of-fifty-characters-as-long-as-one-may-7f3k')),
      project: names,
      user: fc.stringMatching(/^[a-z0-9.]{1,20}$/),
      slice: fc.constantFrom('v5litepod-16', '16 x v5litepod-256'),
      phase: fc.constantFrom<ShownPhase>('running', 'setting-up', 'queued', 'failed'),
      why: fc.oneof(fc.constant(WHY), fc.string({ maxLength: 200 }), fc.constant('中'.repeat(80))),
      attempts: fc.nat(30),
    }),
    { minLength: 1, maxLength: 8 },
  );

  it('is one line that fits any width from 40 on; phase and time are whole, and a name is cut only where nothing else is left', () => {
    let cutNames = 0;
    let cutReasons = 0;
    fc.assert(
      fc.property(jobs, fc.integer({ min: 40, max: 220 }), (over, columns) => {
        const rows = over.map((each) => row(each));
        const { table } = renderBoard(board(rows), T0 + 190 * S, terminal(columns));
        assert.equal(table.length, rows.length + 1);
        const hasOthers = /PROJECT|USER|SLICE|ATTEMPT|WHY/.test(table[0] ?? '');
        for (const [index, { id, phase }] of rows.entries()) {
          const line = table[index + 1] ?? '';
          assert.ok(textWidth(line) <= columns, `${columns}: ${line}`);
          assert.ok(line.includes(phase) && line.includes('3m 10s'), line);
          if (!line.startsWith(`${id} `)) {
            assert.equal(hasOthers, false, `the name was cut beside other columns: ${table[0]} ${line}`);
            assert.match(line, /^[a-z0-9-]+…[a-z0-9-]+ /);
            cutNames++;
          }
          if (line.endsWith(' …')) cutReasons++;
        }
      }),
      { numRuns: 400 },
    );
    assert.ok(cutNames > 10 && cutReasons > 100, `${cutNames} names and ${cutReasons} reasons were cut`);
  });

  it('a text is cut between words, with its punctuation', () => {
    assert.equal(cutAtWord('16 more chips: research has', 18, PIPE), '16 more chips …');
    assert.equal(cutAtWord('16 more chips', 13, PIPE), '16 more chips');
    assert.equal(cutAtWord('unbreakable', 5, PIPE), '…');
    assert.equal(cutAtWord('one two', 5, lookOf({}, {})), '..');
  });
});

describe('the order of the board', () => {
  const PHASES: readonly ShownPhase[] = ['running', 'setting-up', 'provisioning', 'evicting', 'queued', 'released'];
  const ENDS: readonly ShownPhase[] = ['succeeded', 'failed', 'cancelled', 'terminated'];
  const anyRow = fc
    .record({
      at: fc.nat(50),
      phase: fc.constantFrom<ShownPhase>('queued', 'queued', 'queued', ...PHASES, ...ENDS),
      ended: fc.nat(50),
    })
    .map(({ at, phase, ended }) => ({
      phase,
      submittedAt: T0 + at,
      ...(ENDS.includes(phase) ? { endedAt: T0 + 100 + ended } : {}),
    }));
  const anyRows = fc
    .array(anyRow, { maxLength: 30 })
    .map((rows) => rows.map((each, index) => row({ ...each, id: `job-${index}` })));

  const lineOf = (rows: readonly JobRow[]): WaitingLine => ({
    v: 1,
    pool: 'default',
    at: T0,
    epoch: 1,
    sentences: [['waits']],
    // One in three was submitted since.
    rows: rows
      .filter(({ phase }, index) => phase === 'queued' && index % 3 !== 0)
      .toReversed()
      .map(({ id }) => [id, 0] as const),
  });
  const ids = (rows: readonly JobRow[]): readonly string[] => rows.map(({ id }) => id);

  it('is running, on their way, queued by place, resting, ended last; whatever order they came in', () => {
    let placed = 0;
    fc.assert(
      fc.property(anyRows, fc.nat(), (rows, turn) => {
        const lines: Board['lines'] = [lineOf(rows)];
        const sorted = inBoardOrder(rows, lines);
        const shuffled = rows.toSorted((a, b) => (a.id + turn < b.id + turn ? 1 : -1));
        assert.deepEqual(ids(inBoardOrder(shuffled, lines)), ids(sorted));
        const phases = sorted.map(({ phase }) => (ENDS.includes(phase) ? PHASES.length : PHASES.indexOf(phase)));
        assert.deepEqual(
          phases,
          phases.toSorted((a, b) => a - b),
        );
        const queued = ids(sorted.filter(({ phase }) => phase === 'queued'));
        const inLine = lines[0]?.rows.map(([id]) => id) ?? [];
        assert.deepEqual(queued.slice(0, inLine.length), inLine);
        const ends = sorted.flatMap(({ endedAt }) => endedAt ?? []);
        assert.deepEqual(
          ends,
          ends.toSorted((a, b) => b - a),
        );
        placed += inLine.length > 1 ? 1 : 0;
      }),
      { numRuns: 400 },
    );
    assert.ok(placed > 20, `${placed} runs had a line`);
  });
});
