import { readFileSync, statSync } from 'node:fs';
import { publicLineFingerprint, readPrivateKey } from '../../../cloud/hosts/private-key.js';
import type { JobKeyReferences } from '../../../cloud/job-keys/open-job-keys.js';
import type { JobKeys } from '../../../cloud/job-keys/port.js';
import { fileErrorWords } from '../../../domain/error-words.js';
import { modeForOthers } from '../../../domain/file-mode.js';
import { secretNamed } from '../../../domain/secret-reference.js';
import { CliError, ExitCode } from '../../terminal/cli-error.js';
import type { CliContext, ServerPlace } from '../../place/context.js';
import { expandHome } from '../../terminal/file-on-disk.js';
import type { JobHosts } from './job-hosts.js';
import type { Route } from './route.js';

/** The private key that a job's hosts accept. */
export interface LoginKey {
  /** OpenSSH or PEM. Never shown. */
  readonly text: string;
  /** File that OpenSSH can read. Absent: the key is in no file, but in the secret store or made here. */
  readonly file?: string;
}

export interface LoginKeySources {
  readonly route: Route;
  readonly context: CliContext;
  /** True if the hosts ask Google who may log in, and ignore the key in their metadata. */
  readonly isUnderOsLogin: boolean;
}

/**
 * Finds the login key: the one named for this command line, or else the one that the job's file names; each must be the key that
 * the hosts accept. Otherwise the job's own key, if this computer has the secret that it is made from or a server gives it, or,
 * for a job without one, the installation's.
 * @throws CliError if no key is known here, it is unusable, or the hosts accept another; JobKeySecretError; the server's errors
 */
export async function loginKey(all: JobHosts, { route, context, isUnderOsLogin }: LoginKeySources): Promise<LoginKey> {
  const { job, view, login } = all;
  const wanted = publicLineFingerprint(login.publicKey) ?? login.publicKey;
  const { identity, keyFile, login: ownUser } = route;
  const named = identity ?? (view.spec.ssh && (keyFile ?? view.spec.ssh.privateKey));
  if (named === undefined) {
    const file = keyFile ?? context.ssh?.privateKeyFile;
    const { server } = context;
    return unnamedKey(all, wanted, { file: file && expandHome(file), jobKeys: route.jobKeys, server, isUnderOsLogin });
  }
  const secret = identity === undefined && keyFile === undefined ? secretNamed(named) : undefined;
  const key = secret === undefined ? keyInFile(expandHome(named)) : { text: await keyInStore(secret, context) };
  const fingerprint = fingerprintOf(named, key);
  // Only the hosts decide whether they accept a key of the user's: by OS Login, or by the project's metadata.
  if (fingerprint === wanted || ownUser !== undefined || (isUnderOsLogin && identity !== undefined)) return key;
  throw new CliError(
    ExitCode.Usage,
    `${named}: is ${fingerprint}, and the hosts of ${job} accept ${wanted}`,
    'name a file that holds that one: --identity FILE',
    'if the hosts let this key in too (OS Login, or ssh-keys of the Google project), say as whom: --login USER',
  );
}

/** Keys on this computer for jobs whose file names no key. */
interface UnnamedKeys {
  /** The installation's key. */
  readonly file: string | undefined;
  readonly jobKeys: JobKeyReferences | undefined;
  /** The server that gives the job's key to callers that may have it. */
  readonly server: ServerPlace | undefined;
  readonly isUnderOsLogin: boolean;
}

/**
 * The job's own key, made here or given by the server, or the installation's.
 * @throws CliError if neither is known here and accepted by the hosts
 */
async function unnamedKey(
  { job, view, login }: JobHosts,
  wanted: string,
  { file, jobKeys, server, isUnderOsLogin }: UnnamedKeys,
): Promise<LoginKey> {
  if (file !== undefined && isUnderOsLogin) return checked(file).key;
  const { id, run } = view;
  const keys = jobKeys && (await openKeys(jobKeys));
  const made = run === undefined ? undefined : keys?.find({ id, run }, login.publicKey);
  if (made !== undefined) return { text: made.privateKey };
  const own = file === undefined ? undefined : checked(file);
  if (own?.fingerprint === wanted) return own.key;
  if (server !== undefined) return { text: await (await import('./server-key.js')).keyByServer(server, job, wanted) };
  const tried = [
    ...(own === undefined ? [] : [`${file} is ${own.fingerprint}`]),
    ...(keys === undefined ? [] : [`none is made from ${keys.secretIds.join(', ')}`]),
  ];
  throw new CliError(
    ExitCode.Usage,
    `${job}: its hosts accept the key ${wanted}, which is not on this computer${tried.length === 0 ? '' : ` (${tried.join('; ')})`}`,
    'each job has a key of its own, made from a secret that the workers have: name it with JOBCTL_SSH_JOB_KEY_SECRET if you may read it (docs/ssh-fleet.md)',
    'or name a file that holds the key: --identity FILE; with a key of yours that the hosts let in, --login USER too',
    'for jobs of your own give the job file a key of yours: ssh: {private_key: ~/.ssh/id_ed25519}',
  );
}

async function openKeys(references: JobKeyReferences): Promise<JobKeys> {
  const { openJobKeys } = await import('../../../cloud/job-keys/open-job-keys.js');
  return openJobKeys(references);
}

function checked(file: string): { readonly key: LoginKey; readonly fingerprint: string } {
  const key = keyInFile(file);
  return { key, fingerprint: fingerprintOf(file, key) };
}

/** @throws CliError if it is no private key, or a file that others can read */
function fingerprintOf(named: string, key: LoginKey): string {
  const reading = readPrivateKey(key.text);
  if (reading.kind === 'no-key') {
    throw new CliError(
      ExitCode.Usage,
      `${named}: is ${reading.what}`,
      'wanted: the private key of a pair, in OpenSSH or PEM form, without a passphrase',
    );
  }
  if (key.file !== undefined) mustBeOursAlone(key.file);
  return reading.fingerprint;
}

/** @throws CliError if the file cannot be read */
function keyInFile(file: string): { readonly text: string; readonly file: string } {
  try {
    return { text: readFileSync(file, 'utf8'), file };
  } catch (error) {
    throw new CliError(ExitCode.Usage, `${file}: this private key cannot be read: ${fileErrorWords(error)}`);
  }
}

/** @throws CliError if others can read the file: OpenSSH refuses such a key too */
function mustBeOursAlone(file: string): void {
  const mode = modeForOthers(statSync(file).mode);
  if (mode === undefined) return;
  throw new CliError(ExitCode.Usage, `${file}: others can reach this private key (mode ${mode})`, `chmod 600 ${file}`);
}

async function keyInStore(name: string, { secretStore }: CliContext): Promise<string> {
  if (secretStore === undefined) {
    throw new CliError(
      ExitCode.Usage,
      `the job's key is secret ${name}, and no secret store is configured here`,
      'name it with --secret-store or JOBCTL_SECRET_STORE, or a file that holds the key with --identity',
    );
  }
  const { openSecretStore } = await import('../../../cloud/secrets/open-secret-store.js');
  const store = openSecretStore(secretStore);
  const text = await store.read(name);
  if (text !== undefined) return text;
  throw new CliError(ExitCode.Usage, `the job's key is secret ${name}, which is not in the ${store.place}`);
}
