import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { defaultPayloadConverter, type Payload } from '@temporalio/common';
import proto from '@temporalio/proto';
import fc from 'fast-check';
import { type CodecKey, missingKeyOf, newCodecKey, parseCodecKey } from '../../cloud/codec/codec-key.js';
import { AesGcmPayloadCodec, CodecKeyUnknown, isEncrypted, PayloadTampered } from '../../cloud/codec/payload-codec.js';

const { Payload: PayloadMessage } = proto.temporal.api.common.v1;
const keyNamed = (id: string): CodecKey => parseCodecKey(newCodecKey(new Date(0), id), 'test');
const codecOf = (key: CodecKey | undefined, ...decodeKeys: CodecKey[]): AesGcmPayloadCodec =>
  new AesGcmPayloadCodec({ key, decodeKeys, onUnknownKey: 'fail' });
const payloadOf = (value: unknown): Payload => defaultPayloadConverter.toPayload(value);
const valueOf = (payload: Payload): unknown => defaultPayloadConverter.fromPayload(payload);
const only = (payloads: Payload[]): Payload => payloads[0] as Payload;
const bytesOf = (payload: Payload): Buffer => Buffer.from(payload.data ?? []);
/** With one byte of its data another one. */
function flipped(payload: Payload, at: number): Payload {
  const data = bytesOf(payload);
  data[at] = (data[at] as number) ^ 1;
  return { ...payload, data };
}

describe('the payload codec', () => {
  const key = keyNamed('first');
  const codec = codecOf(key);

  it('gives back every value that it encrypted, with its own metadata', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.oneof(fc.json().map(JSON.parse), fc.uint8Array())), async (values) => {
        const payloads = values.map(payloadOf);
        const decoded = await codec.decode(await codec.encode(payloads));
        assert.deepEqual(decoded.map(valueOf), payloads.map(valueOf));
        for (const [index, { metadata }] of decoded.entries())
          assert.deepEqual(Object.keys(metadata ?? {}), Object.keys(payloads[index]?.metadata ?? {}));
      }),
    );
  });

  it('shows nothing of a value but its length, and encrypts equal values differently', async () => {
    const payload = payloadOf('MARKER-7f3a');
    const [one, two] = (await codec.encode([payload, payload])) as [Payload, Payload];
    assert.ok(!bytesOf(one).includes('MARKER'));
    assert.ok(!bytesOf(one).includes('json/plain'), 'the kind of the value is not shown either');
    assert.notDeepEqual(bytesOf(one), bytesOf(two));
    assert.notDeepEqual(bytesOf(one).subarray(0, 12), bytesOf(two).subarray(0, 12), 'the nonce is new each time');
    assert.deepEqual(Object.keys(one.metadata ?? {}), ['encoding', 'encryption-key-id']);
  });

  it('reads what docs/encryption.md states byte by byte', async () => {
    const { key: docKey, payload, plain } = docVector();
    const decoded = only(await codecOf(docKey).decode([payload]));
    assert.equal(valueOf(decoded), 'hello');
    assert.equal(Buffer.from(PayloadMessage.encode(decoded).finish()).toString('hex'), plain);
  });

  it('any byte that was changed is refused, and so is a data that is too short', async () => {
    const encrypted = only(await codec.encode([payloadOf({ a: 1 })]));
    for (let at = 0; at < bytesOf(encrypted).length; at++)
      await assert.rejects(codec.decode([flipped(encrypted, at)]), PayloadTampered, `byte ${at}`);
    await assert.rejects(codec.decode([{ ...encrypted, data: bytesOf(encrypted).subarray(0, 27) }]), PayloadTampered);
    await assert.rejects(codec.decode([{ ...encrypted, data: Buffer.alloc(0) }]), PayloadTampered);
  });

  it('the key id is authenticated: the same key under another id does not open it', async () => {
    const renamed: CodecKey = { id: 'second', secret: key.secret };
    const encrypted = only(await codec.encode([payloadOf(1)]));
    const moved = { ...encrypted, metadata: { ...encrypted.metadata, 'encryption-key-id': Buffer.from('second') } };
    await assert.rejects(codecOf(renamed).decode([moved]), /a payload of key 'second' cannot be decrypted/);
  });

  it('plain payloads pass: jobs begun before encryption was on go on', async () => {
    const plain = payloadOf({ job: 1 });
    assert.deepEqual(await codec.decode([plain]), [plain]);
    assert.deepEqual(await codecOf(undefined, key).encode([plain]), [plain], 'without a key nothing is encrypted');
  });

  it('an older key decrypts and the newer one encrypts; one that is not there is named', async () => {
    const newer = keyNamed('newer');
    const old = await codec.encode([payloadOf('old')]);
    const rotated = codecOf(newer, key);
    assert.equal(valueOf(only(await rotated.decode(old))), 'old');
    const fresh = only(await rotated.encode([payloadOf('new')]));
    assert.equal(Buffer.from(fresh.metadata?.['encryption-key-id'] ?? []).toString(), 'newer');
    await assert.rejects(codec.decode([fresh]), (error) => {
      assert.ok(error instanceof CodecKeyUnknown);
      assert.match(error.message, /key 'newer', and the keys here are first: give it as codec.decodeKeys/);
      return true;
    });
    await assert.rejects(codecOf(undefined).decode([fresh]), /no codec key is configured/);
  });

  it('for people who look, what has no key is marked with its id; what was tampered with is still refused', async () => {
    const marking = new AesGcmPayloadCodec({ onUnknownKey: 'mark' });
    const encrypted = only(await codec.encode([payloadOf('secret')]));
    assert.equal(missingKeyOf(valueOf(only(await marking.decode([encrypted])))), 'first');
    assert.equal(missingKeyOf({ other: 1 }), undefined);
    const both = new AesGcmPayloadCodec({ key, onUnknownKey: 'mark' });
    await assert.rejects(both.decode([flipped(encrypted, 20)]), PayloadTampered);
  });

  it('a payload that has been encrypted is known by its encoding alone', async () => {
    assert.equal(isEncrypted(only(await codec.encode([payloadOf(1)]))), true);
    assert.equal(isEncrypted(payloadOf(1)), false);
    assert.equal(isEncrypted({}), false);
  });
});

/** The test vector, from the page that other languages' programs are written after. */
function docVector(): { readonly key: CodecKey; readonly payload: Payload; readonly plain: string } {
  const page = readFileSync(new URL('../../docs/encryption.md', import.meta.url), 'utf8');
  const part = (pattern: RegExp): string => pattern.exec(page)?.[1] ?? assert.fail(`docs/encryption.md: no ${pattern}`);
  const key = parseCodecKey(part(/the key `(\S+)`/), 'docs/encryption.md');
  const metadata = { encoding: Buffer.from('binary/encrypted'), 'encryption-key-id': Buffer.from(key.id) };
  const data = Buffer.from(part(/\(base64\)\n```\n(\S+)\n/), 'base64');
  return { key, payload: { metadata, data }, plain: part(/is the payload `([0-9a-f]+)`/) };
}
