import assert from 'node:assert/strict';
import { ApiError } from '../../server/problem.js';
import { networkOf, refusedLogins } from '../../server/request-guards.js';
import { GatedApp } from './gated-app.js';

const MOST = 5;

describe('calls without a valid login', function () {
  this.timeout(60_000);
  let app: GatedApp;
  before(async () => (app = await GatedApp.start({ limits: { refusedLoginsPerMinute: MOST } })));
  after(() => app?.stop());

  /** One of each kind: none, no JWT, expired, forged, of nobody. */
  const bad = async (): Promise<readonly string[]> => [
    '',
    'Bearer nonsense',
    'Bearer a.b.c',
    `Bearer ${await app.issuer.token({ email: 'alice@example.org', lifetimeS: -60 })}`,
    `Bearer ${await app.issuer.forged({ email: 'alice@example.org' })}`,
    `Bearer ${await app.issuer.token({ email: 'a b@example.org' })}`,
  ];
  const send = async (remoteAddress: string, authorization: string) => {
    const headers = { host: '127.0.0.1', ...(authorization === '' ? {} : { authorization }) };
    const answer = await app.apps[0]?.inject({ method: 'GET', url: '/v1/whoami', remoteAddress, headers });
    return answer ?? assert.fail();
  };
  const statuses = async (address: string, authorization: string, count: number): Promise<readonly number[]> => {
    const found: number[] = [];
    for (let call = 0; call < count; call++) found.push((await send(address, authorization)).statusCode);
    return found;
  };

  it('are counted by address, of whatever kind, and beyond the limit are too many', async () => {
    let last = 0;
    for (const [at, authorization] of (await bad()).entries()) {
      const address = `10.1.0.${at}`;
      const want = at === 5 ? 403 : 401;
      assert.deepEqual(await statuses(address, authorization, MOST + 2), [...Array<number>(MOST).fill(want), 429, 429]);
      const { headers, body } = await send(address, authorization);
      assert.ok(Number(headers['retry-after']) > 0 && Number(headers['retry-after']) <= 60);
      assert.match(
        body,
        /"code":"too-many-requests".*more than 5 calls without a valid login in a minute from 10\.1\.0\./,
      );
      last = at;
    }
    assert.equal(last, 5);
  });

  it('of an address hinder neither a valid token of the same address, nor another one', async () => {
    await statuses('10.2.0.1', '', MOST + 1);
    const good = `Bearer ${await app.issuer.token({ email: 'alice@example.org' })}`;
    assert.deepEqual(await statuses('10.2.0.1', good, 20), Array<number>(20).fill(200));
    assert.deepEqual(await statuses('10.2.0.1', '', 1), [429]);
    assert.deepEqual(await statuses('10.2.0.2', '', 1), [401]);
  });

  it('over a real connection are answered the same', async () => {
    const found: number[] = [];
    for (let call = 0; call < MOST + 1; call++)
      found.push((await app.call('x', 'GET', '/v1/jobs', undefined, { token: '' })).status);
    assert.deepEqual(found, [...Array<number>(MOST).fill(401), 429]);
    assert.equal((await app.call('alice', 'GET', '/v1/jobs')).status, 200);
  });

  it('of very many addresses take bounded memory: the one that was quiet for longest is forgotten', async () => {
    const [replica = assert.fail()] = app.apps;
    const answered = refusedLogins(replica, { limits: { refusedLoginsPerMinute: MOST } } as never);
    const codeFor = async (ip: string): Promise<string> =>
      (
        await answered(
          { ip, log: { warn: () => undefined }, routeOptions: { config: {} } } as never,
          new ApiError('unauthenticated', 'x'),
        )
      ).code;
    for (let call = 0; call < MOST; call++) await codeFor('10.3.0.1');
    assert.equal(await codeFor('10.3.0.1'), 'too-many-requests');
    for (let at = 0; at < 10_000; at++) await codeFor(`11.0.${at >> 8}.${at & 255}`);
    assert.equal(await codeFor('10.3.0.1'), 'unauthenticated');
  });

  it('of IPv6 are counted by the 64 bits that one customer has', () => {
    const same: Readonly<Record<string, string>> = {
      '2001:db8:1:2:3:4:5:6': '2001:db8:1:2::/64',
      '2001:db8:1:2::6': '2001:db8:1:2::/64',
      '2001:0DB8:0001:0002::': '2001:db8:1:2::/64',
      '2001:db8::6': '2001:db8:0:0::/64',
      '2001::2:3:4:5:6:7': '2001:0:2:3::/64',
      '::1': '0:0:0:0::/64',
      '::': '0:0:0:0::/64',
      'fe80::1%eth0': 'fe80:0:0:0::/64',
      '::ffff:10.0.0.7': '10.0.0.7',
      '10.0.0.7': '10.0.0.7',
    };
    for (const [ip, network] of Object.entries(same)) assert.equal(networkOf(ip), network, ip);
  });
});
