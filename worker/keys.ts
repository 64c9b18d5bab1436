import { readFileSync, statSync } from 'node:fs';
import { userInfo } from 'node:os';
import { publicLineFingerprint, readPrivateKey } from '../cloud/hosts/private-key.js';
import { openJobKeys, refuseStoredSecrets } from '../cloud/job-keys/open-job-keys.js';
import type { SshKey } from '../cloud/hosts/port.js';
import type { JobKeys, KeyedJob } from '../cloud/job-keys/port.js';
import { modeForOthers } from '../domain/secrets.js';
import { type WorkerConfig, WorkerConfigError } from './config.js';
import { fileURLToPath } from 'node:url';
import type { Trust } from '../activities/authorization.js';
import { isSignedBy, readVerifyingKey, sha256Of, TrustKeyError } from '../cloud/trust/submission-signature.js';
import { fileErrorWords } from '../domain/errors.js';

export interface InstallationKey {
  readonly sshKey: { readonly privateKey: string };
  /** OpenSSH line. */
  readonly publicKey: string;
}

/**
 * Reads the key pair that logs in to the hosts of jobs without their own key. It is checked before the first job is taken,
 * because a pair that opens no host would cost every such job a slice.
 * @throws WorkerConfigError naming file and remedy. The key itself is never shown.
 */
export function readInstallationKey({ privateKeyFile, publicKeyFile }: WorkerConfig['ssh']): InstallationKey {
  const privateKey = readKeyFile(privateKeyFile, 'ssh.privateKeyFile');
  const publicKey = readKeyFile(publicKeyFile, 'ssh.publicKeyFile').trim();
  refuseReadableByOthers(privateKeyFile);
  const reading = readPrivateKey(privateKey);
  if (reading.kind === 'no-key') {
    throw new WorkerConfigError(
      `ssh.privateKeyFile: ${privateKeyFile} is ${reading.what}\n  wanted: an OpenSSH or PEM private key without a passphrase; make one: ssh-keygen -t ed25519 -N '' -f FILE`,
    );
  }
  const fingerprint = publicLineFingerprint(publicKey);
  if (fingerprint !== reading.fingerprint) {
    throw new WorkerConfigError(
      `ssh.publicKeyFile: ${publicKeyFile} is ${fingerprint ?? 'no public key'}, and ${privateKeyFile} is ${reading.fingerprint}: they are no pair\n  hosts would let nobody in; write it anew: ssh-keygen -y -f ${privateKeyFile} > ${publicKeyFile}`,
    );
  }
  return { sshKey: { privateKey }, publicKey };
}

/** The secrets that the keys of jobs are made from. @throws JobKeySecretError naming the reference and the remedy */
export async function readJobKeys({ ssh, secretStore }: Pick<WorkerConfig, 'ssh' | 'secretStore'>): Promise<JobKeys> {
  const references = { current: ssh.jobKeySecret, former: ssh.formerJobKeySecrets };
  refuseStoredSecrets(references, secretStore);
  return openJobKeys(references);
}

/** Finds the key pair of a public line among a job's own, made from any of the secrets, and the installation's. */
export const keyFinder =
  ({ sshKey, publicKey: ofInstallation }: InstallationKey, jobKeys: JobKeys) =>
  (job: KeyedJob, publicKey: string): SshKey | undefined => {
    if (publicLineFingerprint(publicKey) === publicLineFingerprint(ofInstallation)) return sshKey;
    const own = jobKeys.find(job, publicKey);
    return own && { privateKey: own.privateKey, underOsLogin: sshKey };
  };

function readKeyFile(file: string, field: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new WorkerConfigError(`${field}: ${file} cannot be read (${(error as NodeJS.ErrnoException).code})`);
  }
}

/** Like OpenSSH, it checks only this user's own files. A file that was mounted into a container may belong to another user. */
function refuseReadableByOthers(file: string): void {
  const { mode, uid } = statSync(file);
  const others = modeForOthers(mode);
  if (uid !== userInfo().uid || others === undefined) return;
  throw new WorkerConfigError(
    `ssh.privateKeyFile: ${file} can be read by others (mode ${others})\n  chmod 600 ${file}`,
  );
}

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
