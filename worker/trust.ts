import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Trust } from '../activities/authorization.js';
import { isSignedBy, readVerifyingKey, sha256Of, TrustKeyError } from '../cloud/trust/submission-signature.js';
import { fileErrorWords } from '../domain/error-words.js';
import { type WorkerConfig, WorkerConfigError } from './config.js';

/** Reads the keys of the servers whose signatures this worker accepts. @throws WorkerConfigError naming the unusable key */
export function trustOf({ verified }: Pick<WorkerConfig, 'verified'>): Trust {
  const entries = Object.entries(verified?.serverKeys ?? {});
  if (verified !== undefined && entries.length === 0)
    throw new WorkerConfigError(
      'verified.serverKeys: is empty, so no job could be taken; name the public key of a server',
    );
  const serverKeys = new Map(entries.map(([id, text]) => [id, keyOf(`verified.serverKeys.${id}`, text)] as const));
  const isVerified = (pool: string): boolean => verified !== undefined && !verified.trustedPools.includes(pool);
  return { isVerified, hasVerifiedPools: verified !== undefined, serverKeys, isSignedBy, sha256Of };
}

function keyOf(field: string, text: string) {
  try {
    return readVerifyingKey(text.startsWith('file:') ? readFileSync(fileURLToPath(text), 'utf8') : text, field);
  } catch (error) {
    if (error instanceof TrustKeyError) throw new WorkerConfigError(error.message);
    throw new WorkerConfigError(`${field}: ${text} cannot be read: ${fileErrorWords(error)}`);
  }
}
