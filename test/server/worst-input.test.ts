import assert from 'node:assert/strict';
import { z } from 'zod';
import { BUDGETS, PARTS, ROUTES } from './server-routes.js';
import { unbounded, worst } from './schema-walk.js';

describe('the worst that a form lets in', function () {
  this.timeout(240_000);

  it('is told for each route of the server', () => {
    assert.ok(ROUTES.length >= 30, String(ROUTES.length));
  });

  for (const { method, path, schema } of ROUTES)
    it(`${method} ${path}: every field has a most`, () =>
      assert.deepEqual(
        PARTS.flatMap((part) => (schema[part] === undefined ? [] : unbounded(schema[part], part))),
        [],
      ));

  for (const { method, path, schema } of ROUTES)
    for (const characters of BUDGETS)
      it(`${method} ${path}: the form lets in what is made of it, of ${characters} characters`, () => {
        for (const part of PARTS) {
          const form = schema[part];
          const refused = form?.safeParse(worst(form, { characters })).error?.issues.slice(0, 2) ?? [];
          assert.deepEqual(refused, [], part);
        }
      });

  it('a field without a most is seen, wherever it stands', () => {
    const inner = z.object({ list: z.array(z.string().max(3)), any: z.unknown().optional() });
    const planted = z.strictObject({ text: z.string(), few: z.record(z.string().max(2), inner).nullish() });
    assert.deepEqual(unbounded(planted, 'body'), [
      'body.text: text',
      'body.few: keys',
      'body.few{}.list: list',
      'body.few{}.any: any value',
    ]);
    assert.deepEqual(unbounded(z.string().regex(/^[\w.]{1,5}$/)), []);
    assert.deepEqual(unbounded(z.string().regex(/^[\w.]+$/)), [': text']);
  });
});
