import assert from 'node:assert/strict';
import { z } from 'zod';
import { FORMS } from '../../contract/api/forms.js';
import { JOB_REQUESTS, JOB_VERBS } from '../../contract/job-requests.js';
import { type Operation, OPERATIONS } from '../../contract/operations.js';

interface Shape {
  readonly type?: string;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
}

/** A pattern bounds a text if nothing of it may be repeated without end. */
const isShort = (pattern = '*'): boolean => !/[*+]/.test(pattern.replaceAll(/\[[^\]]*\]/g, ''));

/** Places of a form whose text may have any length. */
function unbounded(value: unknown, at: string): readonly string[] {
  if (typeof value !== 'object' || value === null) return [];
  const { type, maxLength, pattern, enum: words, const: word } = value as Shape;
  const isBounded = [maxLength, words, word].some((bound) => bound !== undefined) || isShort(pattern);
  const inside = Object.entries(value).flatMap(([key, each]) => unbounded(each, `${at}.${key}`));
  return type === 'string' && !isBounded ? [at, ...inside] : inside;
}

describe('what a person sends', () => {
  for (const [name, { body }] of Object.entries(OPERATIONS) as [string, Operation][])
    if (body !== undefined)
      it(`${name}: each text of its body has a bound`, () =>
        assert.deepEqual(unbounded(z.toJSONSchema(FORMS[body], { io: 'input' }), body), []));

  for (const verb of JOB_VERBS)
    it(`${verb}: its body may be missing exactly if each key may be`, () => {
      const { body, mayLackBody = false } = JOB_REQUESTS[verb];
      assert.equal(mayLackBody, FORMS[body].safeParse({}).success);
    });

  it('a text without a bound is found', () =>
    assert.deepEqual(unbounded(z.toJSONSchema(z.object({ a: z.array(z.string()) })), 'x'), ['x.properties.a.items']));
});
