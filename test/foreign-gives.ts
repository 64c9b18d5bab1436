import assert from 'node:assert/strict';
import { parseJobFile } from '../domain/job-file/parse.js';
import { assertPrintedIsValid } from './printed-job.js';

/** What a file is called, and what is written instead: a job file in it is one that validate takes. */
export function refusal(text: string, file = 'job.yaml'): string {
  const job = parseJobFile(text, { file, env: {} });
  assert.ok(!job.ok, text);
  const said = job.problems.map(({ message, hint }) => `${message}\n${hint ?? ''}`).join('\n');
  assertPrintedIsValid(said);
  return said;
}

/** Each shape of a file, and texts of what it gives; behind `!` what it must not give. */
export function gives(
  shapes: Readonly<Record<string, readonly string[]>>,
  of: (shape: string) => string = (shape) => shape,
  file = 'job.yaml',
): void {
  for (const [shape, texts] of Object.entries(shapes))
    it(shape.replaceAll('\n', ' ; '), () => {
      const said = refusal(of(shape), file);
      for (const text of texts)
        assert.equal(said.includes(text.replace(/^!/, '')), !text.startsWith('!'), `${text}\n\n${said}`);
    });
}
