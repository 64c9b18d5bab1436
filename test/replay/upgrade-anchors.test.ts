import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { CHANGED } from '../long/upgrade/two-builds.js';
import { placesIn } from './source-copy.js';

/** The upgrade itself is a long test: without this nobody sees for days that a place has moved. */
describe('the change that makes the next build of the upgrade test', () => {
  for (const [file, anchor] of CHANGED)
    it(`has one place in ${file}: ${anchor.source}`, () => {
      const text = readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8');
      assert.equal(placesIn(text, anchor).length, 1);
    });
});
