import { statSync } from 'node:fs';
import type { JobSpec } from '../../domain/job-spec.js';
import { formatProblems, type Path, type Problem, showValue } from '../../domain/problem.js';
import { secretNamed } from '../../domain/secret-reference.js';
import { CliError } from './cli-error.js';
import type { CliContext } from './context.js';
import { ExitCode } from './exit-codes.js';
import { expandHome } from './hosts/expand-home.js';
import { placed } from './job-file.js';
import { readNamedFile } from './local-files.js';

export interface JobKeys {
  /** Of the submitter's file that `ssh.private_key` names. */
  readonly sshKey?: string;
  readonly warnings: readonly string[];
}

/** What of a job names keys and secrets. */
export type JobWithKeys = Pick<JobSpec, 'ssh' | 'identities' | 'secrets'>;

/** Where a value came from: the text of a job file, and the flags over it. */
interface ValueSource {
  readonly file: string;
  readonly source: string;
  readonly set: readonly string[];
}

/**
 * Looks at the key file and the secrets that a job names, before anything is sent.
 * @throws CliError with every problem: a key that cannot be used, a secret that is not in the store
 */
export async function checkJobKeys(from: ValueSource, spec: JobWithKeys, context: CliContext): Promise<JobKeys> {
  const path = spec.ssh?.privateKey;
  const isFile = path !== undefined && secretNamed(path) === undefined;
  const key = isFile ? await lookAtKey(path) : undefined;
  const problems = [...(key?.problems ?? []), ...(await missingSecrets(spec, context))];
  if (problems.length > 0)
    throw new CliError(ExitCode.Usage, formatProblems(problems.map((problem) => placed(from, problem))));
  if (key?.fingerprint === undefined) return { warnings: [] };
  return { sshKey: key.fingerprint, warnings: context.ssh === undefined ? [elsewhere(path ?? '')] : [] };
}

/** A local stack's worker is on this computer; of another one nothing is known here. */
const elsewhere = (path: string): string =>
  `ssh.private_key: the worker has to find this key at '${path}' on its own computer, else it refuses the job; ` +
  `a key that all workers find: jobctl secret put NAME --from-file ${path}, then ssh.private_key: secret:NAME`;

interface KeyLook {
  readonly fingerprint?: string;
  readonly problems: readonly Problem[];
}

async function lookAtKey(path: string): Promise<KeyLook> {
  const wrong = (message: string, hint: string): KeyLook => ({
    problems: [{ path: ['ssh', 'private_key'], value: path, message: `${showValue(path)} ${message}`, hint }],
  });
  if (!path.startsWith('~/') && !path.startsWith('/'))
    return wrong('is a relative path', 'the worker reads the key in place: write it absolute, or from ~/');
  const file = expandHome(path);
  const content = readNamedFile(file);
  if (typeof content === 'string') return wrong(content, `looked for at ${file}; it is a file of the submitter's`);
  const { mode } = statSync(file);
  if ((mode & 0o077) !== 0)
    return wrong(`can be reached by others (mode ${(mode & 0o777).toString(8)})`, `chmod 600 ${file}`);
  const { readPrivateKey } = await import('../../cloud/hosts/private-key.js');
  const reading = readPrivateKey(Buffer.from(content).toString());
  if (reading.kind === 'no-key')
    return wrong(
      `is ${reading.what}`,
      'wanted: the private key of a pair, in OpenSSH or PEM form, without a passphrase',
    );
  return { fingerprint: reading.fingerprint, problems: [] };
}

/** Each secret that a job names, by the place that names it. */
export function secretNames({
  ssh,
  identities = [],
  secrets = {},
}: JobWithKeys): readonly { readonly path: Path; readonly name: string }[] {
  const listed = identities.filter(({ isBetweenHosts }) => isBetweenHosts !== true);
  const keys = [
    ...(ssh === undefined ? [] : [{ path: ['ssh', 'private_key'], reference: ssh.privateKey }]),
    ...listed.map(({ privateKey }, at) => ({ path: ['ssh', 'identities', at, 'private_key'], reference: privateKey })),
  ];
  return [
    ...keys.flatMap(({ path, reference }) => {
      const name = secretNamed(reference);
      return name === undefined ? [] : [{ path, name }];
    }),
    ...Object.entries(secrets).map(([variable, name]) => ({ path: ['secrets', variable], name })),
  ];
}

/** Nothing where this computer does not know the store, or may not list it: the worker looks again. */
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
      hint: `put it: jobctl secret put ${name} --from-file FILE`,
    }));
}
