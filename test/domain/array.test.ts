import assert from 'node:assert/strict';
import fc from 'fast-check';
import { assignmentAt, type JobArray, memberIndexes, readArray } from '../../domain/array/array.js';
import { memberOf, MOST_CHECKED, sampleOf } from '../../domain/array/members.js';
import { parseJobFile } from '../../domain/job-file/parse.js';
import { resolveJob } from '../../domain/job-file/resolve.js';
import { formatProblems } from '../../domain/problem.js';

const JOB = {
  name: 'exp',
  tpu: { accelerator: 'v5litepod-1', zone: 'us-central1-a' },
  env: { LR: '${array.lr}' },
  command: { run: 'python train.py --seed ${array.seed} --lr ${env.LR}' },
};
const SWEEP = { ...JOB, array: { matrix: { lr: [0.1, 0.01], seed: '1..3' } } };

function arrayOf(array: unknown): JobArray {
  const read = readArray({ ...JOB, array });
  assert.ok(read.ok, read.ok ? '' : formatProblems(read.problems));
  return read.array;
}
const specOf = (job: unknown) => {
  const resolved = resolveJob(job, { mayBeArray: true });
  assert.ok(resolved.ok, resolved.ok ? '' : formatProblems(resolved.problems));
  return resolved;
};
function fileOf(job: unknown, index: number): Record<string, unknown> {
  const member = memberOf(job, index);
  assert.ok(member.ok, member.ok ? '' : formatProblems(member.problems));
  return { ...member.file };
}

describe('the members of an array', () => {
  it('are the combinations of all axes, the last varying fastest', () => {
    const array = arrayOf(SWEEP.array);
    assert.deepEqual(
      memberIndexes(array).map((index) => assignmentAt(array, index)),
      [...[1, 2, 3].map((seed) => ({ lr: 0.1, seed })), ...[1, 2, 3].map((seed) => ({ lr: 0.01, seed }))],
    );
  });

  it('keep their index when others are excluded', () => {
    const array = arrayOf({ ...SWEEP.array, exclude: [{ lr: 0.1, seed: 2 }, { seed: 3 }] });
    assert.deepEqual(memberIndexes(array), [0, 3, 4]);
    assert.deepEqual(assignmentAt(array, 4), { lr: 0.01, seed: 2 });
  });

  it('have a file of their own: values keep their type, texts take them in, variables name them', () => {
    const job = { ...SWEEP, slices: '${array.seed}', grace: '${array.index}' };
    const file = fileOf(job, 4);
    assert.equal('array' in file, false);
    assert.equal(file['slices'], 2);
    assert.equal(file['grace'], 4);
    assert.deepEqual(file['env'], {
      ...{ LR: 0.01, JOBCTL_ARRAY_INDEX: '4', JOBCTL_ARRAY_COUNT: '6' },
      ...{ JOBCTL_ARRAY_LR: '0.01', JOBCTL_ARRAY_SEED: '2' },
    });
    const spec = specOf(file).spec;
    assert.equal(spec.command?.run, 'python train.py --seed 2 --lr 0.01');
    assert.equal(spec.env['JOBCTL_ARRAY_SEED'], '2');
  });

  it('leave references of other programs and of the shell alone', () => {
    const run = 'echo ${X} $${array.lr} \\${array.lr} ${array}';
    for (const text of ['$${array.lr', '\\${array.', '{array.lr', 'an array.', '${array[0]'])
      assert.ok(resolveJob({ ...SWEEP, command: { run: text } }, { mayBeArray: true }).ok, text);
    const file = fileOf({ ...SWEEP, command: { run } }, 0);
    assert.deepEqual(file['command'], { run });
    assert.equal(specOf(file).spec.command?.run, 'echo ${X} ${array.lr} \\${array.lr} ${array}');
  });

  it('may have parameters from the environment of whoever submits', () => {
    const text = `name: exp\ntpu: {accelerator: v5litepod-1, zone: us-central1-a}\ncommand: {run: "a \${array.x}"}\narray: {matrix: {x: ["\${oc.env:HERE}"]}}\n`;
    const parsed = parseJobFile(text, { file: 'a.yaml', env: { HERE: 'there' }, mayBeArray: true });
    assert.ok(parsed.ok, parsed.ok ? '' : formatProblems(parsed.problems));
    assert.equal(parsed.spec.command?.run, 'a there');
    assert.equal(parsed.array?.size, 1);
    assert.deepEqual(fileOf(parsed.raw, 0)['command'], { run: 'a there' });
  });

  const axis = fc.oneof(
    fc.uniqueArray(fc.oneof(fc.integer({ min: -9, max: 9 }), fc.string({ maxLength: 3 }), fc.boolean()), {
      minLength: 1,
      maxLength: 5,
    }),
    fc.tuple(fc.integer({ min: -5, max: 5 }), fc.nat(4)).map(([from, more]) => `${from}..${from + more}`),
  );
  const matrix = fc.dictionary(fc.constantFrom('a', 'b', 'c', 'd'), axis, { minKeys: 1, maxKeys: 4 });

  it('are every assignment exactly once, and the k-th is the k-th of the list', () => {
    let excluded = 0;
    fc.assert(
      fc.property(matrix, fc.array(fc.nat(200), { maxLength: 3 }), fc.nat(), (axes, picks, k) => {
        const whole = arrayOf({ matrix: axes });
        const entries = picks.map((pick) => {
          const values = Object.entries(assignmentAt(whole, pick % whole.size));
          return Object.fromEntries(values.slice(0, 1 + (pick % values.length)));
        });
        const read = readArray({ ...JOB, array: { matrix: axes, exclude: entries } });
        if (!read.ok) return;
        const { array } = read;
        // The slow way: nested loops, then a filter.
        const list = whole.axes.reduce<Record<string, unknown>[]>(
          (before, each) =>
            before.flatMap((values) =>
              ('values' in each
                ? each.values
                : Array.from({ length: each.to - each.from + 1 }, (_, at) => each.from + at)
              ).map((value) => ({ ...values, [each.name]: value })),
            ),
          [{}],
        );
        const isOut = (values: Record<string, unknown>): boolean =>
          entries.some((entry) => Object.entries(entry).every(([name, value]) => values[name] === value));
        const wanted = list.flatMap((values, index) => (isOut(values) ? [] : [index]));
        assert.deepEqual(memberIndexes(array), wanted);
        assert.deepEqual(assignmentAt(array, k % array.size), list[k % array.size]);
        assert.equal(array.size, list.length);
        if (wanted.length < list.length) excluded += 1;
      }),
      { numRuns: 500 },
    );
    assert.ok(excluded > 50, `only ${excluded} arrays with exclusions`);
  });

  it('are checked by a bounded sample that has each value of each short axis', () => {
    const array = arrayOf({ matrix: { lr: [0.1, 0.01, 0.001], seed: '1..3000' } });
    const sample = sampleOf(array);
    assert.ok(sample.length <= MOST_CHECKED && sample.length > 50, String(sample.length));
    assert.deepEqual(new Set(sample.map((index) => assignmentAt(array, index)['lr'])), new Set([0.1, 0.01, 0.001]));
    assert.equal(memberIndexes(array).length, 9_000);
  });
});

describe('an array that is wrong', () => {
  const wrong: Readonly<Record<string, readonly [object, RegExp]>> = {
    'warm without max_parallel': [
      { array: { matrix: { lr: [1] }, warm: true } },
      /array\.warm: needs max_parallel\n {2}name the number of warm slices/,
    ],
    'warm beside keep': [
      { keep: 'always', array: { matrix: { lr: [1] }, max_parallel: 1, warm: true } },
      /array\.warm: does not go with keep, which holds the slices of each member/,
    ],
    'warm beside a wrong max_parallel, once': [
      { array: { matrix: { lr: [1] }, max_parallel: 0, warm: true } },
      /^array\.max_parallel: 0 is not a whole number[^\n]*$/,
    ],
    'warm in a loop': [
      { loop: true, array: { matrix: { lr: [1] }, max_parallel: 1, warm: true } },
      /array\.warm: does not go with loop/,
    ],
    'warm, in words': [
      { array: { matrix: { lr: [1] }, max_parallel: 1, warm: 'slices' } },
      /array\.warm: 'slices' is not true or false/,
    ],
    'warm pods': [
      {
        tpu: undefined,
        kubernetes: { image: 'debian', workers: 1 },
        array: { matrix: { lr: [1] }, max_parallel: 1, warm: true },
      },
      /array\.warm: needs slices that are made for each job/,
    ],
    'no matrix': [{ array: {} }, /array\.matrix: is missing\n {2}name at least one axis/],
    'an empty matrix': [{ array: { matrix: {} } }, /array\.matrix: \{\} is empty/],
    'an axis that JavaScript would lose': [
      { array: { matrix: Object.fromEntries([['__proto__', [1]]]) } },
      /array\.matrix\.__proto__: .*no name of an axis/,
    ],
    'a number that would be rounded': [
      { array: { matrix: { lr: [12_345_678_901_234_567_890n].map(Number) } } },
      /is a list with a number beyond 9007199254740991\n {2}.*quote it/,
    ],
    'a range in a list': [{ array: { matrix: { lr: ['1..3', 7] } } }, /is a list with the range '1\.\.3'/],
    'a range of three': [{ array: { matrix: { lr: ['1..2..3'] } } }, /is a list with the range '1\.\.2\.\.3'/],
    'an empty axis': [{ array: { matrix: { lr: [] } } }, /array\.matrix\.lr: \[\] is an empty axis/],
    '10,001 members': [
      { array: { matrix: { seed: '0..10000' } } },
      /array\.matrix: has more than 10000 combinations \(seed 10001\)/,
    ],
    'more than any number': [
      { array: { matrix: { a: '1..999999999', b: '1..999999999', c: '1..999999999' } } },
      /has more than 10000 combinations/,
    ],
    'a range that runs down': [
      { array: { matrix: { seed: '5..1' } } },
      /'5\.\.1' is an empty range\n {2}write the lower end first: 1\.\.5/,
    ],
    'a text that is no range': [{ array: { matrix: { seed: '1-5' } } }, /'1-5' is neither a list nor a range/],
    'a value twice': [{ array: { matrix: { lr: [1, 2, 1] } } }, /is a list with 1 twice/],
    'an axis that is no name': [{ array: { matrix: { '1x': [1] } } }, /'1x' is no name of an axis/],
    "an axis of jobctl's own": [
      { array: { matrix: { index: [1] } } },
      /'index' is no name of an axis: \$\{array\.index\} is jobctl's own/,
    ],
    'two axes of one variable': [
      { array: { matrix: { lr: [1], LR: [2] } } },
      /array\.matrix\.LR: has the variable JOBCTL_ARRAY_LR, as the axis lr/,
    ],
    'an exclusion of no axis': [
      { array: { matrix: { lr: [1] }, exclude: [{ x: 1 }] } },
      /array\.exclude\[0\]\.x: is no axis of the matrix\n {2}axes: lr/,
    ],
    'an exclusion of no value': [
      { array: { matrix: { lr: [1] }, exclude: [{ lr: 2 }] } },
      /2 is no value of the axis lr/,
    ],
    'an exclusion of all': [
      { array: { matrix: { lr: [1, 2] }, exclude: [{ lr: 1 }, { lr: 2 }] } },
      /excludes every member/,
    ],
    'no room for anybody': [
      { array: { matrix: { lr: [1] }, max_parallel: 0 } },
      /array\.max_parallel: 0 is not a whole number from 1 to 10000/,
    ],
    'a key that is none': [{ array: { matrix: { lr: [1] }, parallel: 2 } }, /array\.parallel: no such key in array/],
    'a reference to no axis': [
      { env: { X: '${array.x}' }, array: { matrix: { lr: [1] } } },
      /env\.X: '\$\{array\.x\}': the array has no axis x.*\n.*known: lr, index, count/,
    ],
    'a reference without its end': [
      { env: { A: 'x ${array.lr --seed' }, array: { matrix: { lr: [1] } } },
      /env\.A: '\$\{array\.lr' is no whole reference\n {2}write \$\{array\.NAME\}; as text .* \$\$\{array\.lr$/,
    ],
    'a reference without a name': [
      { env: { A: '$$${array.}' }, array: { matrix: { lr: [1] } } },
      /'\$\{array\.\}' is no whole/,
    ],
    'a reference in the words of the shell': [
      { env: { A: '${array.lr} ${array.lr:-1}' }, array: { matrix: { lr: [1] } } },
      /'\$\{array\.lr:-1\}' is no whole reference/,
    ],
    'a name that differs': [
      { name: 'exp-${array.lr}', array: { matrix: { lr: [1] } } },
      /name: 'exp-\$\{array\.lr\}' differs from member to member/,
    ],
    'a pool that differs by a way round': [
      { env: { P: '${array.p}' }, pool: '${env.P}', array: { matrix: { p: ['a', 'b'] } } },
      /pool: differs from member to member \(member 1: p=b\)/,
    ],
    'a member that is wrong alone': [
      { slices: '${array.n}', array: { matrix: { n: [1, 0] } } },
      /slices: 0 is not a whole number from 1 to \d+ \(member 1: n=0\)/,
    ],
    'a variable of an array': [
      { env: { JOBCTL_ARRAY_X: 1 }, array: { matrix: { lr: [1] } } },
      /env\.JOBCTL_ARRAY_X: is set by jobctl in a member/,
    ],
  };
  for (const [name, [file, why]] of Object.entries(wrong))
    it(`says so: ${name}`, () => {
      const resolved = resolveJob({ ...JOB, env: {}, command: { run: 'true' }, ...file }, { mayBeArray: true });
      assert.ok(!resolved.ok);
      assert.match(formatProblems(resolved.problems), why);
    });

  it('says a problem of all members once, and names no member', () => {
    const resolved = resolveJob({ ...SWEEP, priority: 9 }, { mayBeArray: true });
    assert.ok(!resolved.ok);
    assert.equal(formatProblems(resolved.problems), 'priority: 9 is not a whole number from 1 to 5');
  });

  it('is refused wherever one job is wanted', () => {
    const resolved = resolveJob(SWEEP);
    assert.ok(!resolved.ok);
    assert.match(formatProblems(resolved.problems), /array: is for a submission: here the file of one job is wanted/);
  });

  const noMember: Readonly<Record<string, readonly [unknown, number]>> = {
    'an index beyond the matrix': [SWEEP, 6],
    'an excluded index': [{ ...SWEEP, array: { ...SWEEP.array, exclude: [{ seed: 1 }] } }, 0],
    'an index that is no whole number': [SWEEP, 0.5],
    'a negative index': [SWEEP, -1],
    'a file without an array': [JOB, 0],
  };
  for (const [name, [job, index]] of Object.entries(noMember))
    it(`has no member: ${name}`, () => assert.equal(memberOf(job, index).ok, false));
});
