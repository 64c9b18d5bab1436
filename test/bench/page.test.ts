import assert from 'node:assert/strict';
import { inTurn } from '../../bench/page/in-turn.js';
import { windowsOf } from '../../bench/page/followed-logs.js';
import { pageArguments, type PartName, rowsOf } from '../../bench/page/parts.js';
import { type Circumstances, hasFailures, type Measured, pageOf, ratioOf } from '../../bench/page/table.js';

const AT: Circumstances = {
  ...{ date: '2026-11-30T10:00Z', commit: '7f9675ac', node: 'v20.20.2', cores: 2 },
  ...{ loadBefore: 1.04, loadAfter: 2, seconds: 299.6 },
};

const measured = (more: Partial<Measured>): Measured => ({ what: 'ten steps', ms: [100, 110, 90], peers: [], ...more });

const tableOf = (...rows: Parameters<typeof pageOf>[0]): readonly string[] => pageOf(rows, AT).slice(3, -3);

describe('the page of npm run bench', () => {
  it('has one line for each peer that ran, with the floor beside the first', () => {
    const pdsh = { name: 'pdsh', ms: [200, 220, 90] };
    const slow = { name: 'ansible', ms: [40_000] };
    const floor = { name: 'ssh2 alone', ms: [50, 50, 50] };
    assert.deepEqual(tableOf(measured({ peers: [pdsh, slow], floor })), [
      'what       jobctl  beside             ratio  spread             floor',
      'ten steps  100 ms  pdsh      200 ms   0.50x  0.50 .. 1.00 of 3  ssh2 alone 50 ms, 2.00x',
      '                   ansible  40.00 s  0.003x  one round',
    ]);
  });

  it('names a tool that is not here and how to get it, and prints no figure for it', () => {
    const lines = tableOf(measured({ peers: [{ name: 'pdsh', absent: 'apt-get install pdsh' }] }));
    assert.deepEqual(
      lines.slice(1).map((line) => line.trim()),
      ['ten steps  100 ms', 'pdsh: not here: apt-get install pdsh'],
    );
  });

  it('says why a part or a tool failed, by the first line of the error, and fails as a whole', () => {
    const rows = [
      { part: 'grants', why: 'no server\n  at x' },
      measured({ peers: [{ name: 'go', broken: 'no network' }] }),
    ];
    const text = tableOf(...rows).join('\n');
    assert.match(text, /^grants: FAILED: no server$/m);
    assert.match(text, /go: FAILED: no network/);
    assert.ok(rows.every((row) => hasFailures([row])));
    assert.ok(!hasFailures([measured({ peers: [{ name: 'pdsh', absent: 'apt-get install pdsh' }] })]));
  });

  it('is headed by commit, date, Node.js, cores and load', () => {
    assert.deepEqual(pageOf([], AT).slice(0, 2), [
      'jobctl 7f9675ac, 2026-11-30T10:00Z',
      'node v20.20.2, 2 cores, load 1.0 before, 2.0 after, 300 s',
    ]);
  });

  it('takes ratios round by round: a load that slows a whole round changes none', () => {
    assert.deepEqual(ratioOf([100, 500, 110], [50, 250, 50]), { middle: 2, least: 2, most: 2.2, rounds: 3 });
    assert.throws(() => ratioOf([100], []), RangeError);
  });
});

describe('arguments of npm run bench', () => {
  it('name parts, which run in the order of the page', () => {
    assert.deepEqual(pageArguments(['--only', 'cli,fanout']).parts, ['fanout', 'cli']);
    assert.equal(pageArguments([]).parts.length, 6);
  });

  const wrong: Readonly<Record<string, { readonly args: readonly string[]; readonly says: RegExp }>> = {
    'a part that does not exist: lists the parts': {
      args: ['--only', 'nope'],
      says: /^RangeError: --only nope: there are fanout, decisions, grants, cli, submit, logs$/,
    },
    'a part named as a property of every object': { args: ['--only', 'toString'], says: /--only toString: there are/ },
    'an unknown flag': { args: ['--round', '3'], says: /--round/ },
    'a file without a name': { args: ['--json', ''], says: /--json: is empty/ },
  };
  for (const [name, { args, says }] of Object.entries(wrong))
    it(`refuses ${name}`, () => assert.throws(() => pageArguments(args), says));
});

describe('parts of npm run bench', () => {
  it('go on after one that throws, whose row says why', async () => {
    const run = async (part: PartName): Promise<readonly Measured[]> => {
      if (part === 'grants') throw new Error('port 2299 is taken');
      return [measured({ what: part })];
    };
    const rows = await rowsOf(['fanout', 'grants', 'cli'], run, new AbortController().signal);
    assert.deepEqual(rows, [
      measured({ what: 'fanout' }),
      { part: 'grants', why: 'port 2299 is taken' },
      measured({ what: 'cli' }),
    ]);
  });

  it('end at once when interrupted: a part that was ended is no failure, and none begins after it', async () => {
    const stop = new AbortController();
    const begun: string[] = [];
    const run = async (part: PartName): Promise<readonly Measured[]> => {
      begun.push(part);
      stop.abort();
      throw new Error('its process ended with SIGTERM');
    };
    await assert.rejects(rowsOf(['fanout', 'grants'], run, stop.signal), { name: 'AbortError' });
    assert.deepEqual(begun, ['fanout']);
  });
});

describe('rounds of npm run bench', () => {
  const tell = (): void => undefined;

  it('run all ways in turn; a slow one takes part in the first alone, and the warm-up is not counted', async () => {
    const ran: string[] = [];
    const way = (name: string) => ({ name, run: async () => ran.push(name) });
    const times = await inTurn([way('a'), { ...way('b'), isSlow: true }], { rounds: 2, warmUp: true, tell });
    assert.deepEqual(ran, ['a', 'a', 'b', 'a']);
    assert.deepEqual(times, [
      { name: 'a', ms: [2, 4] },
      { name: 'b', ms: [3] },
    ]);
  });

  it('go on without a peer that fails, and end when jobctl does', async () => {
    const fails = { name: 'pdsh', run: async () => assert.fail('exit code 1') };
    const works = { name: 'ours', run: async () => 7 };
    const options = { rounds: 2, warmUp: false, tell };
    assert.deepEqual(await inTurn([{ ...fails, isPeer: true }, works], options), [
      { name: 'pdsh', broken: 'exit code 1' },
      { name: 'ours', ms: [7, 7] },
    ]);
    await assert.rejects(inTurn([fails, works], options), /exit code 1/);
  });

  it('of followed logs are the seconds that every follower saw', () => {
    const delays = (...all: readonly (readonly [number, number])[]) =>
      all.map(([printed, late]) => ({ printed, late }));
    const ours = delays([0, 600], [500, 700], [1_000, 650], [6_000, 500], [11_000, 900]);
    const ssh = delays([200, 4], [6_100, 3], [16_000, 2]);
    assert.deepEqual(windowsOf([ours, ssh]), [
      [650, 500],
      [4, 3],
    ]);
    assert.throws(() => windowsOf([ours, []]), /no 5 s of which all saw a line: 5,0 lines/);
  });
});
