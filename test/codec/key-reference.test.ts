import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CodecKeyError, newCodecKey, parseCodecKey, splitReferences } from '../../cloud/codec/codec-key.js';
import { loadCodecKey, openCodec } from '../../cloud/codec/payload-codec.js';

const GOOD = newCodecKey(new Date(Date.UTC(2026, 10, 21)), 'k1');
const SECRET_PART = GOOD.slice('k1:'.length);
const NOWHERE = { environment: {} };

describe('a codec key', () => {
  it('is made with the day in its id, and read back', () => {
    const made = newCodecKey(new Date(Date.UTC(2026, 10, 21)));
    assert.match(made, /^2026-11-21-[0-9a-f]{6}:[A-Za-z0-9+/]{43}=$/);
    assert.equal(parseCodecKey(`${made}\n`, 'here').secret.symmetricKeySize, 32);
    assert.notEqual(newCodecKey(new Date(0), 'a'), newCodecKey(new Date(0), 'a'));
  });

  const wrong: Record<string, readonly [text: string, said: RegExp]> = {
    'an empty file': ['', /holds no codec key: wanted one line, ID:BASE64/],
    'a key without an id': [SECRET_PART, /holds no codec key/],
    'an id with a blank': [`k 1:${SECRET_PART}`, /holds no codec key/],
    'two keys': [`${GOOD}\n${GOOD}`, /holds no codec key/],
    '16 bytes': [`k1:${Buffer.alloc(16).toString('base64')}`, /key 'k1' is 16 bytes: wanted 32 bytes/],
    'what is no base64': [`k1:${'?'.repeat(44)}`, /key 'k1' is no base64/],
  };
  for (const [name, [text, said]] of Object.entries(wrong)) {
    it(`${name} is refused, with where it is and how to make one, without the key`, () => {
      assert.throws(
        () => parseCodecKey(text, 'file:///k'),
        (error) => {
          assert.ok(error instanceof CodecKeyError);
          assert.match(error.message, said);
          assert.match(error.message, /^file:\/\/\/k: [^]*jobctl codec new-key/);
          assert.ok(!error.message.includes(SECRET_PART));
          return true;
        },
      );
    });
  }
});

describe('a reference to a codec key', () => {
  let folder: string;
  let file: string;
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'jobctl-codec-'));
    file = join(folder, 'key');
    writeFileSync(file, `${GOOD}\n`, { mode: 0o600 });
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  it('names a file or an environment variable', async () => {
    assert.equal((await loadCodecKey(`file://${file}`, NOWHERE)).id, 'k1');
    assert.equal((await loadCodecKey('env:KEY', { environment: { KEY: GOOD } })).id, 'k1');
  });

  const refused: Record<string, readonly [reference: () => string, said: RegExp]> = {
    'a file that is not there': [() => `file://${folder}/no`, /\/no: the codec key cannot be read: ENOENT/],
    'a folder': [() => `file://${folder}`, /cannot be read: EISDIR/],
    'another host': [() => 'file://host/key', /is no address of a file on this machine/],
    'a variable that is not set': [() => 'env:NO_KEY', /env:NO_KEY: this environment variable is not set/],
    'a path': [() => '/etc/key', /'\/etc\/key' is no reference to a key: wanted file:\/\/\/PATH, env:NAME or/],
    'the key itself': [() => GOOD, /what is given is no reference/],
  };
  for (const [name, [reference, said]] of Object.entries(refused)) {
    it(`${name} is refused`, async () => {
      await assert.rejects(loadCodecKey(reference(), NOWHERE), (error) => {
        assert.ok(error instanceof CodecKeyError);
        assert.match(error.message, said);
        assert.ok(!error.message.includes(SECRET_PART));
        return true;
      });
    });
  }

  it('a file that others can read or change is refused; a group may read', async () => {
    for (const [mode, can] of [
      [0o604, 'read'],
      [0o644, 'read'],
      [0o620, 'write'],
      [0o602, 'write'],
    ] as const) {
      chmodSync(file, mode);
      const said = new RegExp(`others can ${can} this key \\(mode ${mode.toString(8)}\\)\n  chmod 600 ${file}`);
      await assert.rejects(loadCodecKey(`file://${file}`, NOWHERE), said);
    }
    chmodSync(file, 0o440);
    assert.equal((await loadCodecKey(`file://${file}`, NOWHERE)).id, 'k1');
  });

  it('two different keys of one id are refused; the same one twice is not', async () => {
    const environment = { A: GOOD, B: newCodecKey(new Date(0), 'k1') };
    const open = (...decodeKeys: string[]): Promise<unknown> =>
      openCodec({ key: 'env:A', decodeKeys }, { onUnknownKey: 'fail', environment });
    await assert.rejects(open('env:B'), /env:A and env:B: two different keys of the id 'k1'/);
    await open('env:A');
  });

  it('several are given with commas', () => {
    assert.deepEqual(splitReferences(' env:A, file:///b ,'), ['env:A', 'file:///b']);
  });
});

/** The documented method versions.access; the real service cannot be asked here. */
describe('a codec key in Secret Manager', () => {
  const asked: string[] = [];
  let server: Server;
  let secretManagerEndpoint: string;
  before(async () => {
    server = createServer(({ url = '' }, response) => {
      asked.push(url);
      const [status, body] = ANSWERS[url] ?? [404, { error: { code: 404, message: 'Secret not found.' } }];
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    secretManagerEndpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  after(() => server.close());

  const version = (secret: string, number: string): string => `projects/p/secrets/${secret}/versions/${number}`;
  const data = Buffer.from(`${GOOD}\n`).toString('base64');
  const ANSWERS: Record<string, readonly [number, object]> = {
    [`/v1/${version('s', '3')}:access`]: [200, { name: version('s', '3'), payload: { data } }],
    [`/v1/${version('s', 'latest')}:access`]: [200, { name: version('s', '3'), payload: { data } }],
    [`/v1/${version('closed', '1')}:access`]: [403, { error: { code: 403, message: "Permission 'x' denied" } }],
  };
  const load = (reference: string): Promise<{ id: string }> =>
    loadCodecKey(reference, { environment: {}, secretManagerEndpoint });

  it('is asked for once per version and process; latest is asked for again', async () => {
    for (const number of ['3', '3', 'latest', 'latest']) assert.equal((await load(version('s', number))).id, 'k1');
    assert.equal(asked.filter((url) => url.endsWith('/3:access')).length, 1);
    assert.equal(asked.filter((url) => url.endsWith('/latest:access')).length, 2);
  });

  it('what Google refuses is told in its words, with what to do', async () => {
    await assert.rejects(
      load(version('closed', '1')),
      /Permission 'x' denied \(HTTP 403\)\n.*secretmanager\.secretAcc/,
    );
    await assert.rejects(
      load(version('none', '1')),
      /versions\/1: .* Secret not found\. \(HTTP 404\)\n.*gcloud secrets/,
    );
    const gone = { environment: {}, secretManagerEndpoint: 'http://127.0.0.1:1' };
    await assert.rejects(loadCodecKey(version('s', '9'), gone), /cannot be read: fetch failed: /);
  });
});
