import assert from 'node:assert/strict';
import fc from 'fast-check';
import {
  groupStacks,
  placesText,
  rangesText,
  sharedCallers,
  withoutWaiting,
  type Frame,
  frameOf,
  framesOf,
  type HostStacks,
  type ProcessStacks,
  processOf,
  threadOf,
  parseStacks,
  stacksText,
  storedStacksText,
} from '../../domain/stacks/stack.js';
import { visibleText } from '../../domain/outside-text.js';

/** What hosts may say. */
const odd = fc.oneof(
  fc.constantFrom(
    'f',
    'g',
    'wait',
    '<module>',
    'a (b',
    'x (y:3)',
    '\u001b[31m',
    'no\nline',
    'process 1: x',
    '\u202e',
    '',
  ),
  fc.string({ maxLength: 8 }),
);
const frame = fc
  .tuple(
    odd,
    fc.oneof(fc.constantFrom('/a/train.py', '/b/train.py', '/c (copy)/x.py'), odd),
    fc.integer({ min: -1, max: 3 }),
  )
  .map(([name, file, line]) => frameOf(name, file, line));
/** Of these, stacks are equal now and then. */
const few = fc.constantFrom(frameOf('f', '/a/train.py', 1), frameOf('f', '/b/train.py', 1), frameOf('g', 'x.py', 2));
const threads = fc.array(
  fc.tuple(odd, fc.array(fc.oneof(few, few, frame), { maxLength: 2 })).map(([name, frames]) => threadOf(name, frames)),
  { minLength: 1, maxLength: 2 },
);
const rest = {
  name: odd,
  state: fc.constantFrom('S', 'R', '?', ' x'),
  waitsIn: fc.constantFrom('futex_do_wait', 'a.b', '0', 'not this'),
  localRank: fc.integer({ min: 0, max: 2 }),
};
const requiredKeys = ['name', 'state'] as const;
const python = fc.record({ ...rest, threads }, { requiredKeys: [...requiredKeys, 'threads'] });
const said = fc.oneof(
  { weight: 3, arbitrary: python },
  { weight: 1, arbitrary: fc.record({ ...rest, problem: odd }, { requiredKeys: [...requiredKeys] }) },
);
const hosts: fc.Arbitrary<readonly HostStacks[]> = fc
  .array(fc.array(said, { maxLength: 4, size: 'max' }), { maxLength: 5, size: 'max' })
  .map((all) =>
    all.map((processes, host) => ({
      host,
      processes: processes.map((each, at) => processOf({ ...each, pid: 100 + at })),
    })),
  );

describe('the groups of stacks', () => {
  it('have each process in exactly one group, whose main threads have the same calls, the largest first', () => {
    let shared = 0;
    fc.assert(
      fc.property(hosts, (all) => {
        const groups = groupStacks(all);
        const placed = groups.flatMap(({ members }) => members.map(({ host, process }) => `${host}/${process.pid}`));
        const wanted = all.flatMap(({ host, processes }) => processes.map(({ pid }) => `${host}/${pid}`));
        assert.deepEqual(placed.toSorted(), wanted.toSorted());
        const sizes = groups.map(({ members }) => members.length);
        assert.deepEqual(
          sizes,
          sizes.toSorted((a, b) => b - a),
        );
        const base = ({ function: name, file, line }: Frame): string =>
          `${name}|${file.split('/').at(-1) || file}|${line}`;
        const keys = groups.map(
          ({ members }) => new Set(members.map(({ process }) => framesOf(process).map(base).join())),
        );
        assert.ok(keys.every((calls) => calls.size === 1));
        if (sizes.some((size) => size > 1)) shared += 1;
      }),
    );
    assert.ok(shared > 5, `${shared} runs had a group of several`);
  });

  it('are the same whatever the order of the hosts and of their processes', () => {
    fc.assert(
      fc.property(hosts, fc.infiniteStream(fc.nat(1000)), (all, keys) => {
        const shuffled = <T>(items: readonly T[]): readonly T[] =>
          items
            .map((item) => [keys.next().value ?? 0, item] as const)
            .toSorted(([a], [b]) => a - b)
            .map(([, item]) => item);
        const other = shuffled(all).map((host) => ({ ...host, processes: shuffled(host.processes) }));
        assert.deepEqual(groupStacks(other), groupStacks(all));
      }),
    );
  });

  it('share callers from the outermost call on', () => {
    const at = (...names: readonly string[]): HostStacks => ({
      host: 0,
      processes: [
        processOf({
          pid: 1,
          name: 'p',
          state: 'S',
          threads: [
            threadOf(
              't',
              names.map((name) => frameOf(name, 'x', 1)),
            ),
          ],
        }),
      ],
    });
    const [a, b, c] = [at('wait', 'sum', 'step', 'main'), at('wait', 'next', 'step', 'main'), at('step', 'main')].map(
      (host) => groupStacks([host])[0]!,
    );
    assert.deepEqual(
      [sharedCallers(a!, b!), sharedCallers(a!, c!), sharedCallers(c!, a!), sharedCallers(a!, a!)],
      [2, 2, 2, 4],
    );
  });
});

describe('where a group is', () => {
  const process = (pid: number, more: Partial<ProcessStacks> = {}): ProcessStacks =>
    processOf({
      pid,
      name: 'python3',
      state: 'S',
      threads: [threadOf('MainThread', [frameOf('f', 'x.py', pid)])],
      ...more,
    });
  const same = { threads: [threadOf('MainThread', [frameOf('f', 'x.py', 1)])] };
  const cases: Record<string, { hosts: readonly (readonly ProcessStacks[])[]; want: readonly string[] }> = {
    'one process a host': {
      hosts: [[process(1)], [process(9)], [process(1)], [process(1)]],
      want: ['hosts 0, 2-3', 'host 1'],
    },
    'named by rank, if each has its own': {
      hosts: [
        [process(1, { ...same, localRank: 0 }), process(2, { ...same, localRank: 1 })],
        [process(1, { ...same, localRank: 0 }), process(2, { localRank: 1 })],
      ],
      want: ['host 0 (local ranks 0-1), host 1 (local rank 0)', 'host 1 (local rank 1)'],
    },
    'children have the rank of their parent: the process id then': {
      hosts: [[process(1, { ...same, localRank: 0 }), process(2, { localRank: 0 })]],
      want: ['host 0 (1 of 2 processes: 1)', 'host 0 (1 of 2 processes: 2)'],
    },
    'a shell that waits for Python does not count': {
      hosts: [
        [processOf({ pid: 1, name: 'bash', state: 'S' }), process(2)],
        [processOf({ pid: 1, name: 'bash', state: 'S' }), processOf({ pid: 2, name: 'trainer', state: 'R' })],
        [processOf({ pid: 1, name: 'bash', state: 'S' })],
      ],
      want: ['host 0', 'host 1', 'host 2'],
    },
  };
  for (const [name, { hosts: processes, want }] of Object.entries(cases))
    it(name, () => {
      const all = withoutWaiting(processes.map((own, host) => ({ host, processes: own })));
      assert.deepEqual(
        groupStacks(all).map((group) => placesText(group, all)),
        want,
      );
    });

  it('ranges', () => assert.equal(rangesText([0, 1, 2, 5, 7, 8]), '0-2, 5, 7-8'));
});

describe('the stored text of stacks', () => {
  it('is read back as it was, whatever hosts say, and shows as text', () => {
    let whole = 0;
    fc.assert(
      fc.property(hosts, (all) => {
        for (const host of all) {
          const text = stacksText(host);
          assert.deepEqual(parseStacks(text, host.host), host);
          assert.ok(text.split('\n').every((line) => visibleText(line) === line));
          if (host.processes.some(({ threads: stacks = [] }) => stacks.length > 1)) whole += 1;
        }
      }),
    );
    assert.ok(whole > 20);
  });

  it('of hosts that write others there is bounded, and lines that are none are passed over', () => {
    const forged =
      'process 1: x (state S)\n    f (y:1)\nodd\n  thread t\n    \u001b[2Jf (z.py:2)\n    f (z.py:99999999999)\n';
    assert.deepEqual(parseStacks(forged, 3), {
      host: 3,
      processes: [
        {
          pid: 1,
          name: 'x',
          state: 'S',
          threads: [{ name: 't', frames: [{ function: '\\u001b[2Jf', file: 'z.py', line: 2 }] }],
        },
      ],
    });
    assert.equal(parseStacks('process 1: x (state S)\n'.repeat(10_000), 0).processes.length, 128);
  });

  it('of a host with too many threads says that it is cut', () => {
    const frames = Array.from({ length: 256 }, (_, at) => frameOf('f'.repeat(100), 'x'.repeat(300), at));
    const many = Array.from({ length: 60 }, (_, at) => threadOf(`t${at}`, frames));
    const processes = [1, 2].map((pid) => processOf({ pid, name: 'p', state: 'S', threads: many }));
    const read = parseStacks(storedStacksText({ processes }), 0);
    assert.equal(read.processes.length, 0);
    assert.match(read.problem ?? '', /too long/);
  });
});
