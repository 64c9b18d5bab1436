import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { jobctl } from './command-line.js';

const MACHINES = 'tpu: {accelerator: v5litepod-1, zone: us-central1-a}\n';
const job = (name: string, more = ''): string => `name: ${name}\n${more}${MACHINES}command: {run: 'echo ${name}'}\n`;
const CHAIN = [
  job('report', 'after: sweep\n'),
  job('sweep', 'after: {ok: [prep]}\narray: {matrix: {n: 1..3}}\n'),
  job('prep'),
];

describe('several jobs in one file', function () {
  this.timeout(60_000);
  const folder = mkdtempSync(join(tmpdir(), 'several-'));
  const file = join(folder, 'chain.yaml');
  after(() => rmSync(folder, { recursive: true, force: true }));

  const run = (text: readonly string[], ...words: readonly string[]) => {
    writeFileSync(file, text.join('---\n'));
    const [verb = '', ...more] = words;
    return jobctl([verb, file, ...more], { JOBCTL_HOME: folder, HOME: folder });
  };
  const refused = async (text: readonly string[], ...words: readonly string[]): Promise<string> => {
    const { exitCode: code, stdout, stderr } = await run(text, ...words);
    assert.equal(code, 2, stdout);
    return (stdout + stderr).replaceAll(file, 'FILE');
  };

  it('are each shown by validate, as text and as JSON', async () => {
    const text = await run(CHAIN, 'validate');
    assert.equal(text.exitCode, 0, text.stderr);
    assert.deepEqual(text.stdout.match(/^job \S+$/gm), ['job report', 'job sweep', 'job prep']);
    assert.match(text.stdout, /^ {2}array +3 members$/m);
    const json = await run(CHAIN, 'validate', '--output', 'json');
    const { jobs } = JSON.parse(json.stdout) as {
      readonly jobs: readonly { readonly spec: { readonly name: string } }[];
    };
    assert.deepEqual(
      jobs.map(({ spec }) => spec.name),
      ['report', 'sweep', 'prep'],
    );
  });

  it('are submitted each behind those that it waits for, with the flags of the line', async () => {
    const { exitCode: code, stdout, stderr } = await run(CHAIN, 'submit', '--dry-run', '--priority', '1');
    assert.equal(code, 0, stderr);
    assert.deepEqual(stdout.match(/^(name: .+|priority: .+|---)$/gm), [
      ...['name: prep', 'priority: 1', '---'],
      ...['name: sweep', 'priority: 1', '---'],
      ...['name: report', 'priority: 1'],
    ]);
  });

  it('are refused with the problems of all, at their lines', async () => {
    const wrong = [job('a').replace('v5litepod-1', 'v5litepod-9'), job('b', 'prioriy: 1\n')];
    for (const verb of ['validate', 'submit']) {
      const said = await refused(wrong, verb);
      assert.match(said, /^FILE:2:20: accelerator: 'v5litepod-9' is no Cloud TPU type$/m);
      assert.match(said, /^FILE:6:1: prioriy: no such key in a job file$/m);
    }
  });

  const WRONG: readonly [string, readonly string[], RegExp][] = [
    [
      'that wait for each other',
      [job('a', 'after: b\n'), job('b', 'after: a\n')],
      /^FILE:2:8: after: waits for itself: a waits for b waits for a\n/,
    ],
    ['of one name', [job('a'), job('a')], /^FILE:5:7: name: 'a' is the name of another job of this file too\n/],
    ['without a name', [job('a'), MACHINES], /^FILE:5:1: name: is missing: each job of a file of several has one\n/],
  ];
  for (const [what, text, message] of WRONG)
    it(`${what} are refused`, async () => {
      assert.match(await refused(text, 'submit'), message);
      assert.match(await refused(text, 'validate'), message);
    });

  for (const flag of [['--name', 'x'], ['--wait'], ['--', 'echo']])
    it(`take no ${flag[0]}`, async () =>
      assert.match(
        await refused(CHAIN, 'submit', ...flag),
        new RegExp(`^jobctl submit: ${flag[0]} is for one job, and FILE is 3 jobs\n`),
      ));

  it('are refused by a verb that wants one', async () =>
    assert.match(
      await refused(CHAIN, 'rehearse'),
      /^FILE:5:1: not YAML: more than one document, where one job is wanted \(/,
    ));
});
