import { readFileSync, statSync } from 'node:fs';
import { publicLineFingerprint, readPrivateKey } from '../../../cloud/hosts/private-key.js';
import type { JobKeyReferences } from '../../../cloud/job-keys/open-job-keys.js';
import type { JobKeys } from '../../../cloud/job-keys/port.js';
import { fileErrorWords } from '../../../domain/errors.js';
import { modeForOthers, secretNamed } from '../../../domain/secrets.js';
import { CliError, ExitCode } from '../../terminal/cli-error.js';
import type { CliContext, ServerPlace } from '../../place/context.js';
import { expandHome } from '../../terminal/file-on-disk.js';
import type { JobHosts, JobHost, Route } from './job-hosts.js';
import { explainedBy } from '../../place/login/server-failures.js';
import { expectedOf, type HostKeyPins, type HostKeyRecord, readHostKey } from '../../../cloud/hosts/host-key-record.js';
import { hostKeyPlace, type SshTarget } from '../../../cloud/hosts/port.js';
import { hostKeyObject } from '../../../domain/store-layout.js';
import { objectPlace, type StoreReader } from '../../../cloud/store/port.js';

/** A private key that opens a job's hosts. */
export interface LoginKey {
  /** OpenSSH or PEM. Never shown. */
  readonly text: string;
  /** File that OpenSSH can read. Absent: the key is in no file, but in the secret store or made here. */
  readonly file?: string;
}

interface LoginKeySources {
  readonly route: Route;
  readonly context: CliContext;
  /** True if the hosts ask Google who may log in, and ignore the key in their metadata. */
  readonly isUnderOsLogin: boolean;
}

/**
 * Finds the login key: the one named for this command line, or else the one that the job's file names. It must be the key that
 * the hosts accept. Without either, it is the job's own key, if this computer has its secret or a server gives the key. For a job
 * without its own key, it is the installation's.
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
  const made = run === undefined ? undefined : keys?.find(login.landlord ?? { id, run }, login.publicKey);
  if (made !== undefined) return { text: made.privateKey };
  const own = file === undefined ? undefined : checked(file);
  if (own?.fingerprint === wanted) return own.key;
  if (server !== undefined) return { text: await keyByServer(server, job, wanted) };
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

/** Fingerprint of a private key. @throws CliError if it is not one, or if others can read its file */
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

/**
 * The job's own key from the server, for its user and operators, fetched each time. It is in a file of this computer only while
 * OpenSSH runs, or as long as the job's hosts have names for it (docs/adr/0167).
 * @param wanted fingerprint of the key that the hosts accept
 * @throws CliError, Forbidden, JobRefused, ServerRefused ..
 */
async function keyByServer(place: ServerPlace, job: string, wanted: string): Promise<string> {
  const [{ hostAccess }, { serverOptionsOf }] = await Promise.all([
    import('../../../client/http/access.js'),
    import('../../place/login/server-access.js'),
  ]);
  const { privateKey, publicKey } = await hostAccess(serverOptionsOf(place), job).catch((error: unknown) => {
    throw explainedBy(place, error);
  });
  const given = publicLineFingerprint(publicKey);
  if (given === wanted) return privateKey;
  throw new CliError(
    ExitCode.Refused,
    `${place.url} gave the key ${given ?? 'of no readable form'} for ${job}, and its hosts accept ${wanted}`,
    'tell the operator of the server',
  );
}

export type RecordedKeys = ReadonlyMap<JobHost<SshTarget>, HostKeyRecord>;

/**
 * The host keys that workers have recorded of these hosts, each with the user whom the host accepted. Under OS Login that is not
 * the job's user. No host is trusted on first use: a worker has connected to it before.
 * @throws CliError if a host has no record yet
 */
export async function recordedKeys(store: StoreReader, hosts: readonly JobHost<SshTarget>[]): Promise<RecordedKeys> {
  const records = await Promise.all(hosts.map(({ target }) => readHostKey(store, ...hostKeyPlace(target))));
  const unknown = hosts.filter((_, at) => records[at] === undefined);
  if (unknown.length > 0) {
    throw new CliError(
      ExitCode.Refused,
      `the key of host ${unknown.map(({ number }) => number).join(', ')} is not recorded yet, so another machine could pass for it`,
      'a worker records it when it connects first, as set-up begins; try again then',
    );
  }
  return new Map(
    hosts.map((host, at) => {
      const record = records[at] as HostKeyRecord;
      return [{ ...host, target: { ...host.target, user: record.user ?? host.target.user } }, record];
    }),
  );
}

/** The same keys for logins as `user`, in place of the user of jobctl's worker. */
export const loggedInAs = (keys: RecordedKeys, user: string): RecordedKeys =>
  new Map([...keys].map(([host, record]) => [{ ...host, target: { ...host.target, user } }, record]));

/** Returns whether one of these hosts uses OS Login: it then accepted another user than the job's. */
export const areUnderOsLogin = (keys: RecordedKeys, { user }: { readonly user: string }): boolean =>
  [...keys.keys()].some(({ target }) => target.own === undefined && target.user !== user);

/** Pins the fleet to these keys. No other key is accepted, and nothing is recorded from here. */
export function pinnedTo(keys: RecordedKeys, store: StoreReader): HostKeyPins {
  const byHost = new Map([...keys].map(([{ target }, record]) => [`${target.uid}/${target.index}`, record]));
  return {
    expected: async ({ uid, index }) => expectedOf(byHost.get(`${uid}/${index}`)),
    pin: async ({ uid, index }) => byHost.get(`${uid}/${index}`) as HostKeyRecord,
    isReplaced: async () => false,
    placeOf: (target) => objectPlace(store, hostKeyObject(...hostKeyPlace(target))),
  };
}

/** The name of a host in our known_hosts file. Addresses are recycled, node ids are not. */
export const hostKeyAlias = ({ target: { uid, index } }: JobHost): string => `jobctl-${uid}-${index}`;

export const knownHostsText = (keys: RecordedKeys): string =>
  [...keys].map(([host, { publicKey }]) => `${hostKeyAlias(host)} ${publicKey}\n`).join('');
