import assert from 'node:assert/strict';
import fc from 'fast-check';
import { Pseudonyms } from '../../client/export/pseudonyms.js';

describe('pseudonyms of an export', () => {
  const SMALL = /^(?:\d{1,4}(?:ms|s|m|h|d|mb|gb|mib|gib|mi|gi|ti|ki)|jobctl|sha256)$/;
  const token = fc
    .stringMatching(/^[a-z0-9]{4,20}$/)
    .filter((word) => !SMALL.test(word) && /[a-z]{4}|\d{4}/.test(word));

  it('keep nothing of a word but its form', () => {
    fc.assert(
      fc.property(token, (word) => {
        const mask = new Pseudonyms().user(word);
        assert.notEqual(mask, word);
        assert.equal(mask.replace(/[a-z]/g, 'a').replace(/\d/g, '0'), word.replace(/[a-z]/g, 'a').replace(/\d/g, '0'));
      }),
    );
  });

  it('are equal for equal words, in names that are made of them too, and differ for others', () => {
    fc.assert(
      fc.property(token, token, (one, other) => {
        const names = new Pseudonyms();
        assert.equal(names.id(`slice/jc-${one}-g1`), `slice/jc-${names.user(one)}-g1`);
        if (one !== other) assert.notEqual(names.user(one), names.user(other));
      }),
    );
  });

  const cases: Record<string, [text: string, want: RegExp]> = {
    "Google's texts stay": [
      'There is no more capacity in the zone "us-central1-a"; you can try in another zone',
      /^There is no more capacity in the zone "us-central1-a"; you can try in another zone$/,
    ],
    'times, counts and types stay': [
      'v5litepod-16 at 2026-11-22 07:14:20 UTC, 4 hosts',
      /^v5litepod-16 at 2026-11-22 07:14:20 UTC, 4 hosts$/,
    ],
    'addresses go': ['host 0 at 34.91.17.3', /^host 0 at 10\.0\.0\.1$/],
    'signatures go': [
      'https://storage.googleapis.com/acmebucket?X-Goog-Signature=a81bc81bdeadbeef',
      /^(?!.*(acmebucket|a81bc81b))/,
    ],
    'of many lines the first is kept': ['setup failed\nTraceback: hunter2', /^setup failed\nredacted 1$/],
    'a UUID that is no run id goes': ['01a20653-b10b-7544-b421-ff44b83f0ac8', /^(?!01a20653)/],
  };
  for (const [name, [text, want]] of Object.entries(cases))
    it(name, () => assert.match(new Pseudonyms().said(text), want));

  it("a user's word is masked in sentences too, whatever else it says", () => {
    const names = new Pseudonyms();
    assert.equal(names.said('no capacity in the zone'), 'no capacity in the zone');
    const mask = names.user('capacity');
    assert.equal(names.said('no capacity in the zone'), `no ${mask} in the zone`);
  });

  it('paths keep the nouns of Google between their names, and no name that is spelt like one', () => {
    const names = new Pseudonyms();
    assert.match(
      names.user('projects/secretive/zones/us-east5-b/disks/zones'),
      /^projects\/(?!secretive)[a-z]{9}\/zones\/us-east5-b\/disks\/(?!zones)[a-z]{5}$/,
    );
    assert.match(names.user('gs://ledger/projects'), /^gs:\/\/[a-z]{6}\/[a-z]{8}$/);
  });

  it("Temporal's run ids stay: workflow code draws from them", () => {
    const id = '01a20653-b10b-7544-b421-ff44b83f0ac8';
    const names = new Pseudonyms();
    names.keepRunId(id);
    assert.equal(names.said(`run ${id}`), `run ${id}`);
  });
});
