import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { resolveContext } from '../../cli/place/context.js';
import { settleCodec } from '../../cli/local/dev/settle-record.js';
import { newCodecKey } from '../../cloud/codec/codec-key.js';
import { loadWorkerConfig } from '../../worker/config.js';

const WORKER = {
  JOBCTL_BUCKET: 'jobs',
  JOBCTL_GOOGLE_PROJECT: 'p',
  JOBCTL_SSH_PRIVATE_KEY_FILE: '/k',
  JOBCTL_SSH_PUBLIC_KEY_FILE: '/k.pub',
};

describe("the codec's configuration", () => {
  let folder: string;
  const reference = (name: string): string => `file://${folder}/${name}`;
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'jobctl-codec-'));
    for (const name of ['one', 'two'])
      writeFileSync(join(folder, name), newCodecKey(new Date(0), name), { mode: 0o600 });
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  it('a worker takes it from the environment, and a flag beats that; without any there is none', () => {
    const environment = { ...WORKER, JOBCTL_CODEC_KEY: 'env:A', JOBCTL_CODEC_DECODE_KEYS: 'env:B, file:///c' };
    assert.deepEqual(loadWorkerConfig({ environment, flags: {} }).codec, {
      key: 'env:A',
      decodeKeys: ['env:B', 'file:///c'],
    });
    const flagged = loadWorkerConfig({ environment, flags: { 'codec.key': 'env:F' } });
    assert.equal(flagged.codec?.key, 'env:F');
    assert.equal(loadWorkerConfig({ environment: WORKER, flags: {} }).codec, undefined);
  });

  it("a worker's file lists keys, and a word that is not known there is refused", () => {
    const file = join(folder, 'worker.json');
    const codec = { key: 'env:A', decodeKeys: ['env:B'] };
    writeFileSync(file, JSON.stringify({ codec }));
    assert.deepEqual(loadWorkerConfig({ file, environment: WORKER, flags: {} }).codec, codec);
    writeFileSync(file, JSON.stringify({ codec: { keys: 'env:A' } }));
    assert.throws(() => loadWorkerConfig({ file, environment: WORKER, flags: {} }), /codec: .*keys/);
  });

  it('the command line takes it from flag, environment, and the local stack', () => {
    const nowhere = { JOBCTL_HOME: join(folder, 'none') };
    const environment = { ...nowhere, JOBCTL_CODEC_KEY: 'env:A' };
    assert.deepEqual(resolveContext({}, environment).temporal.codec, { key: 'env:A' });
    assert.deepEqual(resolveContext({ codecKey: 'env:F' }, environment).temporal.codec, { key: 'env:F' });
    assert.equal(resolveContext({}, nowhere).temporal.codec, undefined);
    const stack = {
      temporal: { address: 'a:1', namespace: 'n', uiUrl: null },
      store: {},
      cloud: {},
      codec: { key: 'S' },
    };
    writeFileSync(join(folder, 'context.json'), JSON.stringify(stack));
    assert.deepEqual(resolveContext({}, { JOBCTL_HOME: folder }).temporal.codec, { key: 'S' });
    const elsewhere = { JOBCTL_HOME: folder, TEMPORAL_ADDRESS: 'b:1' };
    assert.equal(resolveContext({}, elsewhere).temporal.codec, undefined, "another Temporal is not the stack's");
  });

  it('a local stack that gets another key, or none, keeps the earlier ones for decoding', async () => {
    const first = await settleCodec(undefined, reference('one'));
    assert.deepEqual(first, { key: reference('one') });
    assert.deepEqual(await settleCodec(first, undefined), first, 'it is remembered');
    const second = await settleCodec(first, reference('two'));
    assert.deepEqual(second, { key: reference('two'), decodeKeys: [reference('one')] });
    assert.deepEqual(await settleCodec(second, null), { decodeKeys: [reference('two'), reference('one')] });
    assert.deepEqual(await settleCodec(second, reference('one')), {
      key: reference('one'),
      decodeKeys: [reference('two')],
    });
    assert.equal(await settleCodec(undefined, null), undefined);
    await assert.rejects(settleCodec(undefined, 'env:A'), /is in this shell alone/);
    await assert.rejects(settleCodec(undefined, reference('three')), /the codec key cannot be read: ENOENT/);
  });
});
