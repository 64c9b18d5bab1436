import assert from 'node:assert/strict';
import { PART_WORDS } from '../../cli/terminal/render/report.js';
import { NO_PARTS, PARTS as COUNTED, CHARGED_PARTS } from '../../domain/counted/usage.js';
import { usdText } from '../../domain/units.js';
import {
  accountIn,
  costWords,
  editsOf,
  goodputWords,
  manifestsOf,
  newestSetUp,
  outputsIn,
  PARTS,
  setUpIn,
} from '../../ui/records.js';
import { usdText as shown } from '../../ui/words.js';

const SHA = 'a'.repeat(64);
const lines = (...all: readonly object[]): string => all.map((each) => JSON.stringify(each)).join('\n');
const HEADER = { v: 1, state: 'ended', at: 1, files: 1, bytes: 3, unmatched: [], problems: [], whole: true };

describe('outputs on the page', () => {
  it('are found by their manifests: the newest attempt first, and nothing else that is stored there', () =>
    assert.deepEqual(
      manifestsOf([
        ...['a1/host-0.jsonl', 'a12/host-10.jsonl', 'a12/host-2.jsonl', 'a12/host-x.jsonl', 'a1/host-0.jsonl.tmp'].map(
          (name) => `jobs/x/outputs/manifests/${name}`,
        ),
        'jobs/x/outputs/contents/aa',
      ]).map(({ attempt, host }) => [attempt, host]),
      [
        [12, 2],
        [12, 10],
        [1, 0],
      ],
    ));

  it('are files with sizes and times, and links', () => {
    const file = { path: 'ck/1', size: 3, sha256: SHA, mtime: 1.5, mode: 420 };
    const read = outputsIn(lines(HEADER, file, { path: 'last', link: 'ck/1' }, { path: 'empty', folder: true }));
    assert.deepEqual(read, {
      files: [
        { path: 'ck/1', size: 3, sha256: SHA, modifiedAt: 1_500 },
        { path: 'last', target: 'ck/1' },
      ],
      ...{ left: 0, isEarlier: false, problems: [] },
    });
  });

  it('say how many are not shown, that the command was running, and what went wrong', () => {
    const header = { ...HEADER, state: 'running', files: 5, problems: ['x is too large'], unmatched: ['*.pt', 7] };
    const forged = [
      ...[
        { path: 1, size: 1, sha256: SHA },
        { path: 'a', size: -1, sha256: SHA },
      ],
      ...[
        { path: 'a', size: 1, sha256: '../../quota' },
        { size: 1, sha256: SHA },
      ],
    ];
    assert.deepEqual(outputsIn(`${lines(header, ...forged)}\n{"path":"cut`), {
      ...{ files: [], left: 5, isEarlier: true, problems: ['x is too large', '*.pt'] },
    });
    for (const wrong of ['', 'x', '[]', '{"v":2}']) assert.equal(outputsIn(wrong), undefined, wrong);
  });
});

describe('edits of a job file on the page', () => {
  it('are found by their attempts, the last first, among what else is stored of attempts', () => {
    const stored = ['1.json', '2.json', '2.yaml', '10.yaml', '10.json', 'x.yaml'].map(
      (name) => `jobs/x/attempts/${name}`,
    );
    assert.deepEqual(
      editsOf(stored).map(({ attempt }) => attempt),
      [10, 2],
    );
  });
});

describe('the account of a job on the page', () => {
  const RECORD = { v: 1, unit: 'chip', parts: { ...NO_PARTS, useful: 90, idle: 10 }, charged: 100, lost: 'counted' };

  it('has the parts that are counted, and those that are charged', () => {
    assert.deepEqual(PARTS.map(([part]) => part).toSorted(), [...COUNTED].toSorted());
    assert.deepEqual(
      PARTS.filter(([, , isCharged]) => isCharged).map(([part]) => part),
      CHARGED_PARTS,
    );
  });

  it('is read whole or not at all', () => {
    assert.deepEqual(accountIn(JSON.stringify({ ...RECORD, usd: 2, leaving: [{}, {}], prices: ['x', 1] })), {
      ...{ unit: 'chip', parts: RECORD.parts, charged: 100, lost: 'counted', usd: 2, leaving: 2, prices: ['x'] },
    });
    for (const wrong of [
      ...[
        { ...RECORD, v: 2 },
        { ...RECORD, unit: 'x' },
        { ...RECORD, charged: '1' },
        { ...RECORD, parts: {} },
      ],
      { ...RECORD, parts: { ...RECORD.parts, idle: -1 } },
    ])
      assert.equal(accountIn(JSON.stringify(wrong)), undefined);
    assert.equal(accountIn('not JSON'), undefined);
  });

  it('says what is unknown, and never 0 in its place', () => {
    const account = accountIn(JSON.stringify(RECORD)) ?? assert.fail('not read');
    assert.equal(goodputWords(account), '90.0 %');
    assert.equal(goodputWords({ ...account, lost: 'unknown' }), 'at most 90.0 %');
    assert.equal(goodputWords({ ...account, charged: 0 }), 'unknown: nothing was charged');
    assert.equal(costWords(account), 'nothing was charged');
    assert.equal(costWords({ ...account, usd: 2.5 }), '$2.50');
    assert.equal(costWords({ ...account, usd: 0.0036 }), '$0.0036');
    assert.equal(costWords({ ...account, unpriced: 1_800 }), 'unknown: 0.500 chip-hours have no known price');
    assert.equal(
      costWords({ ...account, usd: 2.5, unpriced: 1_800 }),
      '$2.50 and more: 0.500 chip-hours have no known price',
    );
  });
});

describe('words that the page and the command line both have', () => {
  it('are the same for dollars', () => {
    for (const usd of [0, 1e-30, 0.000_9, 0.0036, 0.009_999, 0.01, 0.996, 12, 1e6])
      assert.equal(shown(usd), usdText(usd));
  });
  it('are the same for the parts of chip-time', () =>
    assert.deepEqual(Object.fromEntries(PARTS.map(([part, words]) => [part, words])), PART_WORDS));
});

describe('a set-up on the page', () => {
  const step = (host: number, more: object): object => ({
    host,
    module: 'venv',
    step: 'pip',
    startedAt: 5,
    tries: 1,
    ...more,
  });

  it('is the newest attempt’s, and not one that a person asked for again', () =>
    assert.deepEqual(
      newestSetUp(['a1.json', 'a10.json', 'a9.json', 'a11-again.json'].map((name) => `jobs/x/setup/${name}`)),
      {
        ...{ name: 'jobs/x/setup/a10.json', attempt: 10 },
      },
    ));

  it('has the hosts on which each module is ready, and what the others are at, the longest first', () => {
    const record = {
      ...{ v: 1, modules: ['ssh', 'venv', '__proto__'], hosts: 4, startedAt: 1, ready: { ssh: 4, venv: 9 } },
      steps: [
        ...[step(0, { endedAt: 6, outcome: 'done' }), step(1, { startedAt: 9 })],
        ...[step(2, { startedAt: 8, firstStartedAt: 2, tries: 3 }), step(1, { startedAt: 3, endedAt: 4 })],
        ...[step(3, { endedAt: 7, code: 1, outcome: 'failed' }), 'no step', { host: 'x' }],
      ],
    };
    const read = setUpIn(2, JSON.stringify(record));
    assert.deepEqual(read?.modules, [
      { name: 'ssh', ready: 4 },
      { name: 'venv', ready: 4 },
      { name: '__proto__', ready: 0 },
    ]);
    assert.deepEqual(
      read?.steps.map(({ host, startedAt, tries, hasFailed }) => [host, startedAt, tries, hasFailed]),
      [
        [2, 2, 3, false],
        [3, 5, 1, true],
        [1, 9, 1, false],
      ],
    );
    for (const wrong of ['', '[]', '{"v":1}', JSON.stringify({ ...record, v: 2 })])
      assert.equal(setUpIn(1, wrong), undefined);
  });
});
