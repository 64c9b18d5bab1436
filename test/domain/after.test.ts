import assert from 'node:assert/strict';
import { toldText } from '../../domain/job-events/kinds.js';
import { afterDue, awaitedText, idsAfter, isAwaitedText, MOST_AFTER, type PastState } from '../../domain/after.js';
import { checkEdit } from '../../domain/job-file/edit.js';
import { parseJobFile } from '../../domain/job-file/parse.js';
import { resolveJob } from '../../domain/job-file/resolve.js';
import { formatProblems } from '../../domain/problem.js';

const FILE = {
  name: 'train',
  tpu: { accelerator: 'v5litepod-1', zone: 'us-central1-a' },
  command: { run: 'true' },
};
const resolved = (after: unknown, more: object = {}) => resolveJob({ ...FILE, after, ...more }, { mayBeArray: true });
const problemsOf = (after: unknown): string => {
  const job = resolved(after);
  return job.ok ? '' : formatProblems(job.problems);
};

describe('after', () => {
  const GOOD: readonly [unknown, object][] = [
    ['prep', { ok: ['prep'] }],
    [['prep', 'data-7f3k'], { ok: ['prep', 'data-7f3k'] }],
    [
      { ok: 'a', any: ['b', 'c'], not_ok: 'd' },
      { ok: ['a'], any: ['b', 'c'], notOk: ['d'] },
    ],
    [{ ok: null, any: 'b' }, { any: ['b'] }],
  ];
  for (const [written, spec] of GOOD)
    it(`${JSON.stringify(written)} is ${JSON.stringify(spec)}`, () => {
      const job = resolved(written);
      assert.ok(job.ok);
      assert.deepEqual(job.spec.after, spec);
    });
  it('null is a job that waits for nobody', () => {
    const job = resolved(null);
    assert.ok(job.ok);
    assert.equal(job.spec.after, undefined);
  });

  for (const [written, want] of [
    ['after: a', { ok: ['a'], any: ['b'] }],
    ['after: [a, c]', { ok: ['a', 'c'], any: ['b'] }],
    ['after: {ok: a}', { ok: ['a'], any: ['b'] }],
    ['', { any: ['b'] }],
  ] as const)
    it(`--set after.any=b adds to ${written || 'none'}`, () => {
      const text = `name: x\ntpu: {accelerator: v5litepod-1, zone: us-central1-a}\ncommand: {run: x}\n${written}\n`;
      const parsed = parseJobFile(text, { file: 'a.yaml', env: {}, set: ['after.any=b'] });
      assert.ok(parsed.ok, parsed.ok ? '' : formatProblems(parsed.problems));
      assert.deepEqual(parsed.spec.after, want);
    });

  const BAD: readonly [unknown, RegExp][] = [
    ['Prep_1', /^after: 'Prep_1' is the id of no job or group\n/],
    ['group/exp', /is the id of no job or group/],
    ['${array.x}', /array/],
    [{ ok: ['a', 'A'] }, /^after\.ok\[1\]: 'A' is the id of no job/],
    [{ ok: ['a'], any: 'a' }, /^after\.any: names 'a', as after\.ok does/],
    [['a', 'b', 'a'], /^after\[2\]: names 'a', as after does/],
    [[], /^after: \[\] is empty/],
    [{}, /^after: \{\} is empty/],
    [{ ok: [] }, /is empty/],
    [3, /^after: 3 is not an id, a list of ids, or a section/],
    [{ nok: 'a' }, /^after\.nok: no such key in after\n {2}did you mean ok\?\n {2}known here: ok, any, not_ok$/],
    [Array.from({ length: MOST_AFTER + 1 }, (_, index) => `a${index}`), /^after: names 101 jobs\n {2}100 are the most/],
  ];
  for (const [written, message] of BAD)
    it(`${JSON.stringify(written).slice(0, 60)} is refused`, () => assert.match(problemsOf(written), message));

  it('of an array is the group’s: its members have none, and a wrong one is refused', () => {
    const array = { matrix: { seed: '1..3' } };
    const job = resolved('prep', { array });
    assert.ok(job.ok);
    assert.deepEqual([job.array?.after, job.spec.after], [{ ok: ['prep'] }, undefined]);
    const wrong = resolved('Prep', { array });
    assert.match(wrong.ok ? '' : formatProblems(wrong.problems), /after: 'Prep' is the id of no job/);
  });

  const ENDS: readonly PastState[] = [
    'succeeded',
    'failed',
    'cancelled',
    'terminated',
    'refused',
    'unbegun',
    'missing',
  ];
  /** Ends with which the job goes on, by condition. */
  const GOES_ON: Readonly<Record<string, readonly PastState[]>> = {
    ok: ['succeeded'],
    any: ENDS.filter((end) => end !== 'missing'),
    notOk: ENDS.filter((end) => end !== 'missing' && end !== 'succeeded'),
  };
  for (const [condition, ends] of Object.entries(GOES_ON))
    for (const end of ENDS)
      it(`${condition}: one that is ${end} lets the job ${ends.includes(end) ? 'begin' : 'end'}, and one that is open lets it wait`, () => {
        const due = (states: readonly (readonly [string, PastState])[]) =>
          afterDue({ [condition]: ['a', 'b'] }, new Map(states)).do;
        const isGood = ends.includes(end);
        assert.equal(
          due([
            ['a', end],
            ['b', end],
          ]),
          isGood ? 'go' : 'give up',
        );
        // The other one makes no difference any more.
        assert.equal(
          due([
            ['a', end],
            ['b', 'open'],
          ]),
          isGood ? 'wait' : 'give up',
        );
        assert.equal(due([['b', end]]), isGood ? 'wait' : 'give up');
      });

  it('says of a group that none of its members began, and not that somebody cancelled it', () => {
    const due = afterDue({ ok: ['gf'] }, new Map([['gf', 'unbegun' as const]]));
    assert.deepEqual(due, {
      do: 'give up',
      why: 'gf never began, and it was to run only if that succeeded (after.ok)',
    });
  });

  it('says what is still awaited, a few by name', () => {
    const spec = { ok: ['a', 'b', 'c', 'd', 'e', 'f', 'g'], notOk: ['x', 'y'] };
    assert.equal(
      awaitedText(spec, new Set(idsAfter(spec))),
      'a, b, c, d, e and 2 more to succeed; x, y to end, each without success',
    );
    assert.equal(awaitedText(spec, new Set(['y'])), 'y to end without success');
    for (const open of [['a'], ['a', 'x'], ['x', 'y'], ['y']])
      assert.ok(
        isAwaitedText(toldText({ kind: 'awaiting-others', facts: { awaited: awaitedText(spec, new Set(open)) } })),
      );
    assert.ok(isAwaitedText('waits for b to end'));
    assert.ok(!isAwaitedText(toldText({ kind: 'queued', facts: { project: 'succeed' } })));
  });

  it('cannot be changed in an open job, only taken away: an edit could make two jobs wait for each other', () => {
    const job = { ...FILE, after: 'prep' };
    const present = resolveJob(job);
    assert.ok(present.ok);
    const edited = (file: unknown) => checkEdit({ id: 'train-1', job, spec: present.spec }, { job: file });
    for (const after of ['other', { any: 'prep' }, ['prep', 'other']]) {
      const checked = edited({ ...job, after });
      assert.match(checked.ok ? '' : checked.message, /^after: .*cannot be changed/);
    }
    for (const after of ['prep', ['prep'], { ok: 'prep' }, null]) assert.ok(edited({ ...job, after }).ok);
    const free = resolveJob(FILE);
    assert.ok(free.ok);
    assert.ok(!checkEdit({ id: 'train-1', job: FILE, spec: free.spec }, { job }).ok, 'nor added');
  });
});
