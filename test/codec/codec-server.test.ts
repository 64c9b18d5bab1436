import assert from 'node:assert/strict';
import { defaultPayloadConverter, type Payload } from '@temporalio/common';
import { type CodecServerOptions, startCodecServer } from '../../cli/commands/verbs/codec.js';
import { newCodecKey, parseCodecKey } from '../../cloud/codec/codec-key.js';
import { AesGcmPayloadCodec, payloadsFromJson, payloadsToJson } from '../../cloud/codec/payload-codec.js';

const UI = 'http://127.0.0.1:8233';
const key = parseCodecKey(newCodecKey(new Date(0), 'k1'), 'test');
const codec = new AesGcmPayloadCodec({ key, onUnknownKey: 'mark' });
const foreign = new AesGcmPayloadCodec({
  key: parseCodecKey(newCodecKey(new Date(0), 'k2'), 'test'),
  onUnknownKey: 'fail',
});
const bodyOf = async (values: readonly unknown[], by = codec): Promise<string> =>
  payloadsToJson(await by.encode(values.map((value) => defaultPayloadConverter.toPayload(value))));
const valuesOf = (text: string): unknown[] =>
  payloadsFromJson(text).map((payload: Payload) => defaultPayloadConverter.fromPayload(payload));

describe('the codec server', () => {
  const running: { close(): Promise<void> }[] = [];
  afterEach(async () => {
    for (const server of running.splice(0)) await server.close();
  });

  async function start(
    options: Partial<CodecServerOptions> = {},
  ): Promise<(path: string, init?: RequestInit) => Promise<Response>> {
    const server = await startCodecServer({
      codec,
      host: '127.0.0.1',
      port: 0,
      uiOrigins: [UI],
      isEncoding: false,
      ...options,
    });
    running.push(server);
    return (path, init = {}) => fetch(`http://127.0.0.1:${server.port}${path}`, init);
  }
  const post = (body: string, headers: Record<string, string> = {}): RequestInit => ({
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-namespace': 'default', ...headers },
    body,
  });

  it('decodes what a worker encrypted, as the Web UI asks for it, and leaves plain payloads as they are', async () => {
    const ask = await start();
    const [encrypted] = payloadsFromJson(await bodyOf([{ job: 'MARKER' }]));
    const body = payloadsToJson([encrypted as Payload, defaultPayloadConverter.toPayload('plain')]);
    const response = await ask('/decode', post(body, { origin: UI }));
    assert.deepEqual(
      [response.status, response.headers.get('access-control-allow-origin'), response.headers.get('cache-control')],
      [200, UI, 'no-store'],
    );
    const text = await response.text();
    assert.deepEqual(valuesOf(text), [{ job: 'MARKER' }, 'plain']);
    const { payloads } = JSON.parse(text) as { payloads: { metadata: Record<string, string> }[] };
    // The `temporal` command 1.5 refuses fields that its version of the message does not have, such as externalPayloads.
    for (const payload of payloads) assert.deepEqual(Object.keys(payload).toSorted(), ['data', 'metadata']);
    assert.equal(Buffer.from(payloads[0]?.metadata['encoding'] ?? '', 'base64').toString(), 'json/plain');
    assert.equal((await ask('/default/decode', post(body))).status, 200, 'the temporal command says no origin');
  });

  it("a page of another origin is refused, and not told that it may ask; the UI's own is", async () => {
    const ask = await start();
    const body = await bodyOf(['MARKER']);
    for (const origin of ['http://evil.example', 'null', 'http://127.0.0.1:82333', 'https://127.0.0.1:8233']) {
      for (const init of [post(body, { origin }), { method: 'OPTIONS', headers: { origin } }]) {
        const response = await ask('/decode', init);
        assert.deepEqual([response.status, response.headers.get('access-control-allow-origin')], [403, null], origin);
        assert.ok(!(await response.text()).includes('MARKER'));
      }
    }
    const preflight = await ask('/decode', { method: 'OPTIONS', headers: { origin: UI } });
    assert.equal(preflight.status, 204);
    assert.match(preflight.headers.get('access-control-allow-headers') ?? '', /content-type, x-namespace/);
  });

  it('a token, where one is configured, has to be there', async () => {
    const ask = await start({ token: 'a-token-of-some-length' });
    const body = await bodyOf(['secret']);
    for (const authorization of ['', 'Bearer', 'Bearer a-token-of-some-lengtH', 'a-token-of-some-length'])
      assert.equal((await ask('/decode', post(body, { authorization }))).status, 401, authorization);
    const good = await ask('/decode', post(body, { authorization: 'Bearer a-token-of-some-length' }));
    assert.deepEqual(valuesOf(await good.text()), ['secret']);
  });

  it('encodes only where that was allowed', async () => {
    const body = payloadsToJson([defaultPayloadConverter.toPayload('x')]);
    assert.equal((await (await start())('/encode', post(body))).status, 404);
    const encoded = await (await (await start({ isEncoding: true }))('/encode', post(body))).text();
    assert.deepEqual(valuesOf(payloadsToJson(await codec.decode(payloadsFromJson(encoded)))), ['x']);
    assert.ok(!Buffer.from(JSON.stringify(encoded)).includes(Buffer.from('"x"').toString('base64')));
  });

  it('a payload of a key that it does not have is shown as that; one that was tampered with is an error', async () => {
    const ask = await start();
    const unknown = await ask('/decode', post(await bodyOf(['x'], foreign)));
    assert.deepEqual(valuesOf(await unknown.text()), [{ 'jobctl.encryptedWith': 'k2' }]);
    const [payload] = payloadsFromJson(await bodyOf(['x'])) as [Payload];
    (payload.data as Uint8Array)[30]! ^= 1;
    const tampered = await ask('/decode', post(payloadsToJson([payload])));
    assert.equal(tampered.status, 400);
    assert.match(await tampered.text(), /key 'k1' cannot be decrypted/);
  });

  const refused: Record<string, readonly [path: string, init: RequestInit, status: number]> = {
    'another path': ['/', post('{}'), 404],
    'a path around it': ['/a/b/decode', post('{}'), 404],
    'a GET': ['/decode', {}, 405],
    'a form': ['/decode', { method: 'POST', body: new URLSearchParams({ a: 'b' }) }, 415],
    'what is no JSON': ['/decode', post('{'), 400],
    'what is no list of payloads': ['/decode', post('{"payloads": {}}'), 400],
    null: ['/decode', post('null'), 400],
    'more than 16 MB': ['/decode', post(`{"payloads": [], "x": "${'x'.repeat(16_000_000)}"}`), 413],
  };
  for (const [name, [path, init, status]] of Object.entries(refused))
    it(`${name} is refused with ${status}`, async () => {
      const ask = await start();
      assert.equal((await ask(path, init)).status, status);
    });

  it('a port that is taken is named', async () => {
    const first = await startCodecServer({ codec, host: '127.0.0.1', port: 0, uiOrigins: [], isEncoding: false });
    running.push(first);
    await assert.rejects(
      start({ port: first.port }),
      /cannot listen on 127\.0\.0\.1:\d+: EADDRINUSE; choose another --port/,
    );
  });
});
