import assert from 'node:assert/strict';
import { memberFile } from '../../domain/array/members.js';
import { readArray } from '../../domain/array/array.js';
import { entriesAt, inputVariable, type InputsSpec } from '../../domain/inputs.js';
import { orderOf, withIds } from '../../domain/job-file/documents.js';
import { checkEdit } from '../../domain/job-file/edit.js';
import { resolveJob } from '../../domain/job-file/resolve.js';
import { formatProblems } from '../../domain/problem.js';
import type { OutputEntry } from '../../domain/stored-outputs.js';

const FILE = {
  name: 'train',
  tpu: { accelerator: 'v5litepod-1', zone: 'us-central1-a' },
  command: { run: 'true' },
};
const resolved = (inputs: unknown, more: object = {}) => resolveJob({ ...FILE, inputs, ...more }, { mayBeArray: true });
const specOf = (inputs: unknown, more: object = {}) => {
  const job = resolved(inputs, more);
  assert.ok(job.ok, job.ok ? '' : formatProblems(job.problems));
  return job.spec;
};

describe('inputs', () => {
  const GOOD: readonly [unknown, InputsSpec | undefined][] = [
    [{ data: 'prep' }, { data: { job: 'prep' } }],
    [{ data: { job: 'prep', path: './tokens/' } }, { data: { job: 'prep', path: 'tokens' } }],
    [
      { data: { job: 'prep', hosts: 'all', wait: false } },
      { data: { job: 'prep', isOfAllHosts: true, isThere: true } },
    ],
    [{ data: { job: 'prep', path: null, hosts: 'first', wait: true } }, { data: { job: 'prep' } }],
    [{}, undefined],
    [null, undefined],
  ];
  for (const [written, spec] of GOOD)
    it(`${JSON.stringify(written)} is ${JSON.stringify(spec)}`, () => assert.deepEqual(specOf(written).inputs, spec));

  const BAD: readonly [unknown, RegExp][] = [
    [{ data: 'Prep_1' }, /^inputs\.data: 'Prep_1' is the id of no job or group\n/],
    [{ data: { job: 'prep', path: '../x' } }, /^inputs\.data\.path: '\.\.\/x' is a path inside/],
    [{ data: { job: 'prep', path: '/etc' } }, /inside of the outputs|a path/],
    [{ data: { job: 'prep', path: 'a/../../b' } }, /inputs\.data\.path/],
    [{ data: { job: 'prep', path: '' } }, /inputs\.data\.path/],
    [{ 'a b': 'prep' }, /'a b' is no name of an input/],
    [{ 'a-b': 'prep', a_b: 'prep' }, /has the variable JOBCTL_INPUT_A_B, as a-b does/],
    [{ data: { jobb: 'prep' } }, /inputs\.data/],
    [{ data: 3 }, /inputs\.data/],
    [{ data: { path: 'x' } }, /inputs\.data\.job: is missing/],
    [['prep'], /inputs/],
    [Object.fromEntries(Array.from({ length: 21 }, (_, index) => [`i${index}`, 'prep'])), /has 21 inputs/],
  ];
  for (const [written, problem] of BAD)
    it(`${JSON.stringify(written).slice(0, 60)} is refused`, () => {
      const job = resolved(written);
      assert.match(job.ok ? 'it is taken' : formatProblems(job.problems), problem);
    });

  it('of a job without a command are refused', () => {
    const job = resolveJob({ ...FILE, command: undefined, setup: null, inputs: { data: 'prep' } });
    assert.match(job.ok ? '' : formatProblems(job.problems), /inputs: is for a command, and this job has none/);
  });

  it('are waited for, unless the file has another condition, or says that they are there', () => {
    const inputs = { a: 'prep', b: { job: 'prep' }, c: 'other', d: { job: 'old', wait: false } };
    assert.deepEqual(specOf(inputs).after, { ok: ['prep', 'other'] });
    assert.deepEqual(specOf(inputs, { after: { any: 'prep', ok: 'x' } }).after, { any: ['prep'], ok: ['x', 'other'] });
    assert.equal(specOf({ d: { job: 'old', wait: false } }).after, undefined);
  });

  it('of an array are waited for by its group, and not by each member, and are the same for all', () => {
    const array = { matrix: { i: '1..3' } };
    const job = { ...FILE, inputs: { data: { job: 'prep', path: 'part-${array.i}' } }, array };
    const read = readArray(job);
    assert.ok(read.ok);
    assert.deepEqual(read.array.after, { ok: ['prep'] });
    const member = memberFile(job, read.array, 1);
    assert.ok(member.ok);
    const spec = resolveJob(member.file);
    assert.ok(spec.ok, spec.ok ? '' : formatProblems(spec.problems));
    assert.equal(spec.spec.after, undefined);
    assert.deepEqual(spec.spec.inputs, { data: { job: 'prep', path: 'part-2', isThere: true } });
    // Rights are looked at for the group.
    const other = readArray({ ...job, inputs: { data: { job: 'part-${array.i}', wait: false } } });
    assert.match(other.ok ? '' : formatProblems(other.problems), /all members of an array have the same inputs/);
  });

  it('order the jobs of one file, and get their ids; circles and jobs that store nothing are refused', () => {
    const doc = (name: string, inputs: unknown, more: object = {}) => {
      const raw = { ...FILE, name, inputs, ...more };
      return { raw, spec: specOf(inputs, { name, ...more }) };
    };
    const jobs = [doc('train', { data: 'prep', more: { job: 'prep', path: 'x' } }), doc('prep', undefined)];
    assert.deepEqual(orderOf(jobs), { ok: true, order: [1, 0] });
    const linked = withIds(jobs[0]?.raw, new Map([['prep', 'prep-7f3k']])) as { inputs: unknown };
    assert.deepEqual(linked.inputs, { data: { job: 'prep-7f3k' }, more: { job: 'prep-7f3k', path: 'x' } });
    const circle = orderOf([doc('train', { data: 'prep' }), doc('prep', { data: 'train' })]);
    assert.match(circle.ok ? '' : formatProblems(circle.problems), /waits for itself/);
    const empty = orderOf([doc('train', { data: 'prep' }), { raw: { name: 'prep' }, spec: {} }]);
    assert.match(empty.ok ? '' : formatProblems(empty.problems), /prep has no command, so it stores no outputs/);
  });

  it('cannot be changed in an open job', () => {
    const job = { ...FILE, inputs: { data: 'prep' } };
    const edit = checkEdit(
      { id: 'train-1', job, spec: specOf(job.inputs) },
      { set: [{ path: ['inputs', 'data'], value: 'secret' }] },
    );
    assert.equal(edit.ok, false);
  });

  it('have a variable each', () => assert.equal(inputVariable('eval-set_2'), 'JOBCTL_INPUT_EVAL_SET_2'));
});

describe('the files of an input', () => {
  const file = (path: string, more: object = {}): OutputEntry => ({
    ...{ kind: 'file', path, sha256: 'a'.repeat(64), size: 1, modifiedAt: 0, mode: 0o644 },
    ...more,
  });
  const link = (path: string, target: string): OutputEntry => ({ kind: 'link', path, target });
  const entries = [
    file('tokens/a'),
    file('tokens/b/c', { isInOutputDir: true }),
    file('tokens2'),
    file('caf\u00c3\u00a9/x'),
    link('tokens/b/up', '../a'),
    link('tokens/out', '../tokens2'),
    { kind: 'folder', path: 'tokens/empty' } as const,
  ];
  const pathsAt = (path?: string): readonly string[] => entriesAt(entries, path).map((entry) => entry.path);

  it('are all without a path, at one place', () => {
    assert.deepEqual(
      pathsAt(),
      entries.map(({ path }) => path),
    );
    assert.ok(entriesAt(entries, undefined).every((entry) => entry.isInOutputDir === undefined));
  });
  it('lie at the top for a folder, without links that lead out of it', () =>
    assert.deepEqual(pathsAt('tokens'), ['a', 'b/c', 'b/up', 'empty']));
  it('are one file by its name', () => assert.deepEqual(pathsAt('tokens/b/c'), ['c']));
  it('have names of any letters', () => assert.deepEqual(pathsAt('café'), ['x']));
  it('are none at another path', () => assert.deepEqual(pathsAt('token'), []));
});
