import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Rehearsal } from '../../rehearsal/index.js';
import { startRehearsal } from '../../rehearsal/index.js';
import { scratchFolder, SUBNET_OCTET } from '../../rehearsal/test/scratch.js';
import type { RawAnswer, RawCall } from './raw-calls.js';
import { makeCall } from './raw-calls.js';
import { attacks, base64, withToken } from './rehearsal-attacks.js';

const PERMISSION_DENIED = 7;
const OWN_NAME = 'workstation.example';

/** What a browser sends with a call of a web page, and the page cannot leave out. */
const PAGES: Readonly<Record<string, (call: RawCall) => RawCall>> = {
  'from another site': (call) => withHeaders(call, { origin: 'http://evil.example' }),
  'from a sandboxed frame or a file': (call) => withHeaders(call, { origin: 'null' }),
  'from another port of this computer': (call) => withHeaders(call, { origin: 'http://127.0.0.1:8888' }),
  'from another site, without Origin': (call) => withHeaders(call, { 'sec-fetch-site': 'cross-site' }),
  'from another port, without Origin': (call) => withHeaders(call, { 'sec-fetch-site': 'same-site' }),
  'after DNS rebinding': (call) => underName(call, 'evil.example:7332'),
  'after DNS rebinding to a name that looks like loopback': (call) => underName(call, '127.0.0.1.evil.example'),
};

const withHeaders = (call: RawCall, more: Readonly<Record<string, string>>): RawCall => ({
  ...call,
  headers: { ...call.headers, ...more },
});

/** Its own origin is that name too, as a browser has it. */
const underName = (call: RawCall, name: string): RawCall =>
  call.wire === 'grpc'
    ? withHeaders(call, { ':authority': name })
    : withHeaders(call, { host: name, origin: `${call.wire}://${name}` });

const isRefused = ({ name, status }: RawAnswer): boolean =>
  name === 'grpc' ? status === PERMISSION_DENIED : status === 403;

describe('F8: a web page in the browser of whose rehearsal it is', function () {
  this.timeout(60_000);
  const scratch = scratchFolder('f08');
  let rehearsal: Rehearsal;
  let token: string;
  let calls: readonly RawCall[];
  const own = (url: string, more: Partial<RawCall> = {}): Promise<RawAnswer> =>
    makeCall(withToken({ name: url, wire: 'http', url, ...more }, token));
  const left = async (): Promise<unknown> => {
    const { admin, store } = rehearsal.endpoints;
    const { nodes, vms, queuedResources, holds } = JSON.parse((await own(`${admin}/admin/status`)).text) as Record<
      string,
      unknown
    >;
    const objects = JSON.parse((await own(`${store}/storage/v1/b/jobs/o`)).text) as { items?: unknown[] };
    const buckets = JSON.parse((await own(`${store}/storage/v1/b?project=p`)).text) as { items: { name: string }[] };
    return {
      nodes,
      vms,
      queuedResources,
      holds,
      objects: objects.items ?? [],
      buckets: buckets.items.map(({ name }) => name),
    };
  };
  const NOTHING = { nodes: [], vms: [], queuedResources: [], holds: [], objects: [], buckets: ['jobs'] };

  before(async () => {
    // A browser is a process of this login: its calls are those that need no token.
    rehearsal = await startRehearsal({
      ...{ stateDir: join(scratch.path, 'state'), subnetOctet: SUBNET_OCTET, sshPort: 2222, kubernetesPort: 0 },
      ...{ callers: 'login', hostNames: [OWN_NAME] },
    });
    token = readFileSync(rehearsal.endpoints.tokenFile, 'utf8');
    const bucket = { method: 'POST', headers: { 'content-type': 'application/json' }, body: base64({ name: 'jobs' }) };
    assert.equal((await own(`${rehearsal.endpoints.store}/storage/v1/b?project=p`, bucket)).status, 200);
    calls = attacks(rehearsal.endpoints);
  });
  after(async () => {
    await rehearsal?.stop();
    scratch.remove();
  });

  for (const [how, asPage] of Object.entries(PAGES)) {
    it(`is refused everywhere ${how}, with the token too, and no VM comes up`, async () => {
      for (const call of [...calls, ...calls.map((each) => withToken(each, token))]) {
        const answer = await makeCall(asPage(call));
        assert.ok(isRefused(answer), JSON.stringify(answer));
        assert.match(answer.text, /the rehearsal takes no calls from web pages|^$/, call.name);
      }
      assert.deepEqual(await left(), NOTHING);
    });
  }

  it('has no effect by what a form or a script sends unasked: text/plain, forms, no type at all', async () => {
    const posts = calls.filter(({ method, wire }) => method === 'POST' && wire === 'http');
    assert.equal(posts.length, 6);
    for (const type of [
      'text/plain',
      'text/plain;charset=UTF-8',
      'application/x-www-form-urlencoded',
      'multipart/form-data; boundary=b',
      '',
    ]) {
      for (const call of posts) {
        const { 'content-type': _, ...others } = call.headers ?? {};
        const headers = { ...others, ...(type === '' ? {} : { 'content-type': type }) };
        const { status, text } = await makeCall({ ...call, headers });
        assert.ok(status >= 400 && status < 500, `${call.name} as '${type}': ${status} ${text}`);
      }
    }
    assert.deepEqual(await left(), NOTHING);
  });

  it('gets no command into a pod over a WebSocket', async () => {
    const url = `${rehearsal.endpoints.kubernetes}/api/v1/namespaces/default/pods/x/exec?command=id`;
    const upgrade = {
      ...{ connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-version': '13' },
      ...{ 'sec-websocket-key': 'AAAAAAAAAAAAAAAAAAAAAA==', 'sec-websocket-protocol': 'v5.channel.k8s.io' },
    };
    const call: RawCall = { name: 'exec', wire: 'https', url, headers: upgrade };
    for (const asPage of Object.values(PAGES)) assert.equal((await makeCall(asPage(call))).status, 403);
    assert.equal((await makeCall(call)).status, 401);
  });

  it('is told apart from the owner, who calls by any name of loopback, by a tunnel’s port, or by the name that was configured', async () => {
    const { rest, tpu } = rehearsal.endpoints;
    const url = `${rest}/v2/projects/p/locations/us-central1-a/nodes`;
    for (const host of [
      'localhost',
      'localhost:9999',
      'api.localhost:1',
      '127.0.0.1',
      '127.3.2.1:80',
      '[::1]:80',
      `${OWN_NAME}:80`,
      OWN_NAME.toUpperCase(),
    ]) {
      assert.equal((await makeCall({ name: host, wire: 'http', url, headers: { host } })).status, 200, host);
    }
    const direct: RawCall = {
      name: 'direct',
      wire: 'http',
      url,
      headers: { origin: new URL(rest).origin, 'sec-fetch-site': 'none' },
    };
    assert.equal((await makeCall(direct)).status, 200);
    const grpc: RawCall = { name: 'grpc', wire: 'grpc', url: `http://${tpu}/google.cloud.tpu.v2.Tpu/ListNodes` };
    assert.notEqual((await makeCall(withHeaders(grpc, { ':authority': `${OWN_NAME}:80` }))).status, PERMISSION_DENIED);
  });
});
