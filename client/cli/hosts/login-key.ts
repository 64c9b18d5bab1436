import { readFileSync, statSync } from 'node:fs';
import { publicLineFingerprint, readPrivateKey } from '../../../cloud/hosts/private-key.js';
import { fileErrorWords } from '../../../domain/error-words.js';
import { modeForOthers } from '../../../domain/file-mode.js';
import { secretNamed } from '../../../domain/secret-reference.js';
import { CliError } from '../cli-error.js';
import type { CliContext } from '../context.js';
import { ExitCode } from '../exit-codes.js';
import { expandHome } from '../file-on-disk.js';
import type { JobHosts } from './job-hosts.js';
import type { Route } from './route.js';

/** The private key that a job's hosts accept. */
export interface LoginKey {
  /** OpenSSH or PEM. Never shown. */
  readonly text: string;
  /** Where OpenSSH can read it; absent: it is in the secret store alone. */
  readonly file?: string;
}

/**
 * The key that was named for this command line, else the job's own, else the local stack's; it must be the one that the hosts
 * accept.
 * @throws CliError: no key is known here, one that cannot be used, or another than the hosts'
 */
export async function loginKey({ job, view, login }: JobHosts, route: Route, context: CliContext): Promise<LoginKey> {
  const wanted = publicLineFingerprint(login.publicKey) ?? login.publicKey;
  const named = route.keyFile ?? view.spec.ssh?.privateKey ?? context.ssh?.privateKeyFile;
  if (named === undefined) {
    throw new CliError(
      ExitCode.Usage,
      `${job}: its hosts accept the key ${wanted} of the installation, which is not on this computer`,
      'name a file that holds it: --identity FILE, or JOBCTL_SSH_PRIVATE_KEY_FILE',
      'for jobs of your own give the job file a key of yours: ssh: {private_key: ~/.ssh/id_ed25519}',
    );
  }
  const secret = route.keyFile === undefined ? secretNamed(named) : undefined;
  const key = secret === undefined ? keyInFile(expandHome(named)) : { text: await keyInStore(secret, context) };
  const reading = readPrivateKey(key.text);
  if (reading.kind === 'no-key') {
    throw new CliError(
      ExitCode.Usage,
      `${named}: is ${reading.what}`,
      'wanted: the private key of a pair, in OpenSSH or PEM form, without a passphrase',
    );
  }
  if ('file' in key) mustBeOursAlone(key.file);
  if (reading.fingerprint === wanted) return key;
  throw new CliError(
    ExitCode.Usage,
    `${named}: is ${reading.fingerprint}, and the hosts of ${job} accept ${wanted}`,
    'name a file that holds that one: --identity FILE',
  );
}

/** @throws CliError where it cannot be read */
function keyInFile(file: string): { readonly text: string; readonly file: string } {
  try {
    return { text: readFileSync(file, 'utf8'), file };
  } catch (error) {
    throw new CliError(ExitCode.Usage, `${file}: this private key cannot be read: ${fileErrorWords(error)}`);
  }
}

/** @throws CliError where others can read it: OpenSSH refuses such a key too */
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
