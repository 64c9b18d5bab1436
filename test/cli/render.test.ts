import assert from 'node:assert/strict';
import { clockTime, formatDuration, formatExactDuration } from '../../cli/terminal/render/quantities.js';
import { jobHeader, endsSentence } from '../../cli/terminal/render/job-header.js';
import { renderJobStatus } from '../../cli/terminal/render/job-status.js';
import { renderWhy } from '../../cli/terminal/render/why.js';
import { jobEssentials } from '../../cli/commands/verbs/validate.js';
import { lookOf } from '../../cli/terminal/render/look.js';
import {
  cutToWidth,
  oneLine,
  renderTable,
  terminalWidth,
  textWidth,
  wrapToWidth,
} from '../../cli/terminal/render/columns.js';
import { resolveJob } from '../../domain/job-file/resolve.js';
import type { JobView } from '../../contract/job.js';
import { row, T0 } from './rows.js';

const S = 1000;
const M = 60 * S;
const H = 60 * M;

describe('durations', () => {
  const cases: Record<string, number> = {
    '0s': -5,
    '59s': 59_999,
    '1m 00s': M,
    '3m 10s': 3 * M + 10 * S,
    '10m': 10 * M + 59 * S,
    '1h 00m': H,
    '3h 05m': 3 * H + 5 * M,
    '47h 59m': 48 * H - 1,
    '2d 4h': 52 * H,
  };
  for (const [want, ms] of Object.entries(cases))
    it(`${ms} ms is ${want}`, () => assert.equal(formatDuration(ms), want));
  it('of what has ended, the seconds are kept below an hour', () => {
    assert.equal(formatExactDuration(42 * M + 2 * S), '42m 02s');
  });
});

describe('widths', () => {
  it('wide characters take two columns, combining ones none', () => {
    assert.equal(textWidth('ab'), 2);
    assert.equal(textWidth('中'), 2);
    assert.equal(textWidth('e\u0301'), 1);
  });
  it('of a terminal are its columns, 80 where it does not know them; a pipe has none', () => {
    assert.deepEqual(
      [{ isTTY: true, columns: 100 }, { isTTY: true, columns: 0 }, { isTTY: true }, { columns: 100 }].map(
        terminalWidth,
      ),
      [100, 80, 80, undefined],
    );
  });

  it('a text is cut to the width, dots included', () => {
    assert.equal(cutToWidth('abcdef', 6), 'abcdef');
    assert.equal(cutToWidth('abcdefg', 6), 'abcd..');
    assert.equal(textWidth(cutToWidth('中中中中', 5)), 4);
  });
  it('wraps between words and cuts none', () => {
    assert.deepEqual(wrapToWidth('the pool has 32 free', 9), ['the pool', 'has 32', 'free']);
    assert.deepEqual(wrapToWidth('a unbreakable', 4), ['a', 'unbreakable']);
    assert.deepEqual(wrapToWidth('', 4), ['']);
  });
  it('what a terminal would obey is shown in a foreign text, and not done', () => {
    assert.equal(oneLine('a\n  b\u001b[31mc\u0007'), 'a; b\\u001b[31mc\\u0007');
    // What an indented line begins with is never read as the end of the one before.
    for (const [text, want] of [
      ['no pool file\n  write such', 'no pool file; write such'],
      ['a.\n  b\n', 'a. b'],
      ['a:\n  b\n  c', 'a: b; c'],
      ['a\nb', 'a b'],
    ] as const)
      assert.equal(oneLine(text), want);
  });
});

describe('tables', () => {
  const rows = [
    ['JOB', 'WHY'],
    ['a-long-id-that-stays-whole', 'it waits for chips that are in use by others'],
  ];
  it('in a pipe one line a row, however long', () => {
    assert.deepEqual(renderTable(rows), [
      'JOB                         WHY',
      'a-long-id-that-stays-whole  it waits for chips that are in use by others',
    ]);
  });
  it('on a terminal the last column wraps under itself, and no line is wider', () => {
    const lines = renderTable(rows, 52);
    assert.deepEqual(lines, [
      'JOB                         WHY',
      'a-long-id-that-stays-whole  it waits for chips that',
      '                            are in use by others',
    ]);
  });
  it('where too little is left nothing wraps, and the id is whole', () => {
    assert.match(renderTable(rows, 30)[1] ?? '', /^a-long-id-that-stays-whole {2}it waits .* others$/);
  });
});

function spec(over: object) {
  const resolved = resolveJob({
    tpu: { accelerator: 'v5litepod-16', zone: 'us-central1-a', pricing: 'spot' },
    command: { run: 'x\ny' },
    ...over,
  });
  assert.ok(resolved.ok);
  return resolved.spec;
}

describe('the header of a submitted job', () => {
  it('says what it takes and about what it costs', () => {
    assert.equal(
      jobHeader('train-7f3k', spec({ project: 'vision' }), undefined),
      'train-7f3k   project vision   v5litepod-16 spot   16 chips on 4 hosts   about $3.92/h',
    );
  });
  it('a rehearsal costs nothing and says what it is', () => {
    assert.equal(
      jobHeader('a-1', spec({ slices: 2 }), 'REHEARSAL'),
      'a-1   2 x v5litepod-16 spot   32 chips on 8 hosts   REHEARSAL',
    );
  });
  for (const [machines, label, want] of [
    [{}, undefined, 'machine-1   0 chips on 1 host'],
    [{ accelerator: 'h100', count: 16, hosts: 2 }, undefined, 'h100-16   16 chips on 2 hosts'],
    [{ hosts: 2 }, 'REHEARSAL', 'machine-2   0 chips on 2 hosts   REHEARSAL'],
  ] as const)
    it(`machines of one's own have no pricing: ${want}`, () =>
      assert.equal(jobHeader('a-1', spec({ tpu: undefined, machines }), label, false), `a-1   ${want}`));
  it('where no price is known none is guessed', () => {
    const reserved = spec({ tpu: { accelerator: 'v4-8', zone: 'us-central2-b', pricing: 'spot' } });
    assert.equal(jobHeader('a-1', reserved, undefined), 'a-1   v4-8 spot   4 chips on 1 host');
  });
});

describe('jobctl status', () => {
  const place = { bucket: 'b', uiUrl: 'http://ui', namespace: 'n' };
  it('without a worker shows what Temporal knows, and says what is missing', () => {
    assert.deepEqual(renderJobStatus(row(), { missing: 'no worker answered within 5 s' }, place, T0 + 5 * S), [
      'train-7f3k',
      '  phase      running for 5s: attempt 1 on 4 hosts in us-central1-a',
      '  project    vision (pool default), user alice (unverified)',
      '  slice      v5litepod-16',
      '  submitted  2026-11-21T12:00:00.000Z, 5s ago',
      '  attempts   1',
      '  logs       jobctl logs train-7f3k      files: gs://b/jobs/train-7f3k/',
      '  web        http://ui/namespaces/n/workflows/train-7f3k',
      '',
      '  slices and events are missing: no worker answered within 5 s',
      '  is a worker up? (`jobctl dev status`, or start one with `jobctl worker`)',
    ]);
  });
  it('of a job that was never accepted: that it was refused, and why', () => {
    const refused = row({ phase: 'failed', attempts: 0, phaseSince: T0 + 23 * S, endedAt: T0 + 23 * S });
    const lines = renderJobStatus(refused, { refused: 'tpu.zones: name some\n  b' }, place, T0 + 99 * S);
    assert.equal(lines[1], '  phase      refused in 23s: it was never accepted: tpu.zones: name some; b');
    assert.ok(!lines.some((line) => line.includes('jobctl logs')), lines.join('\n'));
    assert.equal(
      lines.at(-1),
      '  nothing was asked for and nothing is left of it; mend the job file and submit it again',
    );
  });
  it('of a queued job: its place in line, and where all reasons are', () => {
    const queued = { ...row({ phase: 'queued', why: 'the pool: 32 short' }), position: 2, of: 5 };
    const lines = renderJobStatus(queued, { missing: 'x' }, place, T0 + 5 * S);
    assert.deepEqual(lines.slice(1, 3), [
      '  phase      queued for 5s, 2nd of 5 in line: the pool: 32 short',
      '  why        jobctl why train-7f3k   every reason, and the earliest time',
    ]);
  });
  it('shows slices with their hosts and the last events', () => {
    const slice = {
      index: 0,
      generation: 2,
      state: 'ready',
      ref: { kind: 'cloud-tpu', googleProject: 'p', zone: 'us-central1-a', name: 'jc-t-g2', mode: 'queued-resources' },
      hosts: [
        { reach: 'ssh' as const, index: 0, internalIp: '10.0.0.1' },
        { reach: 'ssh' as const, index: 1, internalIp: '10.0.0.2', externalIp: '1.2.3.4' },
      ],
    } as const;
    const events = Array.from({ length: 14 }, (_, second) => ({ at: T0 + second * S, text: `event ${second}` }));
    const view: JobView = {
      ...{ id: 'train-7f3k', spec: spec({}), project: 'vision', phaseSince: T0, submittedAt: T0 },
      ...{ phase: 'running', attempt: 2, preemptions: 1, slices: [slice], events },
      image: 'r.example.org/t@sha256:9c56 of commit 3f2a9c1d0b7e',
    };
    const lines = renderJobStatus(row({ label: 'REHEARSAL' }), { view }, place, T0);
    assert.equal(lines[0], 'train-7f3k   REHEARSAL: not on real Cloud TPUs');
    assert.ok(lines.includes('  command    x .. (on all hosts)'), lines.join('\n'));
    assert.ok(lines.includes('  image      r.example.org/t@sha256:9c56 of commit 3f2a9c1d0b7e'), lines.join('\n'));
    assert.ok(lines.includes('  preempted  1 of 20 times that are allowed'));
    assert.deepEqual(lines.slice(-16), [
      '  NODE     ZONE           GEN  STATE  HOSTS             DETAIL',
      '  jc-t-g2  us-central1-a  2    ready  10.0.0.1 1.2.3.4',
      '',
      '  .. 2 events before: jobctl logs train-7f3k --job',
      ...events.slice(2).map(({ text }, i) => `  2026-11-21T12:00:${String(i + 2).padStart(2, '0')}Z  ${text}`),
    ]);
  });
});

describe('whom a job waits for, and when its provider ends what it has', () => {
  const place = { bucket: undefined, uiUrl: undefined, namespace: undefined };
  const tpu = { accelerator: 'v5litepod-16', zone: 'us-east5-a' };
  const cases: Record<string, { file: object; command?: string; ends?: string }> = {
    'all hosts, and nothing ends by itself': { file: {}, command: 'x .. (on all hosts)' },
    'the first host': {
      file: { command: { run: 'x', success: 'first' } },
      command: 'x (on all hosts; ends with the success of host 0 alone)',
    },
    'the first of some': {
      file: { command: { run: 'x', workers: [3, 2], success: 'first' } },
      command: 'x (on host 3, 2; ends with the success of host 2 alone)',
    },
    'any host': {
      file: { command: { run: 'x', success: 'any' } },
      command: 'x (on all hosts; ends with the success of any one of them)',
    },
    'flex-start': {
      file: { tpu: { ...tpu, run_duration: '24h', valid_until: '6h' } },
      ends: 'Google ends a slice 24h after its start, and a request that has had no chips for 6h, which is made anew',
    },
    'flex-start without a duration': {
      file: { tpu: { ...tpu, pricing: 'flex-start' } },
      ends: 'Google ends a slice 168h after its start',
    },
    'any pricing': {
      file: { tpu: { ...tpu, pricing: 'any', run_duration: '90m' } },
      ends: 'Google ends a slice of a flex-start tier 90m after its start',
    },
    'a deadline alone': {
      file: { tpu: { ...tpu, pricing: 'spot', valid_until: '6h' } },
      ends: 'Google ends a request that has had no chips for 6h, which is made anew',
    },
  };
  for (const [name, { file, command, ends }] of Object.entries(cases))
    it(`${name}: validate, status and why`, () => {
      const view = { spec: spec(file), phase: 'running', slices: [], events: [] } as unknown as JobView;
      const listed = {
        validate: jobEssentials({ spec: view.spec, leftToPool: [] }),
        status: renderJobStatus(row(), { view }, place, T0),
      };
      for (const [verb, lines] of Object.entries(listed)) {
        const cells = lines.map((line) => line.trim().split(/ {2,}/));
        const of = (key: string): string | undefined => cells.find(([first]) => first === key)?.[1];
        if (command !== undefined) assert.equal(of('command'), command, verb);
        assert.equal(of('ends'), ends, verb);
      }
      const host = /success of (.*)\)$/.exec(command ?? '')?.[1];
      const want = [
        ...(host === undefined ? [] : [`It waits for the success of ${host} (command.success).`]),
        ...(ends === undefined ? [] : [`${ends}.`]),
      ];
      assert.deepEqual(renderWhy(row(), view, T0).slice(1), want);
    });

  it('status says that exit codes of the background are not known, with wait_for: all alone', () => {
    const shown = (command: object): string =>
      renderJobStatus(
        row(),
        { view: { spec: spec({ command }), phase: 'running', slices: [], events: [] } as unknown as JobView },
        place,
        T0,
      ).join('\n');
    assert.match(shown({ run: 'x', wait_for: 'all' }), /^ {2}background +waited for .*exit codes are not known/m);
    assert.doesNotMatch(shown({ run: 'x' }), /background/);
  });

  it('of slices that are there, the first time from which on one may end', () => {
    const hour = 3_600_000;
    const ready = { state: 'ready', hosts: [], generation: 1, ref: { name: 'jc-a-g1', zone: 'us-east5-a' } };
    const slices = [
      { ...ready, endsAt: T0 + 3 * hour },
      { ...ready, endsAt: T0 + 2 * hour },
      { ...ready, state: 'starting' },
    ];
    const file = { tpu: { ...tpu, pricing: 'flex-start', run_duration: '24h' } };
    const shown = (of: readonly object[], phase = 'running') =>
      endsSentence({ spec: spec(file), phase, slices: of } as unknown as JobView, T0);
    const rule = 'Google ends a slice 24h after its start';
    const at = clockTime(T0 + 2 * hour, T0);
    assert.equal(shown(slices), `${rule}; its first slice may end from ${at} on, in 2h 00m`);
    assert.equal(shown(slices.slice(1)), `${rule}; its slice may end from ${at} on, in 2h 00m`);
    assert.equal(shown(slices.slice(2)), rule);
    assert.equal(shown(slices, 'succeeded'), rule);
  });
  it('why says nothing of it when the job is over, and of hosts before they run', () => {
    const view = (phase: string): JobView =>
      ({ spec: spec({ command: { run: 'x', success: 'any' } }), phase, slices: [] }) as unknown as JobView;
    for (const phase of ['provisioning', 'succeeded']) assert.equal(renderWhy(row(), view(phase), T0).length, 1, phase);
  });
});

describe('the look', () => {
  const terminal = { isTTY: true, columns: 100 };
  it('colour on a terminal only, with NO_COLOR unset and a terminal that obeys', () => {
    assert.equal(lookOf(terminal, { LANG: 'C.UTF-8' }).paint('red', 'x'), '\u001b[31mx\u001b[0m');
    for (const [stream, env] of [
      [terminal, { NO_COLOR: '1' }],
      [terminal, { TERM: 'dumb' }],
      [{}, {}],
    ] as const)
      assert.equal(lookOf(stream, env).paint('red', 'x'), 'x');
  });
  it('symbols are ASCII where the locale is not UTF-8; LC_ALL wins over LANG', () => {
    assert.equal(lookOf(terminal, { LANG: 'en_US.utf8' }).symbols.done, '✔');
    assert.equal(lookOf(terminal, { LANG: 'en_US.UTF-8', LC_ALL: 'C' }).symbols.bar, '|');
    assert.equal(lookOf(terminal, {}).symbols.now, '*');
  });
});
