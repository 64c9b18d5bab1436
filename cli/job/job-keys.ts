import type { JobSpec } from '../../domain/job-spec.js';
import { formatPath, formatProblems, type Path, type Problem, showValue } from '../../domain/problem.js';
import { secretNamed, modeForOthers } from '../../domain/secrets.js';
import { CliError, ExitCode } from '../terminal/cli-error.js';
import type { CliContext } from '../place/context.js';
import { placed } from './job-file.js';
import { asTyped } from '../terminal/print.js';
import { statSync } from 'node:fs';
import { readNamedFile } from './local-files.js';
import { expandHome } from '../terminal/file-on-disk.js';

export interface JobKeys {
  /** Fingerprint of the submitter's file that `ssh.private_key` names. */
  readonly sshKey?: string;
  /** Fingerprints of the files that identities name: path as in the job -> fingerprint. */
  readonly identityKeys?: Readonly<Record<string, string>>;
  readonly warnings: readonly string[];
}

/** The parts of a job that name keys and secrets. */
type JobWithKeys = Pick<JobSpec, 'ssh' | 'identities' | 'secrets'>;

/** Source of a value: the text of a job file, and the flags over it. */
interface ValueSource {
  readonly file: string;
  readonly source: string;
  readonly set: readonly string[];
}

/**
 * Checks the key pairs and secrets that a job names, before anything is sent.
 * @throws CliError with every problem: an unusable key, halves of two pairs, a secret that the store lacks
 */
export async function checkJobKeys(from: ValueSource, spec: JobWithKeys, context: CliContext): Promise<JobKeys> {
  const pairs = namedPairs(spec);
  const looks = await Promise.all(pairs.map(lookAtPair));
  const problems = [...looks.flatMap((look) => look.problems), ...(await missingSecrets(spec, context))];
  if (problems.length > 0)
    throw new CliError(ExitCode.Usage, formatProblems(problems.map((problem) => placed(from, problem))));
  const connecting = pairs.findIndex(({ privateKey }) => privateKey.value === spec.ssh?.privateKey);
  const sshKey = looks[connecting]?.fingerprint;
  const files = pairs.filter((_, at) => looks[at]?.fingerprint !== undefined);
  const identityKeys = Object.fromEntries(
    pairs.flatMap(({ privateKey: { value } }, at) => {
      const { fingerprint } = looks[at] ?? {};
      const isIdentity = spec.identities?.some(({ privateKey }) => privateKey === value) === true;
      return isIdentity && fingerprint !== undefined ? [[value, fingerprint] as const] : [];
    }),
  );
  return {
    ...(sshKey === undefined ? {} : { sshKey }),
    ...(Object.keys(identityKeys).length === 0 ? {} : { identityKeys }),
    // A local stack's worker runs on this computer; nothing is known here of other workers.
    warnings: context.ssh === undefined ? files.map(({ privateKey }) => elsewhere(privateKey)) : [],
  };
}

const elsewhere = ({ at, value }: KeyReference): string =>
  `${formatPath(at)}: the worker of a team reads no key files and refuses the job, unless it is told to (ssh.readsKeyFiles) ` +
  asTyped(
    `and finds this key at '${value}' on its own computer; a key that all workers find: jobctl secret put NAME --from-file ${value}, then ${formatPath(at)}: secret:NAME`,
  );

/** Each secret that a job names, with the place in the job that names it. */
export function secretNames(spec: JobWithKeys): readonly { readonly path: Path; readonly name: string }[] {
  const keys = namedPairs(spec).flatMap(({ privateKey, publicKey }) => [privateKey, ...(publicKey ? [publicKey] : [])]);
  return [
    ...keys.flatMap(({ at, value }) => {
      const name = secretNamed(value);
      return name === undefined ? [] : [{ path: at, name }];
    }),
    ...Object.entries(spec.secrets ?? {}).map(([variable, name]) => ({ path: ['secrets', variable], name })),
  ];
}

/** Problems for missing secrets. Empty if this computer does not know the store or may not list it: the worker checks again. */
async function missingSecrets(spec: JobWithKeys, { secretStore }: CliContext): Promise<Problem[]> {
  const named = secretNames(spec);
  if (named.length === 0 || secretStore === undefined) return [];
  const { openSecretStore } = await import('../../cloud/secrets/open-secret-store.js');
  const store = openSecretStore(secretStore);
  const known = await store.list().catch(() => undefined);
  if (known === undefined) return [];
  return named
    .filter(({ name }) => !known.some((secret) => secret.name === name))
    .map(({ path, name }) => ({
      path,
      value: name,
      message: `there is no secret ${name} in the ${store.place}`,
      hint: asTyped(`put it: jobctl secret put ${name} --from-file FILE`),
    }));
}

/** A path of the submitter, or `secret:NAME`, and its place in the job file. */
interface KeyReference {
  readonly at: Path;
  readonly value: string;
}

/** A key pair as a job names it. */
interface NamedPair {
  readonly privateKey: KeyReference;
  readonly publicKey?: KeyReference;
}

/** All pairs that a job names, each once. JobMan's only pair both connects and goes to the hosts. */
function namedPairs({ ssh, identities = [] }: Pick<JobSpec, 'ssh' | 'identities'>): readonly NamedPair[] {
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

interface PairLook {
  /** Fingerprint of the private key, if it is a usable local file. */
  readonly fingerprint?: string;
  readonly problems: readonly Problem[];
}

/** Checks the halves that are local files, by the rules of the worker and OpenSSH; secrets are not checked. */
async function lookAtPair({ privateKey, publicKey }: NamedPair): Promise<PairLook> {
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

/** Problem of the public key that is named, or that is next to the private one: with a wrong key, no host could be reached. */
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
