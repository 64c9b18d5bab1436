import assert from 'node:assert/strict';
import {
  cameBack,
  challengeOf,
  claimsOf,
  isBetter,
  isLoginPath,
  ownAddress,
  type PendingLogin,
} from '../../ui/login-answer.js';

const PENDING: PendingLogin = {
  ...{ issuer: 'https://login.example', name: 'company', state: 'own-state', nonce: 'n', verifier: 'v' },
  ...{ to: '/ui/jobs/a', isForOthers: false },
};
const token = (claims: object): string => `h.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.s`;

describe('what comes back of a login at an issuer', () => {
  it('has a code, and the issuer by its own word', () => {
    const { code, iss } = cameBack('/ui/login', '?code=c&state=own-state&iss=https%3A%2F%2Flogin.example', PENDING);
    assert.deepEqual([code, iss], ['c', 'https://login.example']);
    assert.equal(cameBack('/ui/login/company', '?code=c&state=own-state', PENDING).iss, undefined);
  });

  const notOurs = /belongs to no login of this tab/;
  const cases: Readonly<Record<string, readonly [path: string, search: string, PendingLogin | undefined, RegExp]>> = {
    'a forged state': ['/ui/login', '?code=c&state=forged', PENDING, notOurs],
    'no state': ['/ui/login', '?code=c', PENDING, notOurs],
    'the answer to another tab, or to a link of somebody else': [
      '/ui/login',
      '?code=c&state=own-state',
      undefined,
      notOurs,
    ],
    'the answer of another issuer': ['/ui/login/partner', '?code=c&state=own-state', PENDING, notOurs],
    'words of whoever made the address': [
      '/ui/login',
      '?error=call&error_description=0900-123&state=x',
      PENDING,
      notOurs,
    ],
    'a person who refused': [
      '/ui/login',
      '?error=access_denied&state=own-state',
      PENDING,
      /gave no login: it was refused there$/,
    ],
    'a failure of the issuer': [
      '/ui/login',
      '?error=server_error&error_description=try%20later&state=own-state',
      PENDING,
      /^https:\/\/login\.example gave no login: server_error \(try later\)$/,
    ],
    'no code': ['/ui/login', '?state=own-state', PENDING, /sent no code/],
  };
  for (const [name, [path, search, pending, words]] of Object.entries(cases))
    it(`is refused: ${name}`, () =>
      assert.throws(
        () => cameBack(path, search, pending),
        ({ message }: Error) => {
          assert.match(message, words);
          assert.equal(message.includes('0900'), false);
          return true;
        },
      ));

  it('leads to an address within the page, and to no other', () => {
    const at = (text: string): string => ownAddress(text, 'https://jobctl.example');
    assert.equal(at('/ui/jobs/a?tab=log'), '/ui/jobs/a?tab=log');
    for (const other of [
      ...['https://evil.example/ui/', '//evil.example/ui/', '/\\evil.example/ui/', '/ui/../v1/jobs', '/docs'],
      ...['javascript:alert(1)', 'ui/jobs', '', '/ui/login?for=x', '/ui/login/company', '/\t/evil.example/ui/'],
    ])
      assert.equal(at(other), '/ui/', other);
    assert.deepEqual(['/ui/login', '/ui/login/a', '/ui/logins'].map(isLoginPath), [true, true, false]);
  });

  it('has the challenge of RFC 7636, appendix B', async () => {
    assert.equal(
      await challengeOf('dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk'),
      'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
    );
  });
});

describe('the token of another tab', () => {
  const [ann, later] = [token({ iss: 'i', sub: 'ann', exp: 10 }), token({ iss: 'i', sub: 'ann', exp: 20 })];
  it('is taken by a tab without one, and by one of the same person whose own ends before', () => {
    assert.equal(isBetter(ann, undefined), true);
    assert.deepEqual([isBetter(later, ann), isBetter(ann, later)], [true, false]);
    assert.equal(isBetter(token({ iss: 'i', sub: 'bob', exp: 99 }), ann), false);
    assert.equal(isBetter(token({ iss: 'j', sub: 'ann', exp: 99 }), ann), false);
    assert.equal(isBetter('ui.random.', 'ui.other.'), false);
  });

  it('says whose it is, whatever letters the name has, or nothing', () => {
    assert.deepEqual(claimsOf(token({ iss: 'i', sub: 'ä?~', exp: 1 })).endsAt, 1_000);
    for (const text of ['', 'ui.random.', 'a.b', 'a.e30.c']) assert.deepEqual(claimsOf(text), {}, text);
  });
});
