import assert from 'node:assert/strict';
import type { Budget } from '../../../domain/recovery/budgets.js';
import { decide, rowsFor, ROWS } from '../../../domain/recovery/decide.js';
import { FACTS, type Facts, type Question } from '../../../domain/recovery/facts.js';
import { CASES, DULL } from './cases.js';

const QUESTIONS = Object.keys(FACTS) as Question[];

/** Every combination of a question's facts. */
function combinations<Q extends Question>(question: Q): readonly Facts<Q>[] {
  let all: readonly Readonly<Record<string, string>>[] = [{}];
  for (const [name, values] of Object.entries<readonly string[]>(FACTS[question]))
    all = all.flatMap((facts) => values.map((value) => ({ ...facts, [name]: value })));
  return all as readonly Facts<Q>[];
}
const spoken = (facts: object): string => JSON.stringify(facts);

describe('the recovery table', () => {
  for (const question of QUESTIONS) {
    it(`${question}: exactly one row holds for every combination of facts`, () => {
      for (const facts of combinations(question))
        assert.deepEqual(
          rowsFor(question, facts).map(({ name }) => name).length,
          1,
          `${spoken(facts)}: ${rowsFor(question, facts).map(({ name }) => name)}`,
        );
    });
    it(`${question}: each row has a name of its own and holds for some facts`, () => {
      const names = ROWS[question].map(({ name }) => name);
      assert.equal(new Set(names).size, names.length);
      const held = new Set(combinations(question).flatMap((facts) => rowsFor(question, facts).map(({ name }) => name)));
      assert.deepEqual([...held].sort(), [...names].sort());
    });
  }
});

describe('each row of the recovery table', () => {
  const caseTests = <Q extends Question>(question: Q): void => {
    for (const [facts, want, row] of CASES[question])
      it(`${question}: ${row}`, () => {
        const all = { ...DULL[question], ...facts } as unknown as Facts<Q>;
        assert.deepEqual(decide(question, all), want);
        assert.equal(rowsFor(question, all)[0]?.name, row);
      });
    it(`${question}: has a case`, () =>
      assert.deepEqual(
        CASES[question].map(([, , row]) => row),
        ROWS[question].map(({ name }) => name),
      ));
  };
  QUESTIONS.forEach((question) => caseTests(question));
});

describe('what the recovery table promises', () => {
  it('is no answer at all to facts that it does not know', () => {
    const facts = { look: 'directly', condition: 'asleep' } as unknown as Facts<'slice seen'>;
    const text = 'recovery, slice seen: no row for {"look":"directly","condition":"asleep"}';
    assert.throws(() => decide('slice seen', facts), new TypeError(text));
  });

  it('what is unknown never costs a slice', () => {
    for (const look of FACTS['slice seen'].look)
      for (const condition of ['no answer', 'waiting'] as const)
        assert.deepEqual(decide('slice seen', { look, condition }), { do: 'keep' });
  });

  it('a host costs its slice only by a word of the API and the silence of its own sign, and never as one of many within the time', () => {
    let losses = 0;
    for (const facts of combinations('host silent')) {
      if (decide('host silent', facts).do !== 'report loss') continue;
      losses += 1;
      assert.ok(facts.node === 'ready' || facts.node === 'warned');
      assert.ok(facts.sign === 'stale' || (facts.sign === 'never' && facts.others !== 'silent'));
      if (facts.silence === 'within timeouts.unreachable')
        assert.deepEqual([facts.sign, facts.others, facts.node], ['stale', 'answer, with fresh signs', 'ready']);
    }
    assert.equal(losses, 11);
  });

  it('a listing alone, or one NOT_FOUND alone, never costs a slice', () => {
    for (const facts of combinations('slice seen')) {
      if (decide('slice seen', facts).do !== 'report loss') continue;
      assert.notEqual(facts.look, 'in the listing');
      if (facts.condition === 'missing') assert.equal(facts.look, 'directly, a second time');
    }
  });

  it('an end that hosts bear out is never taken back, and one that they speak against never counts', () => {
    for (const slices of FACTS['command ended'].slices) {
      assert.equal(decide('command ended', { hosts: 'code 0', slices }).do, 'report end');
      for (const hosts of ['preempted', 'shutting down'] as const)
        assert.notEqual(decide('command ended', { hosts, slices }).do, 'report end');
    }
    for (const hosts of FACTS['command ended'].hosts)
      if (decide('command ended', { hosts, slices: 'lost' }).do === 'report end')
        assert.ok(['code 0', 'run lost', 'later attempt'].includes(hosts), hosts);
  });

  it('each retry is paid by a budget that is left, and each end for a spent budget names the one that is spent', () => {
    let seen = 0;
    for (const question of ['not ready', 'attempt ended'] as const)
      for (const facts of combinations(question)) {
        const decision = decide(question, facts);
        const left = facts as unknown as Partial<Record<Budget, string>>;
        if (decision.do === 'retry') assert.equal(left[decision.budget], 'left', spoken(facts));
        else if (decision.do === 'fail' && decision.spent === true)
          assert.equal(left[decision.by], 'spent', spoken(facts));
        else continue;
        seen += 1;
      }
    assert.ok(seen > 200, String(seen));
  });

  it('no refusal ends a job that has run, and only a wrong request ends one that has a zone or a retry left', () => {
    const refusals = FACTS['not ready'].because.filter((because) => /refused/.test(because));
    assert.equal(refusals.length, 7);
    let ends = 0;
    for (const facts of combinations('not ready').filter(({ because }) => refusals.includes(because))) {
      if (decide('not ready', facts).do !== 'fail') continue;
      ends += 1;
      assert.equal(facts.command, 'never ran', spoken(facts));
      assert.equal(facts.zones, 'none', spoken(facts));
      assert.ok(facts.infrastructure === 'spent' || facts.because === 'request refused', spoken(facts));
    }
    assert.ok(ends > 0);
  });

  it('a preemption is on nobody’s account but that of preemptions', () => {
    const preempted = [
      ...combinations('attempt ended').filter(({ end }) => end === 'slices preempted'),
      ...combinations('not ready').filter(({ because }) => because === 'preempted'),
    ];
    for (const facts of preempted) {
      const decision = 'end' in facts ? decide('attempt ended', facts) : decide('not ready', facts);
      if (decision.do === 'retry') assert.equal(decision.budget, 'preemption');
      else if (decision.do === 'fail') assert.equal(decision.by, 'preemption');
      else assert.equal(decision.do, 'keep');
    }
  });

  it('only what the command or its set-up did is the task’s fault', () => {
    const ofTheTask = new Set<string>(['another code', 'run time over', 'silent', 'set-up time over', 'module failed']);
    for (const facts of combinations('attempt ended')) {
      const decision = decide('attempt ended', facts);
      if ((decision.do === 'fail' && decision.by === 'task') || (decision.do === 'retry' && decision.budget === 'task'))
        assert.ok(
          ofTheTask.has(facts.end) ||
            (/code/.test(facts.end) && facts.loop === 'gives up') ||
            // No budget is left to blame the machine.
            (facts.end === 'machine at fault' && facts.infrastructure === 'spent'),
          spoken(facts),
        );
    }
  });

  it('an outcome that the store has stays, whatever else is known', () => {
    for (const facts of combinations('attempt ended').filter(({ end }) => end === 'ended before'))
      assert.deepEqual(decide('attempt ended', facts), { do: 'stored outcome' });
    for (const facts of combinations('command interrupted').filter(({ end }) => end === 'ended before'))
      if (facts.command === 'given') assert.deepEqual(decide('command interrupted', facts), { do: 'believe end' });
  });

  it('code 0 with a signal of the pool or a person first is no success', () => {
    for (const by of FACTS['command interrupted'].by)
      assert.deepEqual(decide('command interrupted', { by, command: 'given', end: 'answer to the stop' }), {
        do: 'interrupt',
      });
  });
});
