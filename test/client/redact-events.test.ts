import assert from 'node:assert/strict';
import { Pseudonyms } from '../../client/export/pseudonyms.js';
import { redactValue } from '../../client/export/redact-value.js';
import { type Told, toldText } from '../../domain/job-events/kinds.js';
import { TOLD } from '../domain/told-events.js';

describe('an export keeps the kind, the fields, the numbers and the flags of an event', () => {
  for (const [told, text] of TOLD)
    it(`${told.kind}: ${text}`, () => {
      const redacted = redactValue(told, new Pseudonyms()) as Told;
      assert.equal(redacted.kind, told.kind);
      assert.deepEqual(withoutTexts(redacted.facts), withoutTexts(told.facts));
      assert.equal(toldText(redacted) === '', text === '');
    });
});

function withoutTexts(value: unknown): unknown {
  if (typeof value === 'string') return 'text';
  if (Array.isArray(value)) return value.map(withoutTexts);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, withoutTexts(inner)]));
}
