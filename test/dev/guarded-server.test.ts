import assert from 'node:assert/strict';
import { createPublicKey, verify, X509Certificate } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import {
  isLoginOld,
  loginEnd,
  loginFingerprint,
  makeCredentials,
  OWN_PORTS,
  writeConfiguration,
} from '../../cli/local/dev/guarded-server/guarded-part.js';
import { serverFiles, type StackRecord } from '../../cli/place/stack/stack-record.js';
import { stackHome } from '../../cli/terminal/home.js';
import { fingerprintOf } from '../../cli/local/dev/part.js';
import { isServerCurrent } from '../../cli/local/dev/stack-parts.js';
import { scratchFolder } from '../../rehearsal/test/scratch.js';

const DAY_MS = 86_400_000;

/** The server itself, and who gets in: test/long/f04-login-node.test.ts. */
describe('the login of a Temporal server that asks who calls', () => {
  const scratch = scratchFolder('guarded');
  const home = stackHome({ JOBCTL_HOME: join(scratch.path, 'home') });
  const files = serverFiles(home);
  after(() => scratch.remove());

  it('is made anew each time, for its owner alone, and no key that signs is kept', async () => {
    const { keys } = await makeCredentials(files, Date.now());
    const before = loginFingerprint(files);
    const [head = '', body = '', signature = ''] = readFileSync(files.apiKey, 'utf8').split('.');
    const key = createPublicKey({ key: keys[0] as never, format: 'jwk' });
    const signed = Buffer.from(`${head}.${body}`);
    const options = { key, dsaEncoding: 'ieee-p1363' } as const;
    assert.ok(verify('sha256', signed, options, Buffer.from(signature, 'base64url')));
    const { permissions, exp } = JSON.parse(Buffer.from(body, 'base64url').toString()) as Record<string, unknown>;
    assert.deepEqual([permissions, exp], [['temporal-system:admin'], (loginEnd(files) ?? 0) / 1000]);
    for (const file of [files.apiKey, files.authority, files.certificate, files.certificateKey]) {
      assert.equal(statSync(file).mode & 0o777, 0o600, file);
    }
    assert.equal(statSync(files.folder).mode & 0o777, 0o700);
    const authority = new X509Certificate(readFileSync(files.authority));
    const own = createPublicKey(readFileSync(files.certificateKey)).export({ format: 'pem', type: 'spki' });
    assert.notEqual(authority.publicKey.export({ format: 'pem', type: 'spki' }), own);
    assert.ok(new X509Certificate(readFileSync(files.certificate)).verify(authority.publicKey));
    await makeCredentials(files, Date.now());
    assert.notEqual(loginFingerprint(files), before);
  });

  it('is renewed by a `dev up` of its last 60 days, and where there is none', async () => {
    const now = Date.now();
    await makeCredentials(files, now);
    const left = (days: number): boolean => isLoginOld(files, now + (820 - days) * DAY_MS);
    assert.deepEqual([left(819), left(61), left(59), left(-1)], [false, false, true, true]);
    assert.equal(isLoginOld(serverFiles(stackHome({ JOBCTL_HOME: join(scratch.path, 'none') })), now), true);
  });

  it('asks for TLS at each of its ports: behind the frontend for the certificate of the server itself', () => {
    const ownPorts = Array.from({ length: OWN_PORTS }, (_, index) => 2 + index);
    writeConfiguration(files, { databaseFile: '/d', port: 1, ownPorts, keysUrl: 'http://k' });
    const { global, services } = JSON.parse(readFileSync(files.configuration, 'utf8')) as {
      global: { tls: Record<string, { server: Record<string, unknown> }>; authorization: Record<string, unknown> };
      services: Record<string, { rpc: { grpcPort: number; membershipPort: number; bindOnLocalHost: boolean } }>;
    };
    const { server } = global.tls['internode'] ?? { server: {} };
    assert.deepEqual([server['requireClientAuth'], server['clientCaFiles']], [true, [files.authority]]);
    assert.equal(global.tls['frontend']?.server['certFile'], files.certificate);
    assert.deepEqual([global.authorization['authorizer'], global.authorization['claimMapper']], ['default', 'default']);
    const ports = Object.values(services).flatMap(({ rpc }) => [rpc.grpcPort, rpc.membershipPort]);
    assert.deepEqual([services['frontend']?.rpc.grpcPort, ports.toSorted((a, b) => a - b)], [1, [1, ...ownPorts]]);
    assert.ok(Object.values(services).every(({ rpc }) => rpc.bindOnLocalHost));
    const dynamic = JSON.parse(readFileSync(files.dynamicConfiguration, 'utf8')) as Record<string, unknown>;
    assert.deepEqual(dynamic['system.enableRingpopTLS'], [{ value: true }]);
    assert.throws(
      () => writeConfiguration(files, { databaseFile: '/d', port: 1, ownPorts: [2], keysUrl: '' }),
      /needs 9 ports/,
    );
  });

  it('makes a dev server that runs beside Google credentials one to be replaced, unless somebody is alone', async () => {
    await makeCredentials(files, Date.now());
    const realCloud = { googleProject: 'p', bucket: 'b' };
    const runs = (configuration: string, cloud?: StackRecord['realCloud']): boolean => {
      const server = { identity: { pid: 1, start: '' }, startedAt: 0, fingerprint: fingerprintOf({ configuration }) };
      const record = { temporalAddress: null, parts: { server }, ...(cloud && { realCloud: cloud }) };
      return isServerCurrent(home, record as unknown as StackRecord);
    };
    const [dev, guarded] = ['', 'asks who calls'];
    assert.deepEqual(
      [runs(dev), runs(dev, realCloud), runs(dev, { ...realCloud, isAlone: true })],
      [true, false, true],
    );
    assert.deepEqual([runs(guarded, realCloud), runs(guarded, { ...realCloud, isAlone: true })], [true, false]);
  });
});
