import assert from 'node:assert/strict';
import { stacksScreen } from '../../cli/commands/verbs/stacks.js';
import { frameOf, type HostStacks, type ProcessStacks, processOf, threadOf } from '../../domain/stacks/stack.js';

const PLAIN = { paint: (_: string, text: string) => text };
const PAINTED = { paint: (colour: string, text: string) => `<${colour}>${text}</>` };
const SITE = '/home/bob/.venv/lib/python3.11/site-packages/torch/distributed/distributed_c10d.py';

const trainer = (
  calls: readonly (readonly [string, string, number])[],
  more: Partial<ProcessStacks> = {},
): ProcessStacks => {
  const main = threadOf(
    'MainThread',
    calls.map(([name, file, line]) => frameOf(name, file, line)),
  );
  return processOf({ pid: 40, name: 'python3', state: 'S', threads: [main], ...more });
};
const MAIN = ['<module>', '/home/bob/train.py', 170] as const;
const reducing = trainer([['all_reduce', SITE, 2501], ['step', '/home/bob/train.py', 120], MAIN]);
const loading = trainer([
  ['wait', '/usr/lib/python3.11/threading.py', 320],
  ['next_batch', '/home/bob/data.py', 44],
  MAIN,
]);
const host = (number: number, ...processes: readonly ProcessStacks[]): HostStacks => ({ host: number, processes });

describe('what `jobctl stacks` shows', () => {
  it('says first where each group is, by the call in which it differs, and then the calls', () => {
    const gang = Array.from({ length: 32 }, (_, number) => host(number, number === 7 ? loading : reducing));
    assert.equal(
      stacksScreen(gang, {}, PLAIN),
      `32 processes at 2 places:
  31 in all_reduce (distributed_c10d.py:2501), called by step (train.py:120): hosts 0-6, 8-31
  1 in wait (threading.py:320), called by next_batch (data.py:44): host 7

31 processes: hosts 0-6, 8-31
  all_reduce (torch/distributed/distributed_c10d.py:2501)
  step (train.py:120)
  <module> (train.py:170)

1 process: host 7
  wait (threading.py:320)
  next_batch (data.py:44)
  and 1 caller as in the largest group
`,
    );
    const painted = stacksScreen(gang, {}, PAINTED);
    assert.match(painted, /^<yellow>1 process: host 7<\/>$/m);
    assert.match(painted, /^<bold>31 processes: /m);
  });

  it('of one group no table; of processes without a stack their state, and why', () => {
    const trained = processOf({ pid: 1, name: 'trainer', state: 'D', waitsIn: 'nfs_wait' });
    assert.equal(
      stacksScreen([host(0, trained), host(1, trained)], {}, PLAIN),
      '2 processes: hosts 0-1\n  trainer (state D, in nfs_wait)\n',
    );
    const blind = processOf({ pid: 1, name: 'python3', state: 'S', problem: 'its host has no py-spy' });
    assert.equal(
      stacksScreen([host(0, blind)], {}, PLAIN),
      '1 process: host 0\n  python3 (state S): its host has no py-spy\n',
    );
    assert.equal(stacksScreen([host(0)], {}, PLAIN), '');
  });

  it('other threads, and processes that are not Python, if they are asked for', () => {
    const threaded = trainer([MAIN], {
      threads: [threadOf('MainThread', []), threadOf('feeder', [frameOf('put', 'queue.py', 9)])],
    });
    const shell = processOf({ pid: 2, name: 'bash', state: 'S' });
    const text = stacksScreen([host(3, threaded, shell)], { threads: true, all: true }, PLAIN);
    assert.match(text, /^ {2}thread feeder, of process 40 of host 3:\n {4}put \(queue\.py:9\)$/m);
    assert.match(text, /^1 process: host 3 \(1 of 2 processes: 2\)\n {2}bash \(state S\)$/m);
    assert.match(text, /no Python call/);
    assert.doesNotMatch(stacksScreen([host(3, threaded, shell)], {}, PLAIN), /feeder|bash/);
  });
});
