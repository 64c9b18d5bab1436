import assert from 'node:assert/strict';
import { reportCsv, reportSvg, REPORTS, reportTable } from '../../../cli/terminal/render/report.js';
import { type JobRecord, onceEach, readRecord } from '../../../domain/counted/record.js';
import { goodputOf, reportRows, totals } from '../../../domain/counted/report.js';
import { NO_PARTS } from '../../../domain/counted/usage.js';

const DAY = Date.UTC(2026, 10, 20);
const record = (job: string, more: Partial<JobRecord> = {}): JobRecord => ({
  ...{ v: 1, job, run: `r-${job}`, user: 'ann', project: 'vision', pool: 'default', kind: 'cloud-tpu', unit: 'chip' },
  ...{ accelerator: 'v6e-8', zone: 'us-east5-b', pricing: 'spot', count: 8, slices: 1, result: 'succeeded' },
  ...{
    attempts: 1,
    preemptions: 0,
    lost: 'none',
    charged: 7200,
    usd: 2,
    submittedAt: DAY,
    endedAt: DAY,
    countedTo: DAY,
  },
  parts: { ...NO_PARTS, useful: 5400, setUp: 1800, waiting: 3600 },
  places: [{ zone: 'us-east5-b', pricing: 'spot', charged: 7200, usd: 2 }],
  ...more,
});

const RECORDS = [
  record('a'),
  record('b', { user: 'bob', charged: 3600, usd: 1, preemptions: 2, result: 'open', lost: 'unknown' }),
  record('c', {
    ...{ user: 'bob', charged: 900, unpriced: 900, endedAt: DAY + 86_400_000 },
    places: [
      { zone: 'us-east5-b', pricing: 'spot', charged: 600, usd: 0.5 },
      { zone: 'us-west1-c', pricing: 'reserved', charged: 300 },
    ],
  }),
  record('d', { user: 'bob', unit: 'host', charged: 60, usd: 0.1 }),
];

describe('a report', () => {
  it('sums up jobs by what is asked, the most first, and hosts apart from chips', () => {
    const rows = reportRows(RECORDS, 'user');
    assert.deepEqual(
      rows.map(({ key, unit, jobs, open, charged, usd, unpriced, preemptions }) => [
        key,
        unit,
        jobs,
        open,
        charged,
        usd,
        unpriced,
        preemptions,
      ]),
      [
        ['ann', 'chip', 1, 0, 7200, 2, 0, 0],
        ['bob', 'chip', 2, 1, 4500, 3, 900, 2],
        ['bob', 'host', 1, 0, 60, 0.1, 0, 0],
      ],
    );
    assert.deepEqual(
      totals(rows).map(({ unit, jobs, charged }) => [unit, jobs, charged]),
      [
        ['chip', 3, 11_700],
        ['host', 1, 60],
      ],
    );
  });

  it('by zone counts paid time where it was, and each job once', () => {
    const rows = reportRows(RECORDS.slice(2, 3), 'zone');
    assert.deepEqual(
      rows.map(({ key, jobs, charged, usd, unpriced }) => [key, jobs, charged, usd, unpriced]),
      [
        ['us-east5-b', 1, 600, 0.5, 0],
        ['us-west1-c', 0, 300, undefined, 300],
      ],
    );
  });

  it('by day is in the order of days', () =>
    assert.deepEqual(
      reportRows(RECORDS, 'day').map(({ key }) => key),
      ['2026-11-20', '2026-11-20', '2026-11-21'],
    ));

  it('says a share of nothing for a group that paid nothing', () =>
    assert.equal(goodputOf({ parts: NO_PARTS, charged: 0 }), undefined));

  it('is a table whose costs say what they lack', () => {
    assert.deepEqual(reportTable(reportRows(RECORDS.slice(0, 3), 'user'), 'cost', 'user'), [
      'USER   JOBS  CHIP-HOURS  USD   WITHOUT A PRICE',
      'ann    1     2.0         2.00  -',
      'bob    2     1.3         3.00  0.250',
      'total  3     3.3         5.00  0.250',
    ]);
    const unknown = reportRows([record('x', { usd: undefined as never, unpriced: 7200 })], 'user');
    assert.match(reportTable(unknown, 'cost', 'user').join('\n'), /unknown/);
  });

  it('is a table of how long chips took to come, and how often they were lost', () => {
    const records = [
      record('x', { startedAt: DAY, preemptions: 2, parts: { ...NO_PARTS, waiting: 8 * 600, useful: 100 } }),
      // Never came: it waited for an hour, and gave up.
      record('y', {
        count: 16,
        charged: 0,
        places: [],
        result: 'cancelled',
        parts: { ...NO_PARTS, waiting: 16 * 3600 },
      }),
      record('z', { result: 'open', charged: 0, places: [], parts: { ...NO_PARTS, waiting: 8 * 60 } }),
      record('w', { zone: 'us-west1-c', places: [], startedAt: DAY, parts: NO_PARTS, charged: 0 }),
    ];
    assert.deepEqual(reportTable(reportRows(records, 'zone'), 'availability', 'zone'), [
      'ZONE        JOBS  NEVER STARTED  MEAN WAIT  CHIP-HOURS  PREEMPTIONS  PER PREEMPTION',
      'us-east5-b  3     1              32m        2.0         2            1.0',
      'us-west1-c  1     0              0s         0.000       0            -',
      'total       4     1              26m        2.0         2            1.0',
    ]);
  });
});

describe('names in a report', () => {
  const EVIL = '=HYPERLINK("http://x")<script>&\u0000\u001b[31m\n,';
  const rows = reportRows([record('a', { user: EVIL })], 'user');

  it('are one line of a table, without codes of a terminal', () => {
    const lines = reportTable(rows, 'usage', 'user');
    assert.equal(lines.length, 2);
    // eslint-disable-next-line no-control-regex -- what must not be there
    assert.doesNotMatch(lines.join(''), /[\u0000\u001b]/);
  });
  it('are no markup of a picture', () => {
    for (const name of REPORTS) {
      const svg = reportSvg(rows, name, `by ${EVIL}`);
      // eslint-disable-next-line no-control-regex -- what must not be there
      assert.doesNotMatch(svg, /<script|[\u0000\u001b]/);
      assert.equal(svg.split('<svg').length, 2);
    }
  });
  it('are no formula of a spreadsheet, and one field', () => {
    const [, line = ''] = reportCsv(rows, 'user').split('\n');
    assert.match(line, /^"'=HYPERLINK\(""http/);
  });
});

describe('a line of a day file', () => {
  const WRONG: Record<string, string> = {
    'half a line': JSON.stringify(record('a')).slice(0, 80),
    'a later version': JSON.stringify({ ...record('a'), v: 2 }),
    'a number that is none': JSON.stringify({ ...record('a'), charged: null }),
    'no parts': JSON.stringify({ ...record('a'), parts: undefined }),
    'a list': '[]',
    nothing: 'null',
  };
  for (const [name, line] of Object.entries(WRONG))
    it(`is not read if it is ${name}`, () => assert.equal(readRecord(line), undefined));

  it('that stands twice counts once, as it is known last', () => {
    const early = record('a', { leaving: [{ slice: 's', chips: 8 }] });
    const [late, other] = [record('a', { charged: 7201 }), record('a', { run: 'another run' })];
    for (const lines of [
      [early, late, other],
      [late, early, other],
    ])
      assert.deepEqual(onceEach(lines), [late, other]);
  });
});
