import { dirname, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { hkdfSync, createHash, createPrivateKey, createPublicKey } from 'node:crypto';
import {
  KeyFailure,
  type KeyUse,
  refuseTwins,
  type NamedKey,
  type KeyPlaces,
  loadKey,
  pathOfReference,
} from '../keys/key-reference.js';
import type { JobKeys, JobKey, KeyedJob } from './port.js';

/** A mistake in the configuration of job keys: the place, the value and the remedy. The message never contains a secret. */
export class JobKeySecretError extends KeyFailure {
  override readonly name = 'JobKeySecretError';
}

export const JOB_KEY_SECRET: KeyUse = {
  noun: 'job-key secret',
  makeOne: 'make one: jobctl setup job-keys --file FILE',
  Failure: JobKeySecretError,
};

/** References to the secrets that job keys are made from: file:///PATH, env:NAME or projects/P/secrets/S/versions/V. */
export interface JobKeyReferences {
  /** Makes the keys of new jobs. Absent: new jobs get the installation's key. */
  readonly current?: string | undefined;
  /** Older secrets, for jobs that were accepted with them, and during a rotation the next one. */
  readonly former?: readonly string[] | undefined;
}

/** @throws JobKeySecretError */
export async function openJobKeys(
  { current, former = [] }: JobKeyReferences,
  places: KeyPlaces = { environment: process.env },
): Promise<JobKeys> {
  const references = [...(current === undefined ? [] : [current]), ...former];
  const secrets = await Promise.all(references.map((reference) => loadKey(reference, places, JOB_KEY_SECRET)));
  refuseTwins(secrets, references, JOB_KEY_SECRET);
  return current === undefined
    ? jobKeysOf({ former: secrets })
    : jobKeysOf({ current: secrets[0], former: secrets.slice(1) });
}

/**
 * A job can name every secret of the installation's secret store and print it, so that store is no place for a job-key secret.
 * @throws JobKeySecretError naming the reference
 */
export function refuseStoredSecrets({ current, former = [] }: JobKeyReferences, secretStore: string | undefined): void {
  for (const reference of [...(current === undefined ? [] : [current]), ...former]) {
    if (!isInSecretStore(reference, secretStore)) continue;
    throw new JobKeySecretError(
      `${reference}: is in the secret store, and jobs can read every secret of that\n` +
        '  keep it elsewhere: in a file outside of that folder, or under a name of Secret Manager without jobctl-',
    );
  }
}

/** Returns whether a reference leads into the secret store of the installation, which jobs can read. */
export function isInSecretStore(reference: string, secretStore: string | undefined): boolean {
  if (!reference.startsWith('file:')) return /^projects\/[^/]+\/secrets\/jobctl-/.test(reference);
  if (secretStore?.startsWith('file:') !== true) return false;
  const folder = resolve(fileURLToPath(secretStore));
  return `${dirname(resolve(pathOfReference(reference, JOB_KEY_SECRET)))}${sep}`.startsWith(`${folder}${sep}`);
}

/** Separates these keys from those of any later scheme. */
const PURPOSE = 'jobctl job key 1';
const SEED_BYTES = 32;

/**
 * Derives the key of a job. Its Ed25519 seed is HKDF-SHA256 (RFC 5869) of the secret without a salt; the info is `PURPOSE`, the
 * job's id and its first run id, with a NUL byte between each two. So the key is the same on every worker and after an adoption,
 * a reclaim, a retry or a reset, and need not be stored.
 */
export function deriveJobKey({ id: secretId, secret }: NamedKey, { id, run }: KeyedJob): JobKey {
  if (id === '' || run === '' || `${id}${run}`.includes('\0'))
    throw new RangeError(`the key of a job is made of its id and its first run id, got '${id}' and '${run}'`);
  const seed = Buffer.from(hkdfSync('sha256', secret, '', [PURPOSE, id, run].join('\0'), SEED_BYTES));
  return { ...ed25519KeyPair(seed), secretId };
}

/** @param secrets `current` makes the keys of new jobs, if any; `former` secrets are for jobs that were accepted with them */
export function jobKeysOf(secrets: {
  readonly current?: NamedKey | undefined;
  readonly former: readonly NamedKey[];
}): JobKeys {
  const { current, former } = secrets;
  const all = [...(current === undefined ? [] : [current]), ...former];
  return {
    secretIds: all.map(({ id }) => id),
    newest: (job) => current && deriveJobKey(current, job),
    find: (job, publicKey) => {
      const wanted = keyOfLine(publicKey);
      return all.map((secret) => deriveJobKey(secret, job)).find((key) => key.publicKey === wanted);
    },
  };
}

/** The type and the key of an OpenSSH line, without its comment. */
const keyOfLine = (line: string): string => line.trim().split(/\s+/).slice(0, 2).join(' ');

/** DER of a PKCS #8 Ed25519 private key up to its 32 bytes of seed (RFC 8410, section 7). */
const PKCS8_PREFIX = Buffer.from('302e020100300506032b657004220420', 'hex');
const TYPE = 'ssh-ed25519';
/** Block size without a cipher: the private part is padded to a multiple of it (OpenSSH's PROTOCOL.key). */
const BLOCK_BYTES = 8;
const LINE = 70;

/**
 * Makes the Ed25519 key pair of a seed in OpenSSH's own formats, the only Ed25519 formats that both ssh2 and OpenSSH 9 read. The
 * same seed gives the same text.
 * @param seed 32 bytes
 */
export function ed25519KeyPair(seed: Buffer): { readonly privateKey: string; readonly publicKey: string } {
  if (seed.length !== SEED_BYTES) throw new RangeError(`an Ed25519 seed has ${SEED_BYTES} bytes, not ${seed.length}`);
  const der = Buffer.concat([PKCS8_PREFIX, seed]);
  const { x = '' } = createPublicKey(createPrivateKey({ key: der, format: 'der', type: 'pkcs8' })).export({
    format: 'jwk',
  });
  const point = Buffer.from(x, 'base64url');
  const wire = Buffer.concat([text(TYPE), text(point)]);
  return { privateKey: privateText(seed, point, wire), publicKey: `${TYPE} ${wire.toString('base64')}` };
}

/** `openssh-key-v1`: no cipher, no KDF, one key. */
function privateText(seed: Buffer, point: Buffer, wire: Buffer): string {
  // Any number, stored twice: equal copies show that the text was decrypted well. A hash of the public key makes it reproducible.
  const check = createHash('sha256').update(wire).digest().subarray(0, 4);
  const pair = [text(TYPE), text(point), text(Buffer.concat([seed, point])), text('')];
  const inner = Buffer.concat([check, check, ...pair]);
  const missing = (BLOCK_BYTES - (inner.length % BLOCK_BYTES)) % BLOCK_BYTES;
  const padding = Buffer.from(Array.from({ length: missing }, (_, at) => at + 1));
  const body = Buffer.concat([
    Buffer.from('openssh-key-v1\0'),
    ...[text('none'), text('none'), text(''), uint32(1), text(wire), text(Buffer.concat([inner, padding]))],
  ]).toString('base64');
  const lines = body.match(new RegExp(`.{1,${LINE}}`, 'g')) ?? [];
  return `-----BEGIN OPENSSH PRIVATE KEY-----\n${lines.join('\n')}\n-----END OPENSSH PRIVATE KEY-----\n`;
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

/** A `string` of RFC 4251: its length, and its bytes. */
function text(value: string | Buffer): Buffer {
  const bytes = Buffer.from(value);
  return Buffer.concat([uint32(bytes.length), bytes]);
}
