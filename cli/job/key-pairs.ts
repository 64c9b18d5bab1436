import { statSync } from 'node:fs';
import { modeForOthers } from '../../domain/file-mode.js';
import type { JobSpec } from '../../domain/job-spec.js';
import { type Path, type Problem, showValue } from '../../domain/problem.js';
import { secretNamed } from '../../domain/secret-reference.js';
import { readNamedFile } from './local-files.js';
import { expandHome } from '../terminal/file-on-disk.js';

/** A path of the submitter, or `secret:NAME`, and its place in the job file. */
export interface KeyReference {
  readonly at: Path;
  readonly value: string;
}

/** A key pair as a job names it. */
export interface NamedPair {
  readonly privateKey: KeyReference;
  readonly publicKey?: KeyReference;
}

/** All pairs that a job names, each once. JobMan's only pair both connects and goes to the hosts. */
export function namedPairs({ ssh, identities = [] }: Pick<JobSpec, 'ssh' | 'identities'>): readonly NamedPair[] {
  const between = identities.find(({ isBetweenHosts }) => isBetweenHosts);
  const listed = identities.filter((identity) => identity !== between);
  const isOnlyPair = between !== undefined && between.privateKey === ssh?.privateKey;
  return [
    ...(ssh === undefined || isOnlyPair ? [] : [pairOf(ssh, ['ssh'], '')]),
    ...(between === undefined ? [] : [pairOf(between, ['ssh'], 'tpu_')]),
    ...listed.map((identity, index) => pairOf(identity, ['ssh', 'identities', index], '')),
  ];
}

function pairOf(
  { privateKey, publicKey }: { readonly privateKey: string; readonly publicKey?: string },
  section: Path,
  prefix: '' | 'tpu_',
): NamedPair {
  return {
    privateKey: { at: [...section, `${prefix}private_key`], value: privateKey },
    ...(publicKey === undefined ? {} : { publicKey: { at: [...section, `${prefix}public_key`], value: publicKey } }),
  };
}

export interface PairLook {
  /** Fingerprint of the private key, if it is a usable local file. */
  readonly fingerprint?: string;
  readonly problems: readonly Problem[];
}

/** Checks the halves that are local files, by the rules of the worker and OpenSSH; secrets are not checked. */
export async function lookAtPair({ privateKey, publicKey }: NamedPair): Promise<PairLook> {
  const isSecret = secretNamed(privateKey.value) !== undefined;
  const look = isSecret ? { problems: [] } : await lookAtPrivateKey(privateKey);
  if (look.problems.length > 0) return look;
  const trouble = await publicTrouble(look.fingerprint, privateKey, publicKey);
  return trouble === undefined ? look : { problems: [trouble] };
}

async function lookAtPrivateKey(key: KeyReference): Promise<PairLook> {
  const { value: path } = key;
  const wrong = (message: string, hint: string): PairLook => ({ problems: [problem(key, message, hint)] });
  const relative = relativeTrouble(key);
  if (relative !== undefined) return { problems: [relative] };
  const file = expandHome(path);
  const content = readNamedFile(file);
  if (typeof content === 'string') return wrong(content, `looked for at ${file}; it is a file of the submitter's`);
  const { readPrivateKey } = await import('../../cloud/hosts/private-key.js');
  const reading = readPrivateKey(Buffer.from(content).toString());
  // The kind of key is checked first: a public key may be readable for everybody, and no chmod makes it a private one.
  if (reading.kind === 'no-key')
    return wrong(
      `is ${reading.what}`,
      'wanted: the private key of a pair, in OpenSSH or PEM form, without a passphrase',
    );
  const mode = modeForOthers(statSync(file).mode);
  if (mode !== undefined) return wrong(`can be reached by others (mode ${mode})`, `chmod 600 ${file}`);
  return { fingerprint: reading.fingerprint, problems: [] };
}

/** Problem of the public key that is named, or lies next to the private one: a wrong one would give no access to hosts. */
async function publicTrouble(
  fingerprint: string | undefined,
  privateKey: KeyReference,
  named: KeyReference | undefined,
): Promise<Problem | undefined> {
  if (named !== undefined && secretNamed(named.value) !== undefined) return undefined;
  if (named === undefined && fingerprint === undefined) return undefined;
  const key = named ?? { at: privateKey.at, value: `${privateKey.value}.pub` };
  const relative = relativeTrouble(key);
  if (relative !== undefined) return relative;
  const file = expandHome(key.value);
  const content = readNamedFile(file);
  // Without a public key file, the worker computes the public key.
  if (typeof content === 'string')
    return named && problem(key, content, `looked for at ${file}; without the key it is computed from the private one`);
  const { publicLineFingerprint } = await import('../../cloud/hosts/private-key.js');
  const found = publicLineFingerprint(Buffer.from(content).toString());
  const own = expandHome(privateKey.value);
  const anew = fingerprint === undefined ? '' : `; write it anew: ssh-keygen -y -f ${own} > ${own}.pub`;
  if (found === undefined)
    return problem(key, 'is no public key', `wanted: one line, such as ssh-ed25519 AAAA..${anew}`);
  if (fingerprint === undefined || found === fingerprint) return undefined;
  return problem(key, `is ${found}, and '${privateKey.value}' is ${fingerprint}: they are no pair`, anew.slice(2));
}

function relativeTrouble(key: KeyReference): Problem | undefined {
  if (key.value.startsWith('~/') || key.value.startsWith('/')) return undefined;
  return problem(key, 'is a relative path', 'the worker reads the key in place: write it absolute, or from ~/');
}

const problem = ({ at, value }: KeyReference, message: string, hint: string): Problem => ({
  path: at,
  value,
  message: `${showValue(value)} ${message}`,
  hint,
});
