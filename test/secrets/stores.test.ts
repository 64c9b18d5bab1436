import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import ssh2 from 'ssh2';
import { openSecretStore } from '../../cloud/secrets/open-secret-store.js';
import { type SecretStore, SecretsRefused, SecretsUnavailable } from '../../cloud/secrets/port.js';
import { SecretManagerServer } from './secret-manager-server.js';

const VALUE = ' hf_s3cret "quotes" $HOME \\ äöü\nsecond line\n';

interface Place {
  readonly store: SecretStore;
  close(): void;
}

function folderPlace(): Place & { readonly folder: string } {
  const folder = join(mkdtempSync(join(tmpdir(), 'jobctl-secrets-')), 'kept');
  const close = (): void => rmSync(join(folder, '..'), { recursive: true, force: true });
  return { store: openSecretStore(pathToFileURL(folder).href), folder, close };
}

async function managerPlace(): Promise<Place & { readonly server: SecretManagerServer }> {
  const server = await SecretManagerServer.start();
  return { store: openSecretStore('projects/team-ml', server.endpoint), server, close: () => server.stop() };
}

const places: Record<string, () => Place | Promise<Place>> = {
  'a folder': folderPlace,
  'Secret Manager': managerPlace,
};
for (const [name, open] of Object.entries(places)) {
  describe(`secrets in ${name}`, () => {
    let place: Place;
    beforeEach(async () => (place = await open()));
    afterEach(() => place.close());

    it('a value is read as it was put, byte for byte', async () => {
      const { store } = place;
      assert.equal(await store.read('wandb'), undefined);
      assert.deepEqual(await store.list(), []);
      assert.equal((await store.put('wandb', VALUE)).isChanged, true);
      assert.equal(await store.read('wandb'), VALUE);
    });

    it('the same value again changes nothing; another one replaces it and has another fingerprint', async () => {
      const { store } = place;
      const first = await store.put('wandb', VALUE);
      const again = await store.put('wandb', VALUE);
      assert.deepEqual([again.isChanged, again.fingerprint], [false, first.fingerprint]);
      const other = await store.put('wandb', `${VALUE}x`);
      assert.deepEqual([other.isChanged, other.fingerprint === first.fingerprint], [true, false]);
      assert.equal(await store.read('wandb'), `${VALUE}x`);
    });

    it('a list has names, fingerprints and times, and no value', async () => {
      const { store } = place;
      for (const name of ['c', 'a', 'b']) await store.put(name, `${VALUE}${name}`);
      const all = await store.list();
      assert.deepEqual(
        all.map(({ name }) => name),
        ['a', 'b', 'c'],
      );
      for (const secret of all) {
        assert.match(secret.fingerprint, /^[0-9a-f]{10}$/);
        assert.ok(secret.putAt > Date.UTC(2026, 0, 1));
      }
      assert.doesNotMatch(JSON.stringify(all), /s3cret/);
    });

    it("a private key is listed by its public fingerprint, ssh-keygen's own", async () => {
      const { store } = place;
      const pair = ssh2.utils.generateKeyPairSync('ecdsa', { bits: 256 });
      const { fingerprint } = await store.put('key', pair.private);
      assert.match(fingerprint, /^SHA256:[A-Za-z0-9+/]{43}$/);
      assert.equal((await store.list())[0]?.fingerprint, fingerprint);
    });

    it('what is removed is gone, and removing it again says so', async () => {
      const { store } = place;
      await store.put('wandb', VALUE);
      assert.deepEqual([await store.remove('wandb'), await store.remove('wandb')], [true, false]);
      assert.equal(await store.read('wandb'), undefined);
    });
  });
}

describe('a folder of secrets', () => {
  let place: ReturnType<typeof folderPlace>;
  beforeEach(() => (place = folderPlace()));
  afterEach(() => place.close());

  it('is readable by its user alone, and nothing half-written is left in it', async () => {
    const { store, folder } = place;
    await Promise.all(['a', 'b', 'a', 'b'].map((name, at) => store.put(name, `${VALUE}${at}`)));
    assert.deepEqual(readdirSync(folder).toSorted(), ['a', 'b']);
    assert.equal(statSync(folder).mode & 0o777, 0o700);
    assert.equal(statSync(join(folder, 'a')).mode & 0o777, 0o600);
  });

  it('a secret that others could have read is refused, with what to do', async () => {
    const { store, folder } = place;
    await store.put('a', VALUE);
    chmodSync(join(folder, 'a'), 0o640);
    await assert.rejects(store.read('a'), (error: Error) => {
      assert.ok(error instanceof SecretsRefused);
      assert.match(error.message, /others can reach this secret \(mode 640\)\n {2}chmod 600 .*\/a/);
      assert.doesNotMatch(error.message, /s3cret/);
      return true;
    });
  });

  it('a name never leads out of it', async () => {
    for (const name of ['../a', 'a/b', '', '.a']) await assert.rejects(place.store.read(name), RangeError);
  });
});

describe('Secret Manager', () => {
  let place: Awaited<ReturnType<typeof managerPlace>>;
  beforeEach(async () => (place = await managerPlace()));
  afterEach(() => place.close());

  it('holds a secret under our prefix and label, and others of the project are out of reach', async () => {
    const { store, server } = place;
    const others = { name: 'projects/team-ml/secrets/prod-db', createTime: '', versions: ['x'] };
    server.secrets.set(others.name, others);
    await store.put('wandb', VALUE);
    assert.deepEqual([...server.secrets.keys()], [others.name, 'projects/team-ml/secrets/jobctl-wandb']);
    assert.equal(await store.read('prod-db'), undefined);
    assert.deepEqual(
      (await store.list()).map(({ name }) => name),
      ['wandb'],
    );
  });

  it('changes and removes nothing that another tool made under our prefix, and nothing that changed since it looked', async () => {
    const { store, server } = place;
    const name = 'projects/team-ml/secrets/jobctl-theirs';
    server.secrets.set(name, { name, createTime: '', labels: { team: 'billing' }, versions: ['x'] });
    await assert.rejects(store.remove('theirs'), /secret jobctl-theirs is not jobctl's/);
    await assert.rejects(store.put('theirs', VALUE), SecretsRefused);
    assert.deepEqual(server.secrets.get(name)?.versions, ['x']);

    await store.put('wandb', VALUE);
    server.changesAfterNextLook = true;
    await assert.rejects(store.remove('wandb'), /etag does not match/);
    assert.equal(await store.read('wandb'), VALUE);
  });

  it('a refusal names the role that is missing; a failure that may pass is another error; no value is in either', async () => {
    const { store, server } = place;
    const cases = [
      [403, SecretsRefused, /Permission denied.*\n {2}workers need roles\/secretmanager\.secretAccessor/s],
      [503, SecretsUnavailable, /cannot .* a secret: try later$/],
      [429, SecretsUnavailable, /cannot .* a secret: Quota exceeded$/],
    ] as const;
    const messages: Readonly<Record<number, string>> = {
      403: 'Permission denied',
      503: 'try later',
      429: 'Quota exceeded',
    };
    for (const [status, kind, said] of cases) {
      server.refusal = { status, message: messages[status] ?? '' };
      for (const call of [() => store.read('a'), () => store.put('a', VALUE), () => store.list()]) {
        await assert.rejects(call(), (error: Error) => {
          assert.ok(error instanceof kind, error.message);
          assert.match(error.message, said);
          assert.doesNotMatch(error.message, /s3cret/);
          return true;
        });
      }
    }
  });

  it('one that does not answer may answer later', async () => {
    place.close();
    await assert.rejects(place.store.read('a'), SecretsUnavailable);
  });
});

describe('a place of secrets', () => {
  for (const wrong of [
    '',
    '/var/secrets',
    'file://host/x',
    'projects/UPPER',
    'gs://bucket/secrets',
    'projects/p/secrets/s',
  ]) {
    it(`'${wrong}' is none`, () =>
      assert.throws(() => openSecretStore(wrong), /is no place of secrets: wanted file:\/\/\/FOLDER, or projects\/P/));
  }
});
