import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash, createSecretKey, randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import ssh2 from 'ssh2';
import { deriveJobKey, jobKeysOf, ed25519KeyPair } from '../../cloud/job-keys/open-job-keys.js';
import type { NamedKey } from '../../cloud/keys/key-reference.js';

const secretOf = (id: string, bytes: Buffer = randomBytes(32)): NamedKey => ({ id, secret: createSecretKey(bytes) });
const JOB = { id: 'train-7f3k', run: '0192f0aa-1111-7222-8333-444455556666' };

/** Their SHA-256, or the public key of that as a seed, begins with the byte 0 or 255, or ends with 0: one key of hundreds does. */
const ODD_SEEDS = ['70', '124', '248', '286', '403', '469'];

describe('the key of a job', () => {
  /**
   * Of the secret 00 01 .. 1f, by Python's `cryptography` 48.0.0: `HKDF(SHA256(), 32, salt=None, info=b"\0".join([b"jobctl job key 1",
   * job.encode(), run.encode()])).derive(secret)`, `Ed25519PrivateKey.from_private_bytes(seed)`, and of that the public key in the
   * encoding and format `OpenSSH`.
   */
  const vectors: Record<string, { readonly job: typeof JOB; readonly publicKey: string }> = {
    'of a usual job': {
      job: JOB,
      publicKey: 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAUfQqLVD6qoMvF4w/zfRtTTcPAGAMcYgxg5a4EBSd6A',
    },
    'of an id beyond ASCII': {
      job: { id: 'größe', run: 'r' },
      publicKey: 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIB2K8OPLAiNKEQH8iep5ZxgkXJZ3remD8pzmZaS6E5tp',
    },
  };
  const counted = secretOf('k', Buffer.from(Array.from({ length: 32 }, (_, at) => at)));
  for (const [name, { job, publicKey }] of Object.entries(vectors))
    it(`is what another implementation makes of the same secret, ${name}`, () =>
      assert.equal(deriveJobKey(counted, job).publicKey, publicKey));

  it('is the same text each time, and another one for another job, another run and another secret', () => {
    const secret = secretOf('a');
    assert.deepEqual(deriveJobKey(secret, JOB), deriveJobKey(secret, { ...JOB }));
    const keys = [
      deriveJobKey(secret, JOB),
      deriveJobKey(secret, { ...JOB, id: 'train-7f3l' }),
      deriveJobKey(secret, { ...JOB, run: '0192f0aa-1111-7222-8333-444455556667' }),
      deriveJobKey(secretOf('a'), JOB),
      // The end of one and the beginning of the other are not interchangeable.
      deriveJobKey(secret, { id: `${JOB.id}0`, run: JOB.run.slice(1) }),
    ];
    assert.equal(new Set(keys.map(({ publicKey }) => publicKey)).size, keys.length);
    assert.equal(new Set(keys.map(({ privateKey }) => privateKey)).size, keys.length);
  });

  it('is not made of what could be two jobs, or none', () => {
    for (const job of [
      { id: '', run: 'r' },
      { id: 'a', run: '' },
      { id: 'a\0b', run: 'c' },
    ])
      assert.throws(() => deriveJobKey(secretOf('a'), job), RangeError);
    assert.throws(() => ed25519KeyPair(Buffer.alloc(31)), /32 bytes, not 31/);
  });

  it('is read by ssh2 whatever the secret is, and the two halves are a pair', () => {
    const seeds = [
      ...ODD_SEEDS.map((word) => createHash('sha256').update(word).digest()),
      ...Array.from({ length: 200 }, () => randomBytes(32)),
    ];
    for (const seed of seeds) {
      const { privateKey, publicKey } = ed25519KeyPair(seed);
      const [own, line] = [privateKey, publicKey].map((text) => ssh2.utils.parseKey(text));
      if (own === undefined || line === undefined || own instanceof Error || line instanceof Error)
        assert.fail(`ssh2 cannot read ${publicKey}`);
      assert.ok(own.isPrivateKey() && own.getPublicSSH().equals(line.getPublicSSH()), publicKey);
      const signature = own.sign('data');
      assert.ok(line.verify('data', signature), publicKey);
    }
  });

  it('is read by OpenSSH, which computes the same public half', () => {
    const folder = mkdtempSync(join(tmpdir(), 'job-key-'));
    try {
      const { privateKey, publicKey } = deriveJobKey(secretOf('a'), JOB);
      writeFileSync(join(folder, 'key'), privateKey, { mode: 0o600 });
      const said = execFileSync('ssh-keygen', ['-y', '-P', '', '-f', join(folder, 'key')], { encoding: 'utf8' });
      assert.equal(said.trim().split(' ').slice(0, 2).join(' '), publicKey);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

describe('the keys of jobs, while secrets are rotated', () => {
  const [old, next] = [secretOf('2025'), secretOf('2026')];
  const before = jobKeysOf({ current: old, former: [] });
  const during = jobKeysOf({ current: next, former: [old] });
  const after = jobKeysOf({ current: next, former: [] });
  const publicOf = (keys: typeof before): string => keys.newest(JOB)?.publicKey ?? assert.fail('no key');

  it('a new job gets the new one, and a job from before keeps its own for as long as its secret is there', () => {
    assert.deepEqual([before.newest(JOB)?.secretId, during.newest(JOB)?.secretId], ['2025', '2026']);
    assert.deepEqual(during.find(JOB, publicOf(before)), before.newest(JOB));
    assert.deepEqual(during.find(JOB, publicOf(during)), after.newest(JOB));
    assert.equal(after.find(JOB, publicOf(before)), undefined);
    assert.deepEqual(during.secretIds, ['2026', '2025']);
  });

  it('a key of another job is nobody else’s, and a comment on the line does not matter', () => {
    assert.equal(during.find({ ...JOB, id: 'other' }, publicOf(during)), undefined);
    assert.equal(during.find(JOB, ` ${publicOf(during)} ada@here \n`)?.secretId, '2026');
    assert.equal(during.find(JOB, 'nonsense'), undefined);
  });

  it('without a secret of new jobs there are no keys for them, and those of former ones are found', () => {
    const formerOnly = jobKeysOf({ former: [old] });
    assert.equal(formerOnly.newest(JOB), undefined);
    assert.deepEqual(formerOnly.find(JOB, publicOf(before)), before.newest(JOB));
  });

  it('no text of the keys shows a secret', () => {
    const bytes = next.secret.export();
    for (const text of [JSON.stringify(next), JSON.stringify(during), String(during.newest(JOB)?.privateKey)])
      for (const form of ['base64', 'hex'] as const) assert.ok(!text.includes(bytes.toString(form)));
  });
});
