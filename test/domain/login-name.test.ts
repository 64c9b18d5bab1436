import assert from 'node:assert/strict';
import { loginNameOf } from '../../domain/identity.js';

const cases: Readonly<Record<string, string>> = {
  alice: 'alice',
  'Alice-2': 'Alice-2',
  'alice.liddell@example.org': 'alice_liddell',
  'BOB@example.org': 'bob',
  '7up@example.org': 'u_7up',
  'a+b@example.org': 'a_b',
};

describe('the login name of a job', () => {
  for (const [user, want] of Object.entries(cases))
    it(`of ${user} is ${want}`, () => assert.equal(loginNameOf(user), want));
  it('has 32 characters at most, whatever the user is', () => {
    assert.equal(loginNameOf(`${'x'.repeat(90)}@e.org`).length, 32);
    assert.match(loginNameOf('@'), /^[a-z_][a-z0-9_-]*$/);
  });
});
