import assert from 'node:assert/strict';
import { connect } from 'node:tls';
import { until } from '../until.js';
import { AuthenticatedCloud } from '../../rehearsal/test/authenticated-cloud.js';
import { AdapterProcess } from './adapter-process.js';
import { GOOGLE_PROJECT, ZONE } from './cloud-tpu-plan.js';

const NOT_THERE = { kind: 'missing' };

describe('our adapters on a rehearsal with TLS and authentication', function () {
  this.timeout(60_000);
  const cloud = new AuthenticatedCloud();
  let onVm: AdapterProcess;
  let withLogin: AdapterProcess;

  before(async () => {
    await cloud.start();
    const { metadataHost = '', credentialsFile = '' } = cloud.endpoints;
    onVm = new AdapterProcess(cloud, { GCE_METADATA_HOST: metadataHost });
    withLogin = new AdapterProcess(cloud, { GOOGLE_APPLICATION_CREDENTIALS: credentialsFile });
  });
  after(async () => {
    await Promise.all([onVm.end(), withLogin.end()]);
    await cloud.stop();
  });
  // Google's libraries renew a token five minutes before the end that it names: these at each call.
  const owner = { roles: ['roles/owner'], tokenSeconds: 300 };
  beforeEach(() => cloud.become(owner));

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

  it('upload in chunks, with a token for each, and are told which right is missing', async () => {
    for (const client of [onVm, withLogin]) {
      const name = client === onVm ? 'from a VM' : 'from a login';
      assert.equal(await client.call('upload', name, '9000000'), 'uploaded');
      assert.equal(await client.call('upload', name, '9000000'), 'exists');
    }
    await cloud.become({ ...owner, denied: ['storage.objects.create'] });
    await assert.rejects(onVm.call('upload', 'denied', '2000000'), {
      name: 'StoreRefused',
      message: /gs:\/\/clients\/denied.*storage\.objects\.create/,
    });
  });

  it('are told which permission is missing, on what', async () => {
    await cloud.become({ ...owner, denied: ['tpu.nodes.get', 'tpu.nodes.list', 'storage.objects.get'] });
    const node = `projects/${GOOGLE_PROJECT}/locations/${ZONE}/nodes/none`;
    await assert.rejects(onVm.call('observe'), ({ name, message }: Error) => {
      assert.equal(name, 'CloudRefused');
      assert.ok(message.includes('tpu.nodes.get') && message.includes(node), message);
      return true;
    });
    await assert.rejects(onVm.call('audit'), { name: 'CloudRefused', message: /tpu\.nodes\.list/ });
    await assert.rejects(onVm.call('read', 'greeting'), { name: 'StoreRefused', message: /storage\.objects\.get/ });
  });

  it('are refused a slice for want of rights, then carry one from its creation to its end', async () => {
    await cloud.become({ ...owner, denied: ['tpu.nodes.create'] });
    const { kind, scope } = (await onVm.call('create')) as { readonly kind: string; readonly scope?: string };
    assert.deepEqual([kind, scope], ['refused', 'installation']);
    await cloud.become({ ...owner, roles: ['roles/tpu.admin'] });
    const state = async (): Promise<string> => JSON.stringify(await onVm.call('look'));
    assert.equal(((await onVm.call('create')) as { readonly kind: string }).kind, 'accepted');
    await until('the slice to be ready', async () => (await state()).includes('"kind":"ready"'));
    assert.equal(((await onVm.call('remove')) as { readonly kind: string }).kind, 'accepted');
    await until('the slice to be gone', async () => (await state()).includes('"kind":"missing"'));
  });

  it('say of a login that is refused a token that it is refused, not that the cloud is away', async () => {
    await cloud.become({ ...owner, login: 'reauthentication-needed' });
    for (const [verb, name] of [
      ['observe', 'CloudRefused'],
      ['audit', 'CloudRefused'],
      ['read', 'StoreRefused'],
    ] as const) {
      await assert.rejects(withLogin.call(verb, 'greeting'), { name }, verb);
    }
  });

  it('renew a token that runs out in the midst of a stream of calls, and nobody notices', async () => {
    // Renewed after one second, three before its real end.
    await cloud.become({ ...owner, tokenSeconds: 301, tokenValidSeconds: 4 });
    const given = async (): Promise<number> => (await cloud.journal('token')).length;
    const before = await given();
    await onVm.call('observe');
    const firstEnds = Date.now() + 4000;
    const noticed: unknown[] = [];
    await until('the first tokens to have run out, and others to be used', async () => {
      for (const verb of ['observe', 'read', 'audit']) {
        await onVm.call(verb, 'greeting').catch((error: unknown) => noticed.push(error));
      }
      // One for each of the three adapters would be all, if none was renewed.
      return noticed.length > 0 || (Date.now() > firstEnds && (await given()) - before > 3);
    });
    assert.deepEqual(noticed, []);
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
