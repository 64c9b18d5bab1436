import assert from 'node:assert/strict';
import { leftProcesses, leftProcessesText, leftReport, leftText, processesText } from '../../domain/left-processes.js';

describe('what a host says that a command left running', () => {
  const one = { count: 1, named: [{ pid: 7, command: 'python3 train.py' }] };

  it('is read as it was written', () => assert.deepEqual(leftProcesses(leftProcessesText(one)), one));

  const wrong: Readonly<Record<string, string>> = {
    'of no number': 'many\n7 python3',
    'of nothing': '',
    'of none': '0\n7 python3',
    'that names none': '3\npython3',
  };
  for (const [what, text] of Object.entries(wrong))
    it(`is nothing if it is a list ${what}`, () => assert.equal(leftProcesses(text), undefined));

  it('is bounded and shows what is hidden, whatever the host sends', () => {
    const { named = [] } = leftProcesses(`9\n${`1 \u001b[2J${'x'.repeat(9_000)}\n`.repeat(5_000)}`) ?? {};
    assert.ok(named.length < 10 && named.every(({ command }) => command.length <= 200 && !command.includes('\u001b')));
  });

  it('is told by place, number and command line', () => {
    assert.equal(processesText(one, 'host 0'), "a process on host 0: 7 'python3 train.py'");
    assert.equal(
      processesText({ ...one, count: 3 }, 'host 0'),
      "3 processes on host 0: 7 'python3 train.py' and 2 more",
    );
    assert.match(
      leftText({ hosts: [{ place: 'host 1', ...one }] }),
      /was ended: a process on host 1: 7 'python3 train\.py' \(/,
    );
  });

  it('is told of the first five hosts, in their order, and the others are counted', () => {
    const ends = [6, 5, 4, 3, 2, 1, 0].map((host) => ({
      at: { slice: host % 2, host },
      ...(host !== 2 && { left: one }),
    }));
    const report = leftReport(ends, 2);
    assert.deepEqual(
      report?.hosts.map(({ place }) => place),
      ['host 0 of slice 0', 'host 4 of slice 0', 'host 6 of slice 0', 'host 1 of slice 1', 'host 3 of slice 1'],
    );
    assert.equal(report?.otherHosts, 1);
    assert.equal(leftReport([{ at: { slice: 0, host: 0 } }], 1), undefined);
  });
});
