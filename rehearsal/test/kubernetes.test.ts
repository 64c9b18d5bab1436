import assert from 'node:assert/strict';
import { statSync } from 'node:fs';
import { until } from '../../test/until.js';
import type { Rehearsal } from '../index.js';
import { startRehearsal } from '../index.js';
import { type KubernetesAnswer, KubernetesClient } from './kubernetes-client.js';
import type { Scratch } from './scratch.js';
import { scratchFolder, SUBNET_OCTET } from './scratch.js';

const MAPS = '/api/v1/namespaces/default/configmaps';
const map = (name: string, labels: object = {}): object => ({ metadata: { name, labels }, data: { a: 'b' } });

describe('the API server of the rehearsed Kubernetes', function () {
  this.timeout(30_000);
  let scratch: Scratch;
  let rehearsal: Rehearsal;
  let client: KubernetesClient;
  before(async () => {
    scratch = scratchFolder('kubernetes');
    const place = { subnetOctet: SUBNET_OCTET, sshPort: 2222 };
    rehearsal = await startRehearsal({ stateDir: scratch.path, ...place, kubernetesPort: 0 });
    client = new KubernetesClient(rehearsal.endpoints.kubeconfig ?? '');
    await until(
      'its service account',
      async () => (await client.get('/api/v1/namespaces/default/serviceaccounts/default')).status === 200,
    );
  });
  after(async () => {
    await rehearsal?.stop();
    scratch.remove();
  });

  it('takes its one token alone, which only its user can read', async () => {
    assert.equal(statSync(rehearsal.endpoints.kubeconfig ?? '').mode & 0o777, 0o600);
    const refused = await client.get(MAPS, { authorization: 'Bearer another' });
    assert.deepEqual([refused.status, refused.at('reason')], [401, 'Unauthorized']);
    assert.equal((await client.get('/version', { authorization: '' })).at('gitVersion'), 'v1.34.4');
  });

  it('refuses as Kubernetes does: not found, already exists, a namespace that is not there, a name that is none', async () => {
    assert.equal((await client.call('POST', MAPS, map('one'))).status, 201);
    const cases: [string, string, object | undefined, number, string, string][] = [
      ['GET', `${MAPS}/none`, undefined, 404, 'NotFound', 'configmaps "none" not found'],
      ['POST', MAPS, map('one'), 409, 'AlreadyExists', 'configmaps "one" already exists'],
      ['POST', '/api/v1/namespaces/no/configmaps', map('x'), 404, 'NotFound', 'namespaces "no" not found'],
      ['GET', '/apis/batch/v1/namespaces/default/jobs/j', undefined, 404, 'NotFound', 'jobs.batch "j" not found'],
    ];
    for (const [method, path, body, status, reason, message] of cases) {
      const answer = await client.call(method, path, body);
      assert.deepEqual([answer.status, answer.at('reason'), answer.at('message')], [status, reason, message]);
      assert.deepEqual([answer.at('kind'), answer.at('status')], ['Status', 'Failure']);
    }
    const named = await client.call('POST', MAPS, map('Wrong_Name'));
    assert.deepEqual([named.status, named.at('reason')], [422, 'Invalid']);
    for (const path of [
      '/nowhere',
      '/apis/batch/v1/namespaces/default/fish',
      '/apis/no.such/v1/namespaces/default/fish',
    ])
      assert.equal((await client.get(path)).text, '404 page not found\n', path);
  });

  it('patches labels and scheduling gates of a pod alone, as JSON Patch; a gate can only go', async () => {
    const pods = '/api/v1/namespaces/default/pods';
    const containers = [{ name: 'main', image: 'x:1' }];
    const spec = { schedulingGates: [{ name: 'a/b' }], nodeSelector: { no: 'such' }, containers };
    assert.equal((await client.call('POST', pods, { metadata: { name: 'gated' }, spec })).status, 201);
    const reason = async () => (await client.get(`${pods}/gated`)).at('status.conditions.0.reason');
    const patch = async (body: object, type = 'application/json-patch+json') =>
      (await client.call('PATCH', `${pods}/gated`, body, { 'content-type': type })).status;
    const gates = '/spec/schedulingGates';
    assert.equal(await patch({ spec: {} }, 'application/merge-patch+json'), 415);
    assert.equal(await patch([{ op: 'test', path: `${gates}/0/name`, value: 'another' }]), 422);
    assert.equal(await patch([{ op: 'add', path: `${gates}/1`, value: { name: 'c/d' } }]), 422);
    assert.equal(await patch([{ op: 'replace', path: '/spec/containers/0/image', value: 'y:1' }]), 422);
    assert.equal(await patch([{ op: 'add', path: '/metadata/labels', value: { a: 'b' } }]), 200);
    const seen = await client.get(`${pods}/gated`);
    assert.deepEqual([seen.at('metadata.labels'), seen.at('spec.schedulingGates')], [{ a: 'b' }, [{ name: 'a/b' }]]);
    assert.equal(await reason(), 'SchedulingGated');
    assert.equal(await patch([{ op: 'remove', path: `${gates}/0` }]), 200);
    assert.equal(
      (await client.call('PATCH', `${MAPS}/none`, [], { 'content-type': 'application/json-patch+json' })).status,
      404,
    );
    await until('the scheduler has looked at it', async () => (await reason()) === 'Unschedulable');
    await client.call('DELETE', `${pods}/gated`);
  });

  it('deletes an object of that uid alone', async () => {
    const made = await client.call('POST', MAPS, map('by-uid'));
    const stale = await client.call('DELETE', `${MAPS}/by-uid`, { preconditions: { uid: 'another' } });
    assert.deepEqual([stale.status, stale.at('reason')], [409, 'Conflict']);
    assert.match(
      String(stale.at('message')),
      /Precondition failed: UID in precondition: another, UID in object meta: /,
    );
    const uid = made.at('metadata.uid');
    const gone = await client.call('DELETE', `${MAPS}/by-uid`, { preconditions: { uid } });
    assert.deepEqual([gone.status, gone.at('status'), gone.at('details.uid')], [200, 'Success', uid]);
  });

  it('lists by labels and fields, in pages', async () => {
    for (const name of ['p-1', 'p-2', 'p-3']) await client.call('POST', MAPS, map(name, { of: 'pages', name }));
    const first = await client.get(`${MAPS}?labelSelector=of%3Dpages&limit=2`);
    assert.deepEqual([first.names, first.at('metadata.remainingItemCount')], [['p-1', 'p-2'], 1]);
    const token = encodeURIComponent(String(first.at('metadata.continue')));
    assert.deepEqual((await client.get(`${MAPS}?labelSelector=of%3Dpages&limit=2&continue=${token}`)).names, ['p-3']);
    assert.equal((await client.get(`${MAPS}?continue=old`)).status, 410);
    const selected = async (selector: string): Promise<readonly string[]> =>
      (await client.get(`${MAPS}?${selector}`)).names;
    assert.deepEqual(await selected('labelSelector=name+in+(p-1,p-3)'), ['p-1', 'p-3']);
    assert.deepEqual(await selected('labelSelector=of,name!%3Dp-1'), ['p-2', 'p-3']);
    assert.deepEqual(await selected('fieldSelector=metadata.name%3Dp-2'), ['p-2']);
    assert.equal((await client.get(`${MAPS}?fieldSelector=data.a%3Db`)).status, 400);
  });

  it('tells a watch what happened since a listing', async () => {
    const listed = await client.get(MAPS);
    await client.call('POST', MAPS, map('seen'));
    await client.call('DELETE', `${MAPS}/seen`);
    const since = `watch=1&resourceVersion=${String(listed.at('metadata.resourceVersion'))}&timeoutSeconds=1`;
    const watched = await client.get(`${MAPS}?${since}&fieldSelector=metadata.name%3Dseen`);
    const types = watched.text
      .trim()
      .split('\n')
      .map((line) => (JSON.parse(line) as { readonly type: string }).type);
    assert.deepEqual(types, ['ADDED', 'DELETED']);
  });

  it('answers kubectl with tables', async () => {
    const accept = 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json';
    const table = await client.get('/api/v1/nodes', { accept });
    assert.equal(table.at('kind'), 'Table');
    assert.deepEqual(
      [0, 1].map((cell) => table.at(`rows.0.cells.${cell}`)),
      ['rehearsed-0', 'Ready'],
    );
  });

  it('a namespace goes with all that is in it', async () => {
    await client.call('POST', '/api/v1/namespaces', { metadata: { name: 'short' } });
    assert.equal((await client.call('POST', '/api/v1/namespaces/short/configmaps', map('x'))).status, 201);
    const going = await client.call('DELETE', '/api/v1/namespaces/short');
    assert.equal(going.at('status.phase'), 'Terminating');
    await until('it is gone', async () => (await client.get('/api/v1/namespaces/short')).status === 404);
    assert.equal((await client.get('/api/v1/namespaces/short/configmaps/x')).status, 404);
  });

  it('its nodes are a setting', async () => {
    const { admin } = rehearsal.endpoints;
    const post = (body: object): Promise<Response> =>
      fetch(`${admin}/admin/kubernetes`, {
        ...{ method: 'POST', body: JSON.stringify(body) },
        headers: { 'content-type': 'application/json' },
      });
    const wrong = await post({ nodes: [{ name: 'a', cpus: 'many' }] });
    assert.deepEqual([wrong.status, await wrong.json()], [400, { error: 'nodes.0.cpus: a quantity' }]);
    assert.equal((await post({ nodes: [{ name: 'tpu', resources: { 'google.com/tpu': 4 } }] })).status, 200);
    const nodes = await client.get('/api/v1/nodes');
    assert.equal((nodes.at('items.0.status.allocatable') as Record<string, string>)['google.com/tpu'], '4');
    assert.equal(nodes.names.length, 1);
  });

  it('refuses calls as the admin interface says, before or after their effect', async () => {
    const refuse = async (method: string, code: string, more: object = {}): Promise<void> => {
      const body = JSON.stringify({ method, code, message: 'rehearsed', times: 1, ...more });
      const headers = { 'content-type': 'application/json' };
      const { ok } = await fetch(`${rehearsal.endpoints.admin}/admin/refuse`, { method: 'POST', headers, body });
      assert.ok(ok);
    };
    const cases: [string, string, () => Promise<KubernetesAnswer>, number, string][] = [
      ['kubernetes.get', 'UNAVAILABLE', () => client.get(MAPS), 503, 'ServiceUnavailable'],
      ['kubernetes.create', 'PERMISSION_DENIED', () => client.call('POST', MAPS, map('not')), 403, 'Forbidden'],
      ['kubernetes.*', 'RESOURCE_EXHAUSTED', () => client.call('DELETE', `${MAPS}/not`), 429, 'TooManyRequests'],
    ];
    for (const [method, code, call, status, reason] of cases) {
      await refuse(method, code);
      const answer = await call();
      assert.deepEqual([answer.status, answer.at('reason'), answer.at('message')], [status, reason, 'rehearsed']);
    }
    assert.equal((await client.get(`${MAPS}/not`)).status, 404);
    await refuse('kubernetes.create', 'UNAVAILABLE', { afterEffect: true });
    assert.equal((await client.call('POST', MAPS, map('lost'))).status, 503);
    assert.equal((await client.get(`${MAPS}/lost`)).status, 200);
  });

  it('has each state of an object in the journal', async () => {
    await client.call('POST', MAPS, map('told'));
    await client.call('DELETE', `${MAPS}/told`);
    const subject = 'namespaces/default/configmaps/told';
    const text = await (await fetch(`${rehearsal.endpoints.admin}/admin/journal?after=0`)).text();
    const events = text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { kind: string; subject: string; details: { from: string; to: string } });
    assert.deepEqual(
      events
        .filter((event) => event.kind === 'kubernetes-state' && event.subject === subject)
        .map(({ details: { from, to } }) => [from, to]),
      [
        ['absent', 'Active'],
        ['Active', 'gone'],
      ],
    );
  });
});
