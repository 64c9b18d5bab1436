import assert from 'node:assert/strict';
import { resolveJob } from '../../domain/job-file/resolve.js';
import { parseJobFile } from '../../domain/job-file/parse.js';
import { jobDocuments, orderOf, outsideOf, withIds } from '../../domain/job-file/documents.js';

const job = (name: string, more = ''): string => `name: ${name}\n${more}tpu: {accelerator: v5litepod-1}\n`;

describe('a job file of several jobs', () => {
  const COUNTS: readonly [string, string, number][] = [
    ['one without a mark', job('a'), 1],
    ['one behind a mark', `---\n${job('a')}`, 1],
    ['one behind comments', `# a job\n---\n${job('a')}`, 1],
    ['one, and an empty one', `${job('a')}---\n# nothing\n`, 1],
    ['two', `${job('a')}---\n${job('b')}`, 2],
    [
      'three, with comments at the marks and Windows ends of lines',
      `---\r\nname: a\r\n--- # b\r\nname: b\r\n---\r\nname: c\r\n`,
      3,
    ],
    ['one with a mark in a text', `name: a\ncommand:\n  run: |\n    ---\n    echo x\n`, 1],
    ['one behind a directive of YAML', `%YAML 1.2\n---\n${job('a')}`, 1],
    ['none but comments', '# one\n---\n# two\n---\n', 1],
    ['one with a longer rule', `name: a\n----: b\n`, 1],
  ];
  for (const [what, text, count] of COUNTS)
    it(`${what}: ${count}`, () => assert.equal(jobDocuments(text, 'job.yaml').length, count));

  it('keeps the line of everything', () => {
    const text = `# two\n${job('a')}---\n${job('b')}`;
    const [, second = ''] = jobDocuments(text, 'job.yaml');
    assert.equal(second.split('\n').indexOf('name: b'), text.split('\n').indexOf('name: b'));
  });

  /** As the command line reads it. */
  const named = (name: string, after: unknown = null, more: object = {}) => {
    const machines = { accelerator: 'v5litepod-1', zone: 'us-central1-a' };
    const file = { name, tpu: machines, command: { run: 'true' }, after, ...more };
    const read = resolveJob(file, { mayBeArray: true });
    assert.ok(read.ok);
    return read;
  };

  it('is read with Windows ends of lines as with others', () => {
    const text = `${job('a')}---\n${job('b')}`;
    const [one, other] = [text, text.replaceAll('\n', '\r\n')].map((each) =>
      jobDocuments(each, 'job.yaml').map((document) => {
        const read = parseJobFile(document.replace(/(\r?\n)$/, "$1command: {run: 'true'}$1"), {
          file: 'job.yaml',
          env: {},
        });
        return read.ok ? read.raw : read.problems;
      }),
    );
    assert.equal(one?.length, 2);
    assert.deepEqual(one, other);
  });

  it('names what is outside of it, and the name that may be meant', () => {
    assert.deepEqual(outsideOf([named('prep'), named('train', ['perp', 'prep', 'other-7f3k'])]), [
      { id: 'perp', document: 1, meant: 'prep' },
      { id: 'other-7f3k', document: 1 },
    ]);
  });

  it('is not made of manifests of Kubernetes, which their reader knows', () => {
    const manifest = 'apiVersion: v1\nkind: Pod\nspec: {containers: [{image: x}]}\n';
    assert.equal(jobDocuments(`${manifest}---\n${manifest}`, 'pods.yaml').length, 1);
  });

  const orderText = (...jobs: Parameters<typeof orderOf>[0]): string => {
    const found = orderOf(jobs);
    return found.ok
      ? found.order.join(' ')
      : found.problems.map(({ document, message }) => `${document}: ${message}`).join('; ');
  };
  const ORDERS: readonly [string, Parameters<typeof orderOf>[0], string][] = [
    ['as they stand', [named('a'), named('b')], '0 1'],
    ['each behind those that it waits for', [named('c', ['b', 'a']), named('b', { any: 'a' }), named('a')], '2 1 0'],
    [
      'an array behind what it waits for',
      [named('sum', 'exp'), named('exp', 'prep', { array: { matrix: { i: '1..3' } } }), named('prep')],
      '2 1 0',
    ],
    ['ids of other jobs are no part of it', [named('a', 'elsewhere-7f3k')], '0'],
    ['a circle of one', [named('a', 'a')], '0: waits for itself: a waits for a'],
    [
      'a circle behind another job',
      [named('x', 'a'), named('a', 'b'), named('b', { not_ok: 'a' })],
      '1: waits for itself: a waits for b waits for a',
    ],
    ['two of one name', [named('a'), named('a')], "1: 'a' is the name of another job of this file too"],
    ['one without a name', [named('a'), { raw: {}, spec: {} }], '1: is missing: each job of a file of several has one'],
  ];
  for (const [what, jobs, expected] of ORDERS) it(what, () => assert.equal(orderText(...jobs), expected));

  it('gets ids in the place of names, in each form of after', () => {
    const ids = new Map([['a', 'a-7f3k']]);
    const FORMS: readonly [unknown, unknown][] = [
      ['a', 'a-7f3k'],
      [
        ['a', 'b'],
        ['a-7f3k', 'b'],
      ],
      [
        { ok: 'a', any: ['b', 'a'] },
        { ok: 'a-7f3k', any: ['b', 'a-7f3k'] },
      ],
    ];
    for (const [after, expected] of FORMS)
      assert.deepEqual(withIds({ name: 'x', after }, ids), { name: 'x', after: expected });
    assert.deepEqual(withIds({ name: 'x' }, ids), { name: 'x' });
  });
});
