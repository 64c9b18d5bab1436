import assert from 'node:assert/strict';
import { ApplicationFailure } from '@temporalio/common';
import { asFailure } from '../../activities/failures.js';
import { parseJobFile, parseJobFlags } from '../../domain/job-file/parse.js';
import { resolveJob } from '../../domain/job-file/resolve.js';
import { formatProblems } from '../../domain/problem.js';
import { shellQuote } from '../../domain/shell-quote.js';
import { endFact } from '../../workflows/job/attempt-record.js';

const TPU = 'tpu: {accelerator: v5litepod-16, zone: us-central1-a}\n';

/** Lines of a job file, the place that is named, and the key. */
const PLACES: readonly (readonly [string, string])[] = [
  [String.raw`env: {A: "x\0y"}`, '2:10: A'],
  [String.raw`env: {"A\0": x}`, '2:7: A\\u0000'],
  [String.raw`command: {run: "x\0y"}`, '2:16: run'],
  [String.raw`command: {run: x, workers: ["0\0"]}`, '2:29: workers[0]'],
  [String.raw`hooks: {finally: "x\0y"}`, '2:18: finally'],
  [String.raw`hooks: {preemption: {run: "x\0y"}}`, '2:27: run'],
  [String.raw`script: {run: "x\0y"}`, '2:15: run'],
  [String.raw`name: "x\0y"`, '2:7: name'],
  [String.raw`user: "x\0y"`, '2:7: user'],
  [String.raw`job: {remote_user: "x\0y"}`, '2:20: remote_user'],
  [String.raw`outputs: ["a\0b"]`, '2:11: outputs[0]'],
  [String.raw`venv: {name: a, pip: ["x\0y"]}`, '2:23: pip[0]'],
  [String.raw`docker: {image: "x\0y"}`, '2:17: image'],
  [String.raw`secrets: {A: "x\0y"}`, '2:14: A'],
  [String.raw`bundle: {dir: "x\0y"}`, '2:15: dir'],
  [String.raw`x-note: "x\0y"`, '2:9: x-note'],
];

describe('a NUL in a job file is refused with its place', () => {
  for (const [line, place] of PLACES)
    it(line, () => {
      const resolved = parseJobFile(`${TPU}${line}\n`, { file: 'train.yaml', env: {} });
      const text = resolved.ok ? '' : formatProblems(resolved.problems);
      assert.ok(text.startsWith(`train.yaml:${place}: `), text);
      assert.match(text, /^[^\n]* holds a NUL character\n {2}no command, variable or file name can; remove the \\0/);
    });

  it('given by --set, beside a file and without one', () => {
    const set = [String.raw`env.B="q\0"`];
    const tree = { tpu: { accelerator: 'v5litepod-16', zone: 'us-central1-a' } };
    for (const resolved of [
      parseJobFile(TPU, { file: 'train.yaml', env: {}, set }),
      parseJobFlags({ file: 'jobctl submit', env: {}, set, tree }),
    ]) {
      const text = resolved.ok ? '' : formatProblems(resolved.problems);
      assert.match(text, /^--set [^\n]*: env\.B: 'q\\u0000' holds a NUL character\n/);
    }
  });

  it('of a service, without a file', () => {
    const resolved = resolveJob({ tpu: {}, env: { A: 'x\0y' } });
    assert.match(resolved.ok ? '' : formatProblems(resolved.problems), /^env\.A: 'x\\u0000y' holds a NUL character\n/);
  });
});

describe('a text that no shell can hold, found by a worker', () => {
  it('ends the job: no retry changes it', () => {
    let failure: unknown;
    try {
      shellQuote('x\0y');
    } catch (error) {
      failure = asFailure(error);
    }
    assert.ok(failure instanceof ApplicationFailure);
    assert.deepEqual([failure.type, failure.nonRetryable], ['InvalidInput', true]);
    const message = failure.message;
    assert.equal(endFact({ kind: 'worker-failed', message, isPermanent: true }, {}), 'module failed');
    assert.equal(endFact({ kind: 'worker-failed', message }, {}), 'worker failed');
  });
});
