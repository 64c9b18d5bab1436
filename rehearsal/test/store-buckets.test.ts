import assert from 'node:assert/strict';
import { refusalOf, StoreUnderTest } from './store-under-test.js';

describe('buckets of the rehearsal’s Cloud Storage', () => {
  const store = new StoreUnderTest();
  before(() => store.start());
  after(() => store.stop());

  const B = '/storage/v1/b';
  const create = (body: object, project = 'p'): ReturnType<StoreUnderTest['ask']> =>
    store.ask('POST', `${B}?project=${project}`, { body: { ...body } });

  it('are listed by project, prefix and page', async () => {
    for (const name of ['list-c', 'list-a', 'list-b']) await create({ name }, 'listed');
    await create({ name: 'list-d' }, 'other');
    const names = async (query: string): Promise<readonly unknown[]> => {
      const { json } = await store.ask('GET', `${B}?project=listed&${query}`);
      return [((json?.['items'] ?? []) as { name: string }[]).map((item) => item.name), json?.['nextPageToken']];
    };
    assert.deepEqual(await names(''), [['list-a', 'list-b', 'list-c'], undefined]);
    assert.deepEqual(await names('prefix=list-b'), [['list-b'], undefined]);
    const [first, token] = await names('maxResults=2');
    assert.deepEqual(first, ['list-a', 'list-b']);
    assert.deepEqual(await names(`maxResults=2&pageToken=${String(token)}`), [['list-c'], undefined]);
    assert.deepEqual(refusalOf(await store.ask('GET', B)), [400, 'required', 'Required parameter: project']);
  });

  it('keep what they were made with, over a patch, and over a restart', async () => {
    const lifecycle = { rule: [{ action: { type: 'Delete' }, condition: { age: 30 } }] };
    await create({ name: 'kept', location: 'us-central1', labels: { a: '1', b: '2' }, lifecycle });
    const body = { labels: { a: null, c: '3' }, versioning: { enabled: true } };
    const patched = await store.ask('PATCH', `${B}/kept?ifMetagenerationMatch=1`, { body });
    assert.equal((await store.ask('PATCH', `${B}/kept?ifMetagenerationMatch=1`, { body })).status, 412);
    await store.halt();
    await store.start();
    const { json } = await store.ask('GET', `${B}/kept`);
    assert.deepEqual(
      [json?.['labels'], json?.['lifecycle'], json?.['location']],
      [{ b: '2', c: '3' }, lifecycle, 'US-CENTRAL1'],
    );
    assert.deepEqual([json?.['metageneration'], json?.['versioning']], ['2', patched.json?.['versioning']]);
  });

  it('hold their objects as they are while a retention policy says so, whatever would change them', async () => {
    await create({ name: 'held', retentionPolicy: { retentionPeriod: '86400' } });
    const upload = (name: string): ReturnType<typeof store.ask> =>
      store.ask('POST', `/upload/storage/v1/b/held/o?uploadType=media&name=${name}`, { body: { a: 1 } });
    assert.equal((await upload('one')).status, 200);
    const until = '\\d{4}-.*Z';
    const text = new RegExp(
      `^Object 'held/one' is subject to bucket's retention policy and cannot be deleted, overwritten or archived until ${until}$`,
    );
    const refused = [
      await upload('one'),
      await store.ask('DELETE', `${B}/held/o/one`),
      await store.ask('POST', `${B}/held/o/one/moveTo/o/two`),
      await store.ask('POST', `${B}/held/o/one/copyTo/b/held/o/one`),
    ].map(refusalOf);
    for (const [status, reason, message] of refused) {
      assert.deepEqual([status, reason], [403, 'forbidden']);
      assert.match(String(message), text);
    }
    assert.equal((await store.ask('POST', `${B}/held/o/one/copyTo/b/held/o/two`)).status, 200);
    await store.ask('PATCH', `${B}/held`, { body: { retentionPolicy: null } });
    assert.equal((await upload('one')).status, 200);
    const bad = await create({ name: 'bad', retentionPolicy: { retentionPeriod: '0' } });
    assert.deepEqual(refusalOf(bad), [400, 'invalid', 'Invalid value for: retentionPolicy.retentionPeriod']);
  });

  const names: Record<string, boolean> = {
    abc: true,
    'a.dotted.name': true,
    with_underscore: true,
    ab: false,
    Capital: false,
    '-dash': false,
    'goog-mine': false,
    'my-google-bucket': false,
    '192.168.5.4': false,
    [`${'x'.repeat(64)}`]: false,
  };
  for (const [name, isGood] of Object.entries(names)) {
    it(`${isGood ? 'may' : 'may not'} be called ${name}`, async () => {
      const answer = await create({ name });
      if (isGood) assert.equal(answer.status, 200);
      else assert.deepEqual(refusalOf(answer), [400, 'invalid', `Invalid bucket name: '${name}'`]);
    });
  }

  it('have a policy that changes under its etag', async () => {
    await create({ name: 'ruled' });
    const { json: policy } = await store.ask('GET', `${B}/ruled/iam`);
    const bindings = [{ role: 'roles/storage.objectViewer', members: ['allUsers'] }];
    const body = { ...policy, bindings };
    assert.equal((await store.ask('PUT', `${B}/ruled/iam`, { body })).status, 200);
    assert.deepEqual((await store.ask('GET', `${B}/ruled/iam`)).json?.['bindings'], bindings);
    assert.equal((await store.ask('PUT', `${B}/ruled/iam`, { body })).status, 412);
  });

  it('have no folders, and say so to who looks for a hierarchy', async () => {
    await create({ name: 'flat' });
    const { json } = await store.ask('GET', `${B}/flat/storageLayout`);
    assert.deepEqual(json?.['hierarchicalNamespace'], { enabled: false });
    assert.equal((await store.ask('GET', `${B}/flat/folders`)).status, 409);
    assert.deepEqual((await store.ask('GET', `${B}/flat/managedFolders`)).json, { kind: 'storage#managedFolders' });
    const hierarchical = { name: 'deep', hierarchicalNamespace: { enabled: true } };
    assert.equal((await create(hierarchical)).status, 501);
  });
});
