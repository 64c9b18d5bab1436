import assert from 'node:assert/strict';
import { Pseudonyms } from '../../client/export/pseudonyms.js';
import { redactValue } from '../../client/export/redact-value.js';
import { type Told, toldText } from '../../domain/job-events/kinds.js';
import { TOLD } from '../domain/told-events.js';

/** Numbers stay numbers, as in the outcome; in a sentence, large ones are masked. */
const withoutLargeNumbers = (text: string): string => text.replace(/\d{4,}/g, 'N');

describe('an export redacts the facts of events like their sentences', () => {
  for (const [told, text] of TOLD)
    it(`${told.kind}: ${text}`, () => {
      const names = new Pseudonyms();
      const redacted = redactValue(told, names) as Told;
      assert.equal(redacted.kind, told.kind);
      assert.deepEqual(Object.keys(redacted.facts), Object.keys(told.facts));
      assert.equal(withoutLargeNumbers(toldText(redacted)), withoutLargeNumbers(names.words(text)));
    });
});
