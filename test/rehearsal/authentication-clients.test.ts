import assert from 'node:assert/strict';
import { connect } from 'node:tls';
import { until } from '../until.js';
import type { ClientProcess } from './authenticated-cloud.js';
import { AuthenticatedCloud } from './authenticated-cloud.js';

const NOT_THERE = { queuedResource: 'unused', node: 'not-found' };

describe('our adapters on a rehearsal with TLS and authentication', function () {
  this.timeout(60_000);
  const cloud = new AuthenticatedCloud();
  const started: ClientProcess[] = [];
  let onVm: ClientProcess;
  let withLogin: ClientProcess;

  before(async () => {
    await cloud.start();
    const { metadataHost = '', credentialsFile = '' } = cloud.endpoints;
    onVm = cloud.clients({ GCE_METADATA_HOST: metadataHost });
    withLogin = cloud.clients({ GOOGLE_APPLICATION_CREDENTIALS: credentialsFile });
    started.push(onVm, withLogin);
  });
  after(async () => {
    await Promise.all(started.map((client) => client.end()));
    await cloud.stop();
  });
  beforeEach(() => cloud.become({ roles: ['roles/owner'] }));

  it('work with the credentials of a metadata server', async () => {
    assert.deepEqual(await onVm.call('observe'), NOT_THERE);
    assert.equal(await onVm.call('makeBucket'), 'created');
    assert.equal(await onVm.call('write', 'greeting', 'hello'), 'written');
    assert.equal(await onVm.call('read', 'greeting'), 'hello');
    assert.deepEqual(await onVm.call('audit'), []);
  });

  it('work with the credentials of a login', async () => {
    assert.deepEqual(await withLogin.call('observe'), NOT_THERE);
    assert.equal(await withLogin.call('makeBucket'), 'exists');
    assert.equal(await withLogin.call('read', 'greeting'), 'hello');
    assert.deepEqual(await withLogin.call('audit'), []);
  });

  it('are told which permission is missing, on what', async () => {
    // Those that hold a token of this principal keep it: rights are looked up at each call.
    await cloud.become({ roles: ['roles/owner'], denied: ['tpu.nodes.get', 'tpu.nodes.list', 'storage.objects.get'] });
    const node = 'projects/p/locations/us-central1-a/nodes/none';
    await assert.rejects(onVm.call('observe'), ({ name, message }: Error) => {
      assert.equal(name, 'CloudRefused');
      assert.ok(message.includes('tpu.nodes.get') && message.includes(node), message);
      return true;
    });
    await assert.rejects(onVm.call('audit'), { name: 'CloudRefused', message: /tpu\.nodes\.list/ });
    await assert.rejects(onVm.call('read', 'greeting'), { name: 'StoreRefused', message: /storage\.objects\.get/ });
  });

  it('say of a login that is refused a token that it is refused, not that the cloud is away', async () => {
    await cloud.become({ roles: ['roles/owner'], login: 'reauthentication-needed' });
    const fresh = cloud.clients({ GOOGLE_APPLICATION_CREDENTIALS: cloud.endpoints.credentialsFile ?? '' });
    started.push(fresh);
    for (const [verb, name] of [
      ['observe', 'CloudRefused'],
      ['audit', 'CloudRefused'],
      ['read', 'StoreRefused'],
    ] as const) {
      await assert.rejects(fresh.call(verb, 'greeting'), { name }, verb);
    }
  });

  it('renew a token that runs out in the midst of a stream of calls, and nobody notices', async () => {
    // Google's libraries renew five minutes before the end that a token names: here after one second, two before its real end.
    await cloud.become({ roles: ['roles/owner'], tokenSeconds: 301, tokenValidSeconds: 3 });
    await cloud.admin('access', { revokeTokens: true });
    const client = cloud.clients({ GCE_METADATA_HOST: cloud.endpoints.metadataHost ?? '' });
    started.push(client);
    const before = (await cloud.journal('token')).length;
    await client.call('observe');
    const firstEnds = Date.now() + 3000;
    let calls = 0;
    await until('the first token to have run out', async () => {
      for (const verb of ['observe', 'read', 'audit']) await client.call(verb, 'greeting');
      calls += 3;
      return Date.now() > firstEnds;
    });
    const given = (await cloud.journal('token')).length - before;
    assert.ok(given > 3, `${given} tokens for ${calls} calls of three adapters: none was renewed`);
  });

  it('a client that does not trust the authority is not served', async () => {
    const port = Number(new URL(cloud.endpoints.store).port);
    const failure = await new Promise<Error>((resolve, reject) => {
      const socket = connect({ port, host: '127.0.0.1' }, () => reject(new Error('the certificate was accepted')));
      socket.once('error', resolve);
    });
    assert.equal((failure as { code?: string }).code, 'UNABLE_TO_VERIFY_LEAF_SIGNATURE');
  });
});
