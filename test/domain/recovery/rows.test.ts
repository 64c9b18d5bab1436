import assert from 'node:assert/strict';
import fc from 'fast-check';
import { type Budget, budgetLeft, charge, type Retries } from '../../../domain/recovery/budgets.js';
import { decide, rowsFor } from '../../../domain/recovery/decide.js';
import { FACTS, type Fact, type Facts, type Question } from '../../../domain/recovery/facts.js';
import { type Decisions, ROWS } from '../../../domain/recovery/rows.js';

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

/** One case per row: facts as a person would tell them, and what is to be done. Facts that are left out are the dull ones. */
const DULL = {
  'slice seen': { look: 'directly', condition: 'ready' },
  'command ended': { hosts: 'code 0', slices: 'not looked at' },
  'worker failed': { error: 'may pass', errors: 'few' },
  'set-up interrupted': { by: 'person', end: 'not awaited' },
  'command interrupted': { by: 'person', command: 'given', end: 'not awaited' },
  'step due': { lease: 'stands', request: 'none', command: 'ended', holds: 'lease and all slices' },
  'not ready': {
    because: 'preempted',
    zones: 'none',
    refusals: 'few',
    command: 'never ran',
    preemption: 'left',
    infrastructure: 'left',
  },
  'attempt ended': {
    end: 'code 0',
    lease: 'stands',
    restart: 'not asked for',
    loop: 'none',
    preemption: 'left',
    infrastructure: 'left',
    task: 'left',
  },
} as const satisfies { [Q in Question]: Facts<Q> };
type Case<Q extends Question> = readonly [facts: Partial<Facts<Q>>, want: Decisions[Q], row: string];
const KEEP = { do: 'keep' } as const;
const AGAIN = 'directly, a second time';
const retry = (budget: Budget, replace: 'nothing' | 'lost slices' | 'its slice' | 'all, next zone') =>
  ({ do: 'retry', budget, replace }) as const;
const fail = (by: Budget) => ({ do: 'fail', by }) as const;
const spent = (by: Budget) => ({ do: 'fail', by, spent: true }) as const;
const loss = (cause: 'preempted' | 'failed') => ({ do: 'report loss', cause }) as const;
const CASES: { readonly [Q in Question]: readonly Case<Q>[] } = {
  'slice seen': [
    [{ condition: 'waiting' }, KEEP, 'the slice is there'],
    [{ condition: 'no answer' }, KEEP, 'an API that does not answer is no evidence'],
    [{ look: 'in the listing', condition: 'missing' }, { do: 'look directly' }, 'a listing may lag behind'],
    [{ condition: 'missing' }, { do: 'wait, look again' }, 'one NOT_FOUND is no evidence'],
    [{ condition: 'wrong host key' }, { do: 'wait, look again' }, 'a host key of another machine, once'],
    [{ look: AGAIN, condition: 'wrong host key' }, loss('failed'), 'a host key of another machine, twice and apart'],
    [{ look: AGAIN, condition: 'missing' }, loss('preempted'), 'NOT_FOUND, twice and apart'],
    [{ condition: 'preempted' }, loss('preempted'), 'the API says that it was preempted'],
    [{ look: AGAIN, condition: 'failed' }, loss('failed'), 'the API says that it failed'],
    [{ condition: 'deleting' }, loss('failed'), 'the slice is being deleted'],
    [{ condition: 'foreign' }, loss('failed'), 'its name belongs to another resource'],
  ],
  'command ended': [
    [{}, { do: 'report end' }, 'code 0, and every host was up and not preempted as it ended'],
    [
      { hosts: 'code 0, unwitnessed' },
      { do: 'look at slices', patience: 'shutdown' },
      'code 0, and a host cannot say how it was',
    ],
    [
      { hosts: 'code 0, told to end' },
      { do: 'look at slices', patience: 'none' },
      'code 0 of a command that was told to end may come with a loss',
    ],
    [
      { hosts: 'code 0, unwitnessed', slices: 'there' },
      { do: 'report end' },
      'code 0, and nothing was seen that speaks against it',
    ],
    [{ hosts: 'code 0, told to end', slices: 'lost' }, { do: 'report loss' }, 'code 0, and the slices were taken'],
    [
      { hosts: 'preempted' },
      { do: 'report preemption' },
      'a host was preempted as the command ended, with whatever code',
    ],
    [
      { hosts: 'shutting down' },
      { do: 'look at slices', patience: 'shutdown' },
      'a host shut down as the command ended, with whatever code',
    ],
    [{ hosts: 'shutting down', slices: 'lost' }, { do: 'report loss' }, 'a host shut down with its slice'],
    [
      { hosts: 'shutting down', slices: 'there' },
      { do: 'report lost run' },
      'a host shut down, and its slice is there',
    ],
    [{ hosts: 'run lost' }, { do: 'report end' }, 'a host lost the run'],
    [{ hosts: 'later attempt' }, { do: 'report end' }, 'a host knows of a later attempt'],
    [{ hosts: 'failed' }, { do: 'look at slices', patience: 'none' }, 'a failure may be the first sign of a loss'],
    [
      { hosts: 'ended by a signal of others' },
      { do: 'look at slices', patience: 'shutdown' },
      'a signal of others may be a shutdown',
    ],
    [{ hosts: 'silent' }, { do: 'look at slices', patience: 'none' }, 'hosts that are taken away cannot print'],
    [{ hosts: 'failed', slices: 'there' }, { do: 'report end' }, 'the command failed on slices that are there'],
    [{ hosts: 'silent', slices: 'lost' }, { do: 'report loss' }, 'the command failed with its slices'],
  ],
  'worker failed': [
    [
      { error: 'worker is gone', errors: 'too many' },
      { do: 'other worker', pause: false },
      'a worker went away: the command does not notice',
    ],
    [{}, { do: 'other worker', pause: true }, 'an error that may pass'],
    [{ errors: 'too many' }, { do: 'end attempt' }, 'errors again and again'],
    [{ error: 'final' }, { do: 'end attempt' }, 'an error that no retry mends'],
  ],
  'set-up interrupted': [
    [{ by: 'pool' }, { do: 'interrupt' }, 'its slices go: nobody waits for the set-up'],
    [{ by: 'clock' }, { do: 'save' }, 'its slices stay: the set-up is ended first'],
    [{ end: 'slices lost' }, { do: 'believe end' }, 'evidence counts, whoever asked for the end'],
    [{ by: 'clock', end: 'ready' }, { do: 'believe end' }, 'its time ran out as it ended by itself'],
    [{ end: 'ready' }, { do: 'interrupt' }, 'a person asked: what the set-up came to does not count'],
    [{ by: 'clock', end: 'handed over' }, { do: 'interrupt' }, 'its time is over'],
  ],
  'command interrupted': [
    [{ command: 'none' }, { do: 'interrupt' }, 'there is no command to stop'],
    [{ by: 'pool' }, { do: 'save' }, 'the command may save before it ends'],
    [{ by: 'pool', end: 'own exit' }, { do: 'believe end' }, 'the command had ended by itself'],
    [{ by: 'pool', end: 'answer to the stop' }, { do: 'interrupt' }, 'an exit that was asked for, or none'],
  ],
  'step due': [
    [
      { lease: 'revoked', request: 'stop', command: 'may run' },
      { do: 'save' },
      'the pool revoked the lease of a running command',
    ],
    [{ request: 'restart', command: 'may run' }, { do: 'save' }, 'a person interrupts a running command'],
    [{ lease: 'revoked' }, { do: 'give back', to: 'pool', next: 'ask again' }, 'the lease is revoked'],
    [
      { lease: 'revoked', request: 'stop' },
      { do: 'give back', to: 'pool', next: 'rest' },
      'the lease of a stopped job is revoked',
    ],
    [{ request: 'restart' }, { do: 'start anew' }, 'a restart'],
    [{ request: 'requeue' }, { do: 'give back', to: 'person', next: 'ask again' }, 'a requeue'],
    [{ request: 'requeue', holds: 'nothing' }, { do: 'start anew' }, 'a requeue of a job that holds nothing'],
    [{ request: 'stop' }, { do: 'pause' }, 'a stop keeps a whole gang'],
    [
      { request: 'stop', holds: 'lease' },
      { do: 'give back', to: 'person', next: 'rest' },
      'a stop keeps no part of a gang',
    ],
    [{ request: 'stop --release' }, { do: 'give back', to: 'person', next: 'rest' }, 'a stop with --release'],
    [{ request: 'stop', holds: 'nothing' }, { do: 'rest' }, 'a stop of a job that holds nothing'],
    [{ holds: 'lease' }, { do: 'use lease' }, 'nobody wants anything, and the lease is held'],
    [{ holds: 'something' }, { do: 'wait for lease' }, 'nobody wants anything, and there is no lease'],
  ],
  'not ready': [
    [{ infrastructure: 'spent' }, retry('preemption', 'lost slices'), 'a slice was preempted by the provider'],
    [{ preemption: 'spent' }, spent('preemption'), 'a slice was preempted, and the budget is spent'],
    [{ because: 'failed', preemption: 'spent' }, retry('infrastructure', 'lost slices'), 'a slice failed'],
    [{ because: 'late' }, retry('infrastructure', 'all, next zone'), 'timeouts.provision is over'],
    [
      { because: 'late', infrastructure: 'spent' },
      spent('infrastructure'),
      'a slice failed or is late, and the budget is spent',
    ],
    [
      { because: 'zone refused', infrastructure: 'spent', preemption: 'spent' },
      { do: 'next zone' },
      'the zone has no capacity or quota',
    ],
    [
      { because: 'refused for a moment', infrastructure: 'spent' },
      { do: 'ask again' },
      'the cloud refuses for a moment',
    ],
    [
      { because: 'refused for a moment', refusals: 'many' },
      { do: 'next zone' },
      'the moment does not pass in this zone',
    ],
    [
      { because: 'installation refused', infrastructure: 'spent', refusals: 'many' },
      { do: 'ask again' },
      'the installation lacks rights',
    ],
    [
      { because: 'request refused', zones: 'left', infrastructure: 'spent' },
      { do: 'next zone' },
      'another zone may accept what this one refuses',
    ],
    [{ because: 'request refused' }, fail('infrastructure'), 'every zone refuses the request of a job that never ran'],
    [
      { because: 'request refused', command: 'ran before' },
      retry('infrastructure', 'all, next zone'),
      'every zone refuses what was accepted before',
    ],
    [
      { because: 'refused, unknown' },
      retry('infrastructure', 'all, next zone'),
      'every zone refuses, for a reason that may pass',
    ],
    [
      { because: 'zone refused for good', infrastructure: 'spent' },
      spent('infrastructure'),
      'every zone refuses a job that never ran, and the budget is spent',
    ],
    [
      { because: 'request refused', command: 'ran before', infrastructure: 'spent' },
      { do: 'next zone' },
      'every zone refuses a job that ran before, and the budget is spent',
    ],
    [{ because: 'lease lost' }, { do: 'ask for lease' }, 'the lease does not stand'],
    [{ because: 'queue time over' }, fail('infrastructure'), 'timeouts.queue is over'],
  ],
  'attempt ended': [
    [{ end: 'unwatched', lease: 'revoked' }, KEEP, 'nothing has ended'],
    [{ end: 'interrupted' }, KEEP, 'the pool or a person interrupted it'],
    [{ end: 'slices preempted', lease: 'revoked' }, KEEP, 'slices were lost that had to go anyway'],
    [
      { end: 'slices preempted', restart: 'asked for', infrastructure: 'spent', task: 'spent' },
      retry('preemption', 'lost slices'),
      'slices were preempted by the provider',
    ],
    [
      { end: 'slices preempted', preemption: 'spent' },
      spent('preemption'),
      'slices were preempted, and the budget is spent',
    ],
    [{ end: 'slices failed', preemption: 'spent' }, retry('infrastructure', 'lost slices'), 'slices failed'],
    [
      { end: 'slices failed', infrastructure: 'spent' },
      spent('infrastructure'),
      'slices failed, and the budget is spent',
    ],
    [{ end: 'ended before', restart: 'asked for' }, { do: 'stored outcome' }, 'the store has its outcome already'],
    [{ restart: 'asked for' }, KEEP, 'a restart was accepted, whatever the attempt came to'],
    [{ task: 'spent' }, { do: 'succeed' }, 'the command is done'],
    [{ loop: 'again', task: 'spent' }, { do: 'loop' }, 'a command that loops has ended'],
    [
      { end: 'another code', loop: 'gives up' },
      { ...fail('task'), loop: true },
      'a command that loops ends at once, again and again',
    ],
    [{ end: 'silent' }, retry('task', 'nothing'), 'the command failed, ran for too long or was silent'],
    [{ end: 'another code', task: 'spent' }, fail('task'), 'the command failed, and the budget is spent'],
    [{ end: 'set-up time over' }, fail('task'), 'timeouts.setup is over'],
    [{ end: 'module failed' }, fail('task'), 'a module fails'],
    [{ end: 'run lost', loop: 'again' }, retry('infrastructure', 'nothing'), 'a host lost the run'],
    [{ end: 'host bad' }, retry('infrastructure', 'its slice'), 'a host cannot be set up'],
    [{ end: 'host bad', infrastructure: 'spent' }, spent('infrastructure'), 'a host failed, and the budget is spent'],
    [{ end: 'worker failed' }, retry('infrastructure', 'nothing'), 'workers report errors again and again'],
    [
      { end: 'worker failed', infrastructure: 'spent' },
      spent('infrastructure'),
      'workers report errors again and again, and the budget is spent',
    ],
  ],
};

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
        assert.deepEqual(decide('slice seen', { look, condition }), KEEP);
  });

  it('a listing alone, or one NOT_FOUND alone, never costs a slice', () => {
    for (const facts of combinations('slice seen')) {
      if (decide('slice seen', facts).do !== 'report loss') continue;
      assert.notEqual(facts.look, 'in the listing');
      if (facts.condition === 'missing') assert.equal(facts.look, AGAIN);
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
    assert.equal(refusals.length, 6);
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
        assert.ok(ofTheTask.has(facts.end) || (facts.end === 'code 0' && facts.loop === 'gives up'), spoken(facts));
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

/** A job that has nothing but bad luck: how often each budget paid, until it failed. */
function retriesOf(
  allowed: Retries,
  ends: readonly Fact<'attempt ended', 'end'>[],
): { readonly used: Retries; readonly failedAt?: number; readonly by?: Budget } {
  let used: Retries = { preemption: 0, infrastructure: 0, task: 0 };
  for (const [at, end] of ends.entries()) {
    const decision = decide('attempt ended', { ...DULL['attempt ended'], end, ...budgetLeft(used, allowed) });
    if (decision.do === 'fail') return { used, failedAt: at, by: decision.by };
    if (decision.do === 'retry') used = charge(used, decision.budget);
  }
  return { used };
}

describe('budgets', () => {
  const ACCOUNTS = {
    'slices preempted': 'preemption',
    'slices failed': 'infrastructure',
    'run lost': 'infrastructure',
    'host bad': 'infrastructure',
    'worker failed': 'infrastructure',
    'another code': 'task',
    'run time over': 'task',
    silent: 'task',
  } as const satisfies Partial<Record<Fact<'attempt ended', 'end'>, Budget>>;
  const ENDS = Object.keys(ACCOUNTS) as (keyof typeof ACCOUNTS)[];

  it('n retries allowed are exactly n, on the account of what happened, in whatever order it happens', () => {
    let failures = 0;
    const retries = fc.record({ preemption: fc.nat(5), infrastructure: fc.nat(5), task: fc.nat(5) });
    const ends = fc.array(fc.constantFrom(...ENDS), { maxLength: 24 });
    fc.assert(
      fc.property(retries, ends, (allowed, happened) => {
        const { used, failedAt, by } = retriesOf(allowed, happened);
        const until = happened.slice(0, failedAt ?? happened.length);
        for (const budget of ['preemption', 'infrastructure', 'task'] as const) {
          const count = until.filter((end) => ACCOUNTS[end] === budget).length;
          assert.equal(used[budget], count, 'each was paid once');
          assert.ok(count <= allowed[budget], 'never one retry more');
        }
        if (failedAt === undefined) return;
        failures += 1;
        const last = ACCOUNTS[happened[failedAt] as keyof typeof ACCOUNTS];
        assert.equal(by, last);
        assert.equal(used[last], allowed[last], 'never one retry less');
      }),
      { numRuns: 500 },
    );
    assert.ok(failures > 50, `${failures} jobs failed`);
  });
});
