import assert from 'node:assert/strict';
import { JobClient } from '../../client/job-client.js';
import { GatedApp } from './gated-app.js';

const PATH = '/v1/pools/default/machines';

describe('machines of a pool over HTTP', () => {
  let app: GatedApp;
  before(async () => {
    app = await GatedApp.start();
  });
  after(() => app?.stop());

  it('are shown to operators, and drained in their name', async () => {
    const listed = await app.call('olga', 'GET', PATH);
    assert.equal(listed.status, 200, listed.text);
    const drained = await app.call('olga', 'POST', PATH, { verb: 'drain', names: ['box-1'], reason: 'a fan' });
    assert.deepEqual(
      [listed, drained].map(({ body }) => (body['machines'] as readonly { readonly state: string }[])[0]?.state),
      ['free', 'drained'],
    );
    const asked = { pool: 'default', by: 'olga@example.org' };
    assert.deepEqual(app.told.splice(0), [
      { ...asked, verb: 'ls', names: [] },
      { ...asked, verb: 'drain', names: ['box-1'], reason: 'a fan' },
    ]);
    const [line] = await app.lines(drained);
    assert.deepEqual([line?.verb, line?.decision, line?.subject], ['machines', 'allowed', 'olga@example.org']);
  });

  it('are neither shown nor changed for others', async () => {
    for (const [method, body] of [['GET'], ['POST', { verb: 'undrain', names: ['box-1'] }]] as const) {
      const answer = await app.call('alice', method, PATH, body);
      assert.equal(answer.status, 403, answer.text);
      assert.match(String(answer.body['detail']), /may not drain and undrain machines/);
    }
    assert.deepEqual(app.told, []);
  });

  it('that are not there, or not named, change nothing', async () => {
    const nowhere = await app.call('olga', 'POST', PATH, { verb: 'drain', names: ['none'] });
    assert.deepEqual([nowhere.status, nowhere.body['detail']], [404, 'pool default has no machine none; it has box-1']);
    for (const body of [{ verb: 'drain', names: [] }, { verb: 'release', names: ['box-1'] }, {}])
      assert.equal((await app.call('olga', 'POST', PATH, body)).status, 400);
  });

  it('are reached by the command line through the server, but for what somebody vouches for', async () => {
    const token = await app.issuer.token({ email: 'olga@example.org' });
    const client = await JobClient.connect({ server: app.urls[0] ?? '', token: async () => token });
    const machines = client.machines('default');
    const by = 'somebody';
    assert.deepEqual(
      (await machines.call({ verb: 'ls', names: ['box-1'], by })).machines.map(({ name }) => name),
      ['box-1'],
    );
    await assert.rejects(machines.call({ verb: 'ls', names: ['box-2'], by }), /pool default has no machine box-2/);
    await assert.rejects(machines.call({ verb: 'undrain', names: ['none'], by }), { name: 'MachineNotFound' });
    assert.equal((await machines.call({ verb: 'check', names: ['box-1'], by })).machines[0]?.state, 'free');
    for (const verb of ['examine', 'forget', 'release'] as const)
      await assert.rejects(machines.call({ verb, names: ['box-1'], by }), /has no call for machines/, verb);
  });
});
