import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLocalJWKSet, decodeProtectedHeader, type JSONWebKeySet, jwtVerify } from 'jose';
import { jobctl, refusalOf } from './command-line.js';

const HOLDERS = { admin: 'tpu:admin', server: 'tpu:write', worker: 'tpu:write', people: 'tpu:read' } as const;
type Holder = keyof typeof HOLDERS;

/** What a Temporal server makes of them: test/long/server/on-postgres.test.ts. */
describe('jobctl setup api-keys', function () {
  this.timeout(60_000);
  let root: string;
  let folder: string;
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'jobctl-api-keys-'));
    folder = join(root, 'keys');
  });
  afterEach(() => rmSync(root, { recursive: true }));

  const make = async (...more: readonly string[]): Promise<string> => {
    const { exitCode, stdout, stderr } = await jobctl(
      ['setup', 'api-keys', '--folder', folder, '--namespace', 'tpu', ...more],
      { HOME: root },
    );
    assert.equal(exitCode, 0, stderr);
    return stdout;
  };
  const apiKey = (holder: Holder): string => readFileSync(join(folder, holder, 'api-key'), 'utf8').trim();
  const keySet = (): JSONWebKeySet =>
    JSON.parse(readFileSync(join(folder, 'public/key-set.json'), 'utf8')) as JSONWebKeySet;
  const idsOf = ({ keys }: JSONWebKeySet): (string | undefined)[] => keys.map(({ kid }) => kid);
  const verified = async (token: string, keys = keySet()) =>
    (await jwtVerify(token, createLocalJWKSet(keys), { algorithms: ['ES256'] })).payload;

  it('makes a key for each holder, with its role in the namespace, which the key set verifies', async () => {
    const before = Date.now();
    const printed = await make('--valid-for', '2h');
    for (const holder of Object.keys(HOLDERS) as Holder[]) {
      const { permissions, sub, exp = 0 } = await verified(apiKey(holder));
      assert.deepEqual([permissions, sub], [[HOLDERS[holder]], `jobctl ${holder}`]);
      const lifeMs = exp * 1_000 - before;
      assert.ok(lifeMs > 7_190_000 && lifeMs < 7_260_000, String(lifeMs));
      assert.ok(!printed.includes(apiKey(holder)), 'no key is printed');
    }
    assert.match(printed, new RegExp(`${folder}/worker/api-key: tpu:write, for workers`));
  });

  it('keeps everything but the key set to its owner, and no private half in that', async () => {
    await make();
    const modeOf = (name: string): string => (statSync(join(folder, name)).mode & 0o777).toString(8);
    assert.deepEqual(
      [
        'signing/signing-keys.json',
        'signing',
        'worker/api-key',
        'worker',
        'people/api-key',
        'public/key-set.json',
        'public',
        '.',
      ].map(modeOf),
      ['600', '700', '600', '700', '600', '644', '755', '755'],
    );
    assert.ok(keySet().keys.every((key) => key['d'] === undefined && key.kty === 'EC'));
    assert.deepEqual(readdirSync(join(folder, 'worker')), ['api-key']);
  });

  it('repeated, makes new API keys by the same key set; --json names the files', async () => {
    await make();
    const [keys, old] = [keySet(), apiKey('worker')];
    const printed = JSON.parse(await make('--valid-for', '100d', '--output', 'json')) as { keySet: string };
    assert.equal(printed.keySet, join(folder, 'public/key-set.json'));
    assert.deepEqual(keySet(), keys);
    assert.notEqual(apiKey('worker'), old);
    await verified(old);
  });

  it('rotated, signs with a key that was published before, and takes old keys until the next rotation', async () => {
    await make();
    const [first, old] = [keySet(), apiKey('worker')];
    await make('--rotate');
    const { kid } = decodeProtectedHeader(apiKey('worker'));
    assert.ok(idsOf(first).includes(kid), 'a server that has not read the set again knows it');
    assert.notEqual(kid, decodeProtectedHeader(old).kid);
    await verified(apiKey('worker'), first);
    await verified(old);
    await make('--rotate');
    await assert.rejects(verified(old), /no applicable key/);
    assert.equal(keySet().keys.length, 3);
  });

  it('gives a renewed file to the account that its folder was given to', async function () {
    // Root alone gives files away; `.ci/run` is root, and fails what is skipped.
    if (process.getuid?.() !== 0) this.skip();
    await make();
    const { chownSync } = await import('node:fs');
    chownSync(join(folder, 'worker'), 1000, 1000);
    await make();
    assert.equal(statSync(join(folder, 'worker/api-key')).uid, 1000);
    assert.equal(statSync(join(folder, 'server/api-key')).uid, 0);
  });

  it('S7: --for-uid gives the folders of all holders away, and what signs to nobody', async function () {
    // As above: nobody but root can give a file away, or read it as the account that got it.
    if (process.getuid?.() !== 0) this.skip();
    const ownerOf = (name: string): number => statSync(join(folder, name)).uid;
    const holders = ['admin', 'people', 'public', 'server', 'worker'];
    await make('--for-uid', '1000');
    assert.deepEqual(readdirSync(folder).toSorted(), [...holders, 'signing'].toSorted());
    const given = holders.flatMap((name) => [name, ...readdirSync(join(folder, name)).map((file) => join(name, file))]);
    for (const name of given) assert.equal(ownerOf(name), 1000, name);
    for (const name of ['.', 'signing', 'signing/signing-keys.json']) assert.equal(ownerOf(name), 0, name);
    // Renewed and rotated, with the flag and without it.
    await make('--rotate');
    for (const name of given) assert.equal(ownerOf(name), 1000, name);
    // A container of that account reads its own folder, and neither what signs nor a way to put something in its place.
    const as1000 = (command: string): string => {
      const { status, stderr } = spawnSync('sh', ['-c', command], {
        cwd: folder,
        uid: 1000,
        gid: 1000,
        encoding: 'utf8',
      });
      return status === 0 ? 'ok' : stderr;
    };
    chmodSync(root, 0o755);
    assert.equal(as1000('cat server/api-key worker/api-key admin/api-key public/key-set.json'), 'ok');
    assert.match(as1000('cat signing/signing-keys.json'), /Permission denied/);
    assert.match(as1000('mv signing mine'), /Permission denied/);
  });

  it('moves what signs out of the folder that older versions kept it in', async () => {
    await make();
    const [before, from] = [keySet(), join(folder, 'signing/signing-keys.json')];
    renameSync(from, join(folder, 'signing-keys.json'));
    rmSync(join(folder, 'signing'), { recursive: true });
    await make();
    assert.deepEqual(keySet(), before);
    assert.deepEqual([existsSync(from), existsSync(join(folder, 'signing-keys.json'))], [true, false]);
  });

  it('refuses what it cannot do, and leaves what is there', async () => {
    const wrong = async (...args: readonly string[]) => refusalOf(['setup', 'api-keys', ...args]);
    assert.match((await wrong('--folder', folder, '--namespace', 'temporal-system')).text, /is no namespace/);
    assert.match((await wrong('--folder', folder, '--namespace', 'a:b')).text, /'a:b': is no namespace/);
    assert.match((await wrong('--folder', folder, '--valid-for', '1s')).text, /less than a minute/);
    mkdirSync(folder);
    mkdirSync(join(folder, 'signing'));
    writeFileSync(join(folder, 'signing/signing-keys.json'), '{"keys": []}');
    const { exitCode, text } = await wrong('--folder', folder);
    assert.equal(exitCode, 2);
    assert.match(text, /signing-keys\.json: does not hold the keys that sign API keys\n {2}restore it/);
    assert.deepEqual(readdirSync(folder), ['signing']);
    writeFileSync(join(root, 'file'), '');
    chmodSync(root, 0o700);
    assert.match((await wrong('--folder', join(root, 'file'))).text, /file: is no folder/);
  });
});
