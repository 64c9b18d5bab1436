import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isOneOf } from '../../domain/access.js';
import { loadServerConfig } from '../../server/config.js';
import { type Caller, TokenVerifier } from '../../server/identity/verifier.js';
import { ApiError } from '../../server/problem.js';
import { type Claims, CLIENT_ID, TestIssuer } from './issuer.js';

/** By the rules of serve.json, of tokens that a real issuer has signed and that are fetched keys verified. */
describe('whom an issuer’s rules let in', () => {
  let issuer: TestIssuer;
  let partner: TestIssuer;
  let folder: string;
  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'verifier-'));
    [issuer, partner] = await Promise.all([TestIssuer.start(), TestIssuer.start()]);
  });
  after(async () => {
    await Promise.all([issuer?.stop(), partner?.stop()]);
    rmSync(folder, { recursive: true, force: true });
  });

  const verifierOf = (...rules: readonly object[]): TokenVerifier => {
    const issuers = rules.map((rule, at) => ({ issuer: [issuer, partner][at]?.url, audiences: [CLIENT_ID], ...rule }));
    const config = {
      store: { bucket: 'jobs', systemBucket: 'jobs-system' },
      googleProject: 'p',
      signingKey: { id: 'k', key: 'env:K' },
      issuers,
    };
    writeFileSync(join(folder, 'serve.json'), JSON.stringify(config));
    return new TokenVerifier(loadServerConfig(join(folder, 'serve.json')).issuers);
  };
  const answer = async (rule: object, claims: Claims): Promise<string> => {
    try {
      const { kind, id, groups } = await verifierOf(rule).verify(await issuer.token(claims));
      return `${kind} ${id}${groups.length === 0 ? '' : ` of ${groups.join(', ')}`}`;
    } catch (error) {
      if (error instanceof ApiError) return `${error.code}: ${error.message}`;
      throw error;
    }
  };

  const alice = { email: 'alice@example.org' };
  const hd = (value: unknown): Pick<Claims, 'more'> => ({ more: { hd: value } });
  const hosted = { hostedDomains: ['example.org', 'example.net'] };
  const mailed = { emailDomains: ['example.org'] };
  const grouped = { allowedGroups: ['tpu-users', 'ops'] };
  const notHosted = (domain: string): string =>
    `forbidden: accounts of domain '${domain}' are not let in; of example.org, example.net they are`;
  const notMailed = (email: string): string => `forbidden: '${email}' is not let in: its domain is none of example.org`;
  const notGrouped = `forbidden: alice@example.org is in none of the groups that are let in: tpu-users, ops`;
  const cases: Readonly<Record<string, readonly [rule: object, claims: Claims, wanted: string]>> = {
    'a hosted domain of the list': [hosted, { ...alice, ...hd('example.net') }, 'user alice@example.org'],
    'another hosted domain': [hosted, { ...alice, ...hd('partner.com') }, notHosted('partner.com')],
    'no hosted domain, as a private account has none': [hosted, alice, notHosted('none')],
    'a hosted domain in other letters': [hosted, { ...alice, ...hd('Example.org') }, notHosted('Example.org')],
    'a list in the place of a hosted domain': [
      { hostedDomains: ['example.org'] },
      { ...alice, ...hd(['example.org']) },
      "forbidden: accounts of domain 'example.org' are not let in; of example.org they are",
    ],
    'a hosted domain of one that is not asked': [{}, { ...alice, ...hd('partner.com') }, 'user alice@example.org'],
    'an address of the domain': [mailed, alice, 'user alice@example.org'],
    'an address of another domain': [mailed, { email: 'eve@partner.com' }, notMailed('eve@partner.com')],
    'an address of a domain below it': [mailed, { email: 'eve@evil.example.org' }, notMailed('eve@evil.example.org')],
    'an address of a domain that ends like it': [mailed, { email: 'e@notexample.org' }, notMailed('e@notexample.org')],
    'two domains in one address': [mailed, { email: 'e@example.org@evil.com' }, notMailed('e@example.org@evil.com')],
    'an @ in what stands before the last one': [mailed, { email: 'a@b@example.org' }, 'user a@b@example.org'],
    'a domain in other letters, who would be another user': [
      mailed,
      { email: 'alice@Example.org' },
      notMailed('alice@Example.org'),
    ],
    'an address that its issuer has not verified': [
      mailed,
      { ...alice, emailVerified: false },
      "unauthenticated: its issuer has not verified the address 'alice@example.org'",
    ],
    'a word in the place of verified': [
      mailed,
      { ...alice, more: { email_verified: 'true' } },
      "unauthenticated: its issuer has not verified the address 'alice@example.org'",
    ],
    'no word on whether it is verified': [
      mailed,
      { ...alice, more: { email_verified: undefined } },
      "unauthenticated: its issuer has not verified the address 'alice@example.org'",
    ],
    'one of the groups': [grouped, { ...alice, groups: ['a', 'ops'] }, 'user alice@example.org of a, ops'],
    'none of the groups': [grouped, { ...alice, groups: ['tpu', 'tpu-users2'] }, notGrouped],
    'a group in other letters': [grouped, { ...alice, groups: ['OPS'] }, notGrouped],
    'no groups at all': [grouped, alice, notGrouped],
    'a text in the place of groups': [grouped, { ...alice, more: { groups: 'ops' } }, notGrouped],
    'groups in another claim': [
      { ...grouped, groupsClaim: 'roles' },
      { ...alice, groups: ['ops'], more: { roles: ['tpu-users'] } },
      'user alice@example.org of tpu-users',
    ],
    'no claim of groups': [
      { groupsClaim: null },
      { ...alice, groups: ['ops'], more: { null: ['ops'] } },
      'user alice@example.org',
    ],
    'a group with a prefix, let in by its own name': [
      { ...grouped, groupPrefix: 'p/' },
      { ...alice, groups: ['ops'] },
      'user alice@example.org of p/ops',
    ],
    'a service account': [{}, { email: 'ci@proj.iam.gserviceaccount.com' }, 'service ci@proj.iam.gserviceaccount.com'],
    'an address that only has one inside': [
      {},
      { email: 'ci@proj.iam.gserviceaccount.com.evil.org' },
      'user ci@proj.iam.gserviceaccount.com.evil.org',
    ],
    'a service by its name': [
      { services: ['launcher@example.org'] },
      { email: 'launcher@example.org' },
      'service launcher@example.org',
    ],
    'somebody who is not named': [{ services: ['launcher@example.org'] }, alice, 'user alice@example.org'],
    'what stands before the @': [{ ...mailed, user: 'email-local-part' }, alice, 'user alice'],
    'what stands before the @ of another domain': [
      { ...mailed, user: 'email-local-part' },
      { email: 'alice@evil.org' },
      notMailed('alice@evil.org'),
    ],
  };
  for (const [name, [rule, claims, wanted]] of Object.entries(cases))
    it(name, async () => assert.equal(await answer(rule, claims), wanted));

  it('a group of a second issuer is none of the first one’s: its word makes no operator', async () => {
    const operators = ['group:tpu-operators'];
    const own = { emailDomains: ['example.org'] };
    const theirs = { emailDomains: ['partner.com'] };
    const eve = await partner.token({ email: 'eve@partner.com', groups: ['tpu-operators'] });
    for (const rule of [
      { ...theirs, groupPrefix: 'partner/' },
      { ...theirs, groupsClaim: null },
    ]) {
      const verifier = verifierOf(own, rule);
      assert.equal(isOneOf(await verifier.verify(eve), operators), false, JSON.stringify(rule));
      const olga = await verifier.verify(await issuer.token({ email: 'olga@example.org', groups: ['tpu-operators'] }));
      assert.equal(isOneOf(olga, operators), true);
    }
    const prefixed: Caller = await verifierOf(own, { ...theirs, groupPrefix: 'partner/' }).verify(eve);
    assert.equal(isOneOf(prefixed, ['group:partner/tpu-operators']), true, 'named with its prefix it is one');
  });

  it('a group of the issuer without a prefix that begins like another one’s is dropped', async () => {
    const verifier = verifierOf(
      { emailDomains: ['example.org'] },
      { emailDomains: ['partner.com'], groupPrefix: 'partner/' },
    );
    const { groups } = await verifier.verify(
      await issuer.token({ ...alice, groups: ['partner/tpu-operators', 'tpu'] }),
    );
    assert.deepEqual(groups, ['tpu']);
  });
});
