import assert from 'node:assert/strict';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { RehearsalProcess } from '../../rehearsal/test/rehearsal-process.js';
import { startRehearsalProcess } from '../../rehearsal/test/rehearsal-process.js';
import { scratchFolder, SUBNET_OCTET } from '../../rehearsal/test/scratch.js';
import { pickSshPort } from '../../rehearsal/ssh-port.js';
import { until } from '../until.js';
import { listeningOn } from './listening.js';
import { callAsOther, needsOtherLogin, runAsOther } from './other-login.js';
import type { RawAnswer, RawCall } from './raw-calls.js';
import { makeCall } from './raw-calls.js';
import { attacks, base64, metadataCalls, withToken } from './rehearsal-attacks.js';

const REFUSED = new Set([401, 403]);
const UNAUTHENTICATED = 16;
const isRefused = ({ name, status }: RawAnswer): boolean =>
  name === 'grpc' ? status === UNAUTHENTICATED : REFUSED.has(status);

describe('F4: another login of this computer, at the ports of a rehearsal', function () {
  this.timeout(60_000);
  const scratch = scratchFolder('f04');
  let served: RehearsalProcess;
  let token: string;
  let address: string;
  const asOwner = (call: RawCall): Promise<RawAnswer> => makeCall(withToken(call, token));
  const admin = async (path: string): Promise<string> =>
    (await asOwner({ name: path, wire: 'http', url: `${served.endpoints.admin}/admin/${path}` })).text;
  const metadataHost = (): string => {
    const ports = listeningOn(served.child.pid as number).filter((place) => place.startsWith(`${address}:`));
    return ports.find((place) => !place.endsWith(`:${served.endpoints.sshPort}`)) ?? 'none';
  };

  before(async function () {
    needsOtherLogin(this);
    const more = ['--kubernetes-port', '0'];
    served = await startRehearsalProcess(scratch.path, await pickSshPort(SUBNET_OCTET), more);
    token = readFileSync(served.endpoints.tokenFile, 'utf8');
    const { rest, store } = served.endpoints;
    const own = { wire: 'http', method: 'POST', headers: { 'content-type': 'application/json' } } as const;
    const node = { acceleratorType: 'v5litepod-8', runtimeVersion: 'v2-alpha-tpuv5-lite' };
    const url = `${rest}/v2/projects/p/locations/us-central1-a/nodes?nodeId=mine`;
    await asOwner({ name: 'own node', ...own, url, body: base64(node) });
    const bucket = { ...own, url: `${store}/storage/v1/b?project=p`, body: base64({ name: 'jobs' }) };
    assert.equal((await asOwner({ name: 'own bucket', ...bucket })).status, 200);
    await until('the owner’s VM', async () => /"state":"READY"/.test(await admin('status')));
    const status = JSON.parse(await admin('status')) as { nodes: { hosts: { address: string }[] }[] };
    address = status.nodes[0]?.hosts[0]?.address ?? '';
  });
  after(async () => {
    await served?.end('SIGTERM');
    scratch.remove();
  });

  it('is refused at every API, and leaves nothing behind', async () => {
    const before = await admin('dump');
    const answers = callAsOther([...attacks(served.endpoints), ...metadataCalls(metadataHost())]);
    assert.deepEqual(
      answers.filter((answer) => !isRefused(answer)),
      [],
    );
    const withoutClock = (dump: string): string => dump.replace(/^.*"clock".*$/m, '');
    assert.equal(withoutClock(await admin('dump')), withoutClock(before));
    const { store } = served.endpoints;
    const objects = await asOwner({ name: 'objects', wire: 'http', url: `${store}/storage/v1/b/jobs/o` });
    assert.deepEqual([objects.status, JSON.parse(objects.text)], [200, { kind: 'storage#objects' }]);
  });

  it('is refused with a token that is wrong, of an earlier start, or its own', async () => {
    const forged = ['x', token.slice(0, -1), `${token}x`, 'ya29.rehearsal.e30.x', ''];
    const calls = forged.flatMap((wrong) => attacks(served.endpoints).map((call) => withToken(call, wrong)));
    const answers = callAsOther(calls);
    assert.equal(answers.length, calls.length);
    assert.deepEqual(
      answers.flatMap((answer, at) => (isRefused(answer) ? [] : [[answer, calls[at]]])),
      [],
    );
  });

  it('finds no other port than those that are tried here, and the SSH servers, which ask for a key', () => {
    const { tpu, rest, store, admin: adminUrl, kubernetes = '', sshPort } = served.endpoints;
    const tried = [tpu, ...[rest, store, adminUrl, kubernetes].map((url) => new URL(url).host)];
    const known = new Set([...tried, metadataHost(), `${address}:${sshPort}`]);
    const open = listeningOn(served.child.pid as number);
    assert.ok(open.length >= known.size, open.join(', '));
    assert.deepEqual(
      open.filter((place) => !known.has(place)),
      [],
    );
  });

  it('cannot read the token, the header or the kubeconfig, nor list the state folder', () => {
    const { tokenFile, headerFile, kubeconfig = '' } = served.endpoints;
    for (const file of [tokenFile, headerFile, kubeconfig]) {
      assert.equal(statSync(file).mode & 0o777, 0o600, file);
      assert.notEqual(runAsOther(['cat', file]).code, 0, file);
    }
    assert.notEqual(runAsOther(['ls', join(scratch.path, 'access')]).code, 0);
  });

  it('would have done all of it with the token: the same calls of the same login', () => {
    const calls = attacks(served.endpoints).filter(({ name }) => !name.startsWith('kubernetes'));
    const answers = callAsOther(calls.map((call) => withToken(call, token)));
    assert.deepEqual(
      answers.map(({ name, status }) => [name, status]),
      calls.map(({ name }) => [name, name === 'grpc' ? 0 : 200]),
    );
  });

  it('is told apart from the owner’s own VM, which gets a token that the APIs take', async () => {
    const [call] = metadataCalls(metadataHost());
    const given = await makeCall(call as RawCall);
    assert.equal(given.status, 200, given.text);
    const { access_token: ofVm } = JSON.parse(given.text) as { access_token: string };
    const url = `${served.endpoints.rest}/v2/projects/p/locations/us-central1-a/nodes`;
    assert.equal((await makeCall(withToken({ name: 'nodes', wire: 'http', url }, ofVm))).status, 200);
    // The admin interface is for whose rehearsal this is, not for what runs in it.
    const behind = { name: 'admin', wire: 'http', url: `${served.endpoints.admin}/admin/status` } as const;
    assert.deepEqual([(await makeCall(withToken(behind, ofVm))).status, (await makeCall(behind)).status], [401, 401]);
  });

  it('has nothing of a token of the time before: a stranger may have listened on its ports in between', async () => {
    const status = (word: string): Promise<RawAnswer> =>
      makeCall(withToken({ name: 'status', wire: 'http', url: `${served.endpoints.admin}/admin/status` }, word));
    assert.equal((await status(token)).status, 200);
    await served.end('SIGKILL');
    served = await startRehearsalProcess(scratch.path, served.endpoints.sshPort, []);
    const now = readFileSync(served.endpoints.tokenFile, 'utf8');
    const answers = [await status(token), await status(now)];
    assert.deepEqual(
      answers.map((answer) => answer.status),
      [401, 200],
    );
  });
});

describe('F4: another login, at a rehearsal that asks for Google’s tokens', function () {
  this.timeout(60_000);
  const scratch = scratchFolder('f04-auth');
  let served: RehearsalProcess;
  before(async function () {
    needsOtherLogin(this);
    served = await startRehearsalProcess(scratch.path, await pickSshPort(SUBNET_OCTET), ['--auth']);
  });
  after(async () => {
    await served?.end('SIGTERM');
    scratch.remove();
  });

  it('gets none: not from the metadata server, not by a login, not from the admin interface', async () => {
    const { rest, admin, metadataHost = '' } = served.endpoints;
    const [fromMetadata] = metadataCalls(metadataHost);
    const form = { 'content-type': 'application/x-www-form-urlencoded' };
    const login = { wire: 'https', url: `${rest}/v1/oauthtoken`, method: 'POST', headers: form } as const;
    const guess = new URLSearchParams({ grant_type: 'refresh_token', refresh_token: '1//rehearsal-current' });
    const answers = callAsOther([
      fromMetadata as RawCall,
      { name: 'login', ...login, body: base64(guess.toString()) },
      { name: 'admin', wire: 'http', url: `${admin}/admin/token`, method: 'POST' },
    ]);
    assert.deepEqual(
      answers.map(({ status }) => status),
      [403, 400, 401],
    );
    const mine = await makeCall(fromMetadata as RawCall);
    assert.deepEqual([mine.status, /"access_token"/.test(mine.text)], [200, true]);
    for (const name of ['credentials.json', 'access.json'])
      assert.notEqual(runAsOther(['cat', join(scratch.path, 'access', name)]).code, 0, name);
  });
});
