import type { JobSpec } from '../../domain/job-spec.js';
import { formatPath, formatProblems, type Path, type Problem } from '../../domain/problem.js';
import { secretNamed } from '../../domain/secret-reference.js';
import { CliError, ExitCode } from '../terminal/cli-error.js';
import type { CliContext } from '../place/context.js';
import { type KeyReference, lookAtPair, namedPairs } from './key-pairs.js';
import { placed } from './job-file.js';
import { asTyped } from '../terminal/print.js';

export interface JobKeys {
  /** Fingerprint of the submitter's file that `ssh.private_key` names. */
  readonly sshKey?: string;
  /** Fingerprints of the files that identities name: path as in the job -> fingerprint. */
  readonly identityKeys?: Readonly<Record<string, string>>;
  readonly warnings: readonly string[];
}

/** The parts of a job that name keys and secrets. */
export type JobWithKeys = Pick<JobSpec, 'ssh' | 'identities' | 'secrets'>;

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
