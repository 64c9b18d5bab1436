import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadServerConfig, ServerConfigError } from '../../server/config.js';

const BARE_GOOGLE = { issuer: 'https://accounts.google.com', audiences: ['jobctl'] };
/** Google gives no groups. */
const GOOGLE = { ...BARE_GOOGLE, hostedDomains: ['example.org'], groupsClaim: null };
const KEYCLOAK = { issuer: 'https://login.example.org/realms/team', audiences: ['jobctl'] };
const VALID = {
  temporal: { address: '127.0.0.1:7233' },
  store: { bucket: 'jobs', systemBucket: 'jobs-system' },
  googleProject: 'my-project',
  signingKey: { id: '2026-11', key: 'file:///etc/jobctl/serve-key.pem' },
  issuers: [GOOGLE],
};

describe('serve.json', () => {
  let folder: string;
  before(() => (folder = mkdtempSync(join(tmpdir(), 'jobctl-serve-config-'))));
  after(() => rmSync(folder, { recursive: true, force: true }));

  function load(text: string) {
    const file = join(folder, 'serve.json');
    writeFileSync(file, text);
    return loadServerConfig(file);
  }
  const problem = (more: object): string => {
    try {
      load(JSON.stringify({ ...VALID, ...more }));
    } catch (error) {
      if (error instanceof ServerConfigError) return error.message.replaceAll(folder, '');
      throw error;
    }
    return assert.fail(`${JSON.stringify(more)} was taken`);
  };

  it('with the fields that must be there is taken, by one issuer with any address', () => {
    assert.deepEqual(
      load(JSON.stringify(VALID)).issuers.map(({ user }) => user),
      ['email'],
    );
  });

  it('whose issuers could call two people by one name is refused, and taken with domains of their own', () => {
    const google = { ...GOOGLE, emailDomains: ['example.org'] };
    const keycloak = { ...KEYCLOAK, emailDomains: ['partner.example.com'] };
    const local = { user: 'email-local-part' };
    const cases: readonly (readonly [readonly object[], RegExp])[] = [
      [[google, KEYCLOAK], /issuers\.1: emailDomains: is missing; one of several/],
      [[GOOGLE, keycloak], /issuers\.0: emailDomains: is missing; one of several/],
      [[google, { ...keycloak, user: 'sub' }], /issuers\.1: user sub: /],
      [
        [
          { ...google, ...local },
          { ...keycloak, ...local },
        ],
        /issuers\.1: user email-local-part: one issuer alone/,
      ],
      [[google, google], /issuers: an issuer is named twice/],
      [[{ ...GOOGLE, ...local }], /issuers\.0\.user: email-local-part needs exactly one of emailDomains/],
      ...['http://login.example.org', 'http://127.0.0.1:80@login.example.org', 'login.example.org', ''].map(
        (issuer) => [[{ ...GOOGLE, issuer }], /issuers\.0\.issuer: an https address/] as const,
      ),
      [[], /issuers: /],
    ];
    for (const [issuers, expected] of cases) assert.match(problem({ issuers }), expected);
    for (const issuers of [
      [google, keycloak],
      [google, { ...keycloak, ...local }],
    ])
      assert.equal(load(JSON.stringify({ ...VALID, issuers })).issuers.length, 2);
  });

  it('whose login in the page is half given is refused, and taken whole', () => {
    const page = { clientId: 'jobctl' };
    const [google, keycloak] = [
      { ...GOOGLE, emailDomains: ['example.org'], page },
      { ...KEYCLOAK, emailDomains: ['partner.example.com'], page },
    ];
    const publicUrl = 'https://jobctl.example.org';
    const cases: readonly (readonly [issuers: readonly object[], more: object, RegExp])[] = [
      [[google], {}, /publicUrl: is missing: issuers\.0 sends people back to it/],
      [[google], { publicUrl: 'http://jobctl.example.org' }, /publicUrl: an https address/],
      [
        [{ ...google, page: { clientId: 'web' } }],
        { publicUrl },
        /issuers\.0\.page\.clientId: 'web' is none of audiences/,
      ],
      [[{ ...google, page: { clientSecret: 'env:S' } }], { publicUrl }, /issuers\.0\.page\.clientId: /],
      [[{ ...google, scopes: ['email'] }], { publicUrl }, /issuers\.0\.scopes: without openid/],
      [[{ ...google, page: { ...page, name: 'Our Google' } }], { publicUrl }, /issuers\.0\.page\.name: small letters/],
      [[google, keycloak], { publicUrl }, /issuers\.0\.page\.name: is missing[^]*issuers\.1\.page\.name: is missing/],
      [
        [google, keycloak].map((each) => ({ ...each, page: { ...page, name: 'both' } })),
        { publicUrl },
        /issuers\.1\.page\.name: 'both' is the name of another issuer too/,
      ],
    ];
    for (const [issuers, more, expected] of cases) assert.match(problem({ issuers, ...more }), expected);
    const named = [google, keycloak].map((each, at) => ({ ...each, page: { ...page, name: `issuer-${at}` } }));
    assert.equal(load(JSON.stringify({ ...VALID, publicUrl, issuers: named })).issuers.length, 2);
  });

  it('whose issuers could give one name to two groups is refused, and taken where each has names of its own', () => {
    const google = { ...BARE_GOOGLE, emailDomains: ['example.org'] };
    const partner = { ...KEYCLOAK, emailDomains: ['partner.example.com'] };
    const third = { ...KEYCLOAK, issuer: 'https://login.example.net', emailDomains: ['example.net'] };
    const cases: readonly (readonly [readonly object[], RegExp])[] = [
      [
        [google, partner],
        /issuers\.1\.groupPrefix: is missing: issuers\.0 gives groups under their own names too.*"groupsClaim": null/,
      ],
      [
        [google, { ...partner, groupPrefix: 'partner/' }, third],
        /^[^]*issuers\.2\.groupPrefix: is missing: issuers\.0 /,
      ],
      [[{ ...google, groupsClaim: null }, partner, third], /issuers\.2\.groupPrefix: is missing: issuers\.1 /],
      [
        [google, { ...partner, groupPrefix: 'p/' }, { ...third, groupPrefix: 'p/' }],
        /issuers\.2\.groupPrefix: 'p\/' and 'p\/' of issuers\.1 can make one name/,
      ],
      [
        [google, { ...partner, groupPrefix: 'p/q' }, { ...third, groupPrefix: 'p/' }],
        /issuers\.2\.groupPrefix: 'p\/' and 'p\/q' of issuers\.1 can make one name/,
      ],
      [
        [google, { ...partner, groupPrefix: 'p/' }, { ...third, groupPrefix: 'p/q' }],
        /issuers\.2\.groupPrefix: 'p\/q' and 'p\/' of issuers\.1 can make one name/,
      ],
      [[{ ...google, groupPrefix: 'a b' }], /issuers\.0\.groupPrefix: .*letters, digits and/],
      [[{ ...google, groupsClaim: null, groupPrefix: 'a/' }], /issuers\.0\.groupsClaim: null takes no groups/],
      [[{ ...google, groupsClaim: null, allowedGroups: ['a'] }], /issuers\.0\.groupsClaim: null takes no groups/],
    ];
    for (const [issuers, expected] of cases) assert.match(problem({ issuers }), expected);
    for (const issuers of [
      [google, { ...partner, groupPrefix: 'partner/' }],
      [google, { ...partner, groupsClaim: null }],
      [{ ...google, groupPrefix: 'g/' }, { ...partner, groupPrefix: 'p/' }, third],
    ])
      assert.equal(load(JSON.stringify({ ...VALID, issuers })).issuers.length, issuers.length);
  });

  it('that would let in everybody with an account at Google is refused, unless it says so', () => {
    const everybody = /issuers\.0: everybody in the world who has an account at .* hostedDomains .*"anyAccount": true/;
    for (const issuer of ['https://accounts.google.com', 'https://accounts.google.com/', 'https://gitlab.com'])
      assert.match(problem({ issuers: [{ ...BARE_GOOGLE, issuer }] }), everybody);
    assert.match(problem({ issuers: [{ ...BARE_GOOGLE, anyAccount: false }] }), everybody);
    for (const rule of [
      { hostedDomains: ['example.org'] },
      { emailDomains: ['example.org'] },
      { allowedGroups: ['tpu-users'] },
      { anyAccount: true },
    ])
      assert.equal(load(JSON.stringify({ ...VALID, issuers: [{ ...BARE_GOOGLE, ...rule }] })).issuers.length, 1);
    // Of a company's own issuer all are of the company.
    assert.equal(load(JSON.stringify({ ...VALID, issuers: [KEYCLOAK] })).issuers.length, 1);
    for (const rule of ['hostedDomains', 'emailDomains', 'allowedGroups'])
      assert.match(problem({ issuers: [{ ...BARE_GOOGLE, [rule]: [] }] }), new RegExp(`issuers\\.0\\.${rule}: `));
  });

  it('says which field is wrong, and where every field is listed', () => {
    assert.match(problem({ listn: {} }), /^\/serve\.json: the server's configuration is wrong:\n {2}.*listn/);
    assert.match(problem({ issuers: [{ ...GOOGLE, audiences: [] }] }), /\n {2}issuers\.0\.audiences: /);
    assert.match(problem({ signingKey: { id: 'a b', key: 'x' } }), /\n {2}signingKey\.id: [^]*docs\/serve\.md/);
  });

  it('row 4 of the audit: without a second bucket, or with the job bucket for what decides or for the audit log, is refused with what to do', () => {
    const what = /setup server --bucket BUCKET --system-bucket NAME.*docs\/security\.md/;
    const missing = problem({ store: { bucket: 'jobs' } });
    assert.match(missing, /\n {2}store\.systemBucket: is missing, and in verified mode hosts/);
    assert.match(missing, what);
    const same = problem({ store: { bucket: 'jobs', systemBucket: 'jobs' } });
    assert.match(same, /\n {2}store\.systemBucket: 'jobs' is the job bucket too/);
    assert.match(same, what);
    assert.match(
      problem({ store: { ...VALID.store, auditBucket: 'jobs' } }),
      /\n {2}store\.auditBucket: 'jobs' is the job bucket too, which hosts write: name another, or none/,
    );
  });

  it('that is no JSON, or not there, says so', () => {
    assert.throws(() => load('{ "temporal": '), /serve\.json: is not JSON/);
    assert.throws(() => loadServerConfig(join(folder, 'other.json')), /other\.json: .* cannot be read: /);
  });
});
