import { existsSync, lstatSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { makeFolderSync } from '../../../cloud/folders.js';
import { isValidJobId, JOB_ID_RULE } from '../../../domain/identity.js';
import { messageOf } from '../../../domain/errors.js';
import { showValue } from '../../../domain/problem.js';
import { shellWords } from '../../../domain/shell-quote.js';
import { JobNotFound } from '../../../client/errors.js';
import type { JobClient } from '../../../client/job-client.js';
import { CliError, ExitCode } from '../../terminal/cli-error.js';
import { expandHome, writePrivate, writeWhole } from '../../terminal/file-on-disk.js';
import { type Environment, stackHome } from '../../terminal/home.js';
import { SETTINGS } from '../../terminal/settings.js';
import type { ReachFlags, SshReach } from './reach.js';

/**
 * Names for OpenSSH of a job's hosts: `ssh exp-7`, and whatever reads ~/.ssh/config (VS Code, rsync, scp). Each job has a folder
 * with a configuration, which names neither addresses nor host keys: they change with a preemption. A connection begins with
 * `jobctl ssh JOB --stdio`, which looks the host up, writes its key beside the configuration and connects (docs/adr/0167).
 */

const FOLDER = 'ssh-config';
/** @throws CliError for an id that jobctl does not make: it becomes a path, and a word of a configuration */
function folderOf(job: string, env: Environment): string {
  if (isValidJobId(job)) return join(stackHome(env).root, FOLDER, job);
  throw new CliError(ExitCode.Refused, `${showValue(job)} is not ${JOB_ID_RULE}, so its hosts get no name`);
}
const knownHostsOf = (folder: string, number: number): string => join(folder, `known_hosts-${number}`);

/** The first host has the job's own name. A dot occurs in no job's id, so no name is another job's. */
export const aliasOf = (job: string, number: number): string => (number === 0 ? job : `${job}.${number}`);

export interface SshAliases {
  /** The file of the `Host` blocks. */
  readonly config: string;
  readonly aliases: readonly { readonly host: number; readonly alias: string }[];
}

/** Writes the names of these hosts. Repeating is safe. @throws CliError if a file cannot be written */
export function writeAliases(reach: SshReach, flags: ReachFlags, env: Environment = process.env): SshAliases {
  const { job, hosts, key } = reach;
  const folder = folderOf(job, env);
  refuseUnwritable(reach, flags, env);
  makeFolderSync(folder, 0o700);
  const identity = key.file === undefined ? join(folder, 'identity') : resolve(key.file);
  refreshAliases(reach, env);
  if (key.file === undefined) writePrivate(identity, lined(key.text));
  const named = hosts.map(({ number, target }) => ({ host: number, alias: aliasOf(job, number), user: target.user }));
  const blocks = named.map(({ host, alias, user }) =>
    [
      `Host ${alias}`,
      `  HostName ${alias}`,
      `  User ${user}`,
      `  IdentityFile ${quoted(identity)}`,
      '  IdentitiesOnly yes',
      `  HostKeyAlias ${hostKeyName(job, host)}`,
      `  UserKnownHostsFile ${quoted(knownHostsOf(folder, host))}`,
      '  GlobalKnownHostsFile /dev/null',
      '  StrictHostKeyChecking yes',
      '  CheckHostIP no',
      '  UpdateHostKeys no',
      '  ServerAliveInterval 15',
      `  ProxyCommand ${proxyCommand(job, host, flags, env)}`,
    ].join('\n'),
  );
  const config = join(folder, 'config');
  writePrivate(config, `# Hosts of job ${job}, written by its verb ssh-config.\n${blocks.join('\n\n')}\n`);
  return { config, aliases: named.map(({ host, alias }) => ({ host, alias })) };
}

/** Writes the present keys of these hosts, and the job's key, if they have names. OpenSSH reads both only after this. */
export function refreshAliases({ job, keys, key }: SshReach, env: Environment = process.env): void {
  const folder = folderOf(job, env);
  if (!existsSync(folder)) return;
  for (const [{ number }, { publicKey }] of keys)
    writeIfNew(knownHostsOf(folder, number), `${hostKeyName(job, number)} ${publicKey}\n`);
  const identity = join(folder, 'identity');
  if (key.file === undefined && existsSync(identity)) writeIfNew(identity, lined(key.text));
}

/** Several connections begin at once, and one of them may be reading. */
function writeIfNew(file: string, text: string): void {
  if (textOf(file) !== inBytes(text)) writePrivate(file, text);
}

/** Removes the names, and keys, of jobs that have ended. Jobs of other servers are not found there, and their files stay. */
export async function removeEnded(client: Pick<JobClient, 'row'>, env: Environment = process.env): Promise<void> {
  const root = join(stackHome(env).root, FOLDER);
  for (const job of existsSync(root) ? readdirSync(root) : []) {
    try {
      // A job that keeps its slices after its outcome has hosts.
      if ((await client.row(job)).endedAt !== undefined) rmSync(join(root, job), { recursive: true, force: true });
    } catch (error) {
      if (!(error instanceof JobNotFound)) throw error;
    }
  }
}

const hostKeyName = (job: string, number: number): string => `jobctl-${job}-${number}`;
const lined = (text: string): string => (text.endsWith('\n') ? text : `${text}\n`);
/** With the escape of OpenSSH's tokens. Other characters that it reads in a way of its own are refused before. */
const quoted = (path: string): string => `"${path.replaceAll('%', '%%')}"`;

/** Characters that OpenSSH reads as the end of a word or a line, as a variable, or in an Include line as a pattern. */
const UNWRITABLE = /["\\$*?[\]\p{Cc}]/u;
const USER = /^[A-Za-z0-9_][A-Za-z0-9_.@-]{0,255}$/;

/** @throws CliError before anything is written: one bad line stops every ssh of the user who includes it */
function refuseUnwritable({ hosts, key }: SshReach, flags: ReachFlags, env: Environment): void {
  const refuse = (what: string, value: string, why: string, remedy: string): never => {
    throw new CliError(ExitCode.Usage, `${what}: ${showValue(value)} ${why}`, remedy);
  };
  const paths = {
    JOBCTL_HOME: stackHome(env).root,
    ...(key.file !== undefined && { '--identity': resolve(key.file) }),
  };
  for (const [what, path] of Object.entries(paths))
    if (UNWRITABLE.test(path))
      refuse(
        what,
        path,
        'cannot stand in a configuration of ssh',
        'name a path without " \\ $ * ? [ ] and control characters',
      );
  for (const { target } of hosts)
    if (!USER.test(target.user))
      refuse('--login', target.user, 'is no name of a user', 'letters, digits and . _ @ -, such as alice');
  for (const [name, value] of [...placesOf(env), ...FLAGS.map((flag) => [flagOf(flag), flags[flag]] as const)])
    if (typeof value === 'string' && /\p{Cc}/u.test(value))
      refuse(name, value, 'holds a line break or another control character', 'leave it out');
}

/** Undefined: there is no such file. One character for each byte: what is not UTF-8 stays as it is. */
function textOf(file: string): string | undefined {
  try {
    return readFileSync(file, 'latin1');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new CliError(ExitCode.Failed, `${file} cannot be read, and is left as it is: ${messageOf(error)}`);
  }
}
const inBytes = (text: string): string => Buffer.from(text).toString('latin1');

// The command that connects --------------------------------------------------------------------------------------------

/** Variables that name a place or a route. Keys and tokens are not among them: this goes into a file. */
const PLACE_VARIABLES: readonly string[] = [
  ...['JOBCTL_HOME', 'JOBCTL_CONTEXT', 'JOBCTL_TPU_REST_ENDPOINT', 'TEMPORAL_PROFILE'],
  ...['JOBCTL_SSH_PORT', 'JOBCTL_SSH_ADDRESS', 'JOBCTL_SSH_PROXY_COMMAND', 'JOBCTL_SSH_PRIVATE_KEY_FILE'],
  ...['JOBCTL_SSH_JOB_KEY_SECRET', 'JOBCTL_SSH_FORMER_JOB_KEY_SECRETS', 'KUBECONFIG'],
  ...SETTINGS.flatMap(({ variable }) => variable ?? []),
];
/** Programs that run ssh, such as editors, have another environment and another current folder. */
const PATHS: readonly string[] = ['JOBCTL_HOME', 'JOBCTL_SSH_PRIVATE_KEY_FILE'];

const placesOf = (env: Environment): readonly (readonly [name: string, value: string])[] =>
  PLACE_VARIABLES.flatMap((name) => {
    const value = env[name];
    return value === undefined || value === '' ? [] : [[name, value] as const];
  });

function proxyCommand(job: string, host: number, flags: ReachFlags, env: Environment): string {
  const variables = placesOf(env).map(([name, value]) => `${name}=${PATHS.includes(name) ? resolve(value) : value}`);
  const program = [process.execPath, ...process.execArgv, process.argv[1] ?? ''];
  const words = ['env', ...variables, ...program, 'ssh', job, '--host', String(host), '--stdio', ...flagWords(flags)];
  return shellWords(words).replaceAll('%', '%%');
}

const FLAGS: readonly (keyof ReachFlags)[] = [
  ...(['context', 'server', 'temporalAddress', 'namespace', 'taskQueue', 'bucket', 'systemBucket'] as const),
  ...(['storeEndpoint', 'codecKey', 'codecDecodeKeys', 'secretStore'] as const),
  ...(['identity', 'login', 'sshPort', 'internalIp', 'proxyCommand'] as const),
];

const flagOf = (name: string): string => `--${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;

/** The flags of this command line that say where a job is, and how its hosts are reached. */
function flagWords(flags: ReachFlags): readonly string[] {
  return FLAGS.flatMap((name) => {
    const value = flags[name];
    const flag = flagOf(name);
    if (value === undefined) return [];
    if (value === true) return [flag];
    return [flag, name === 'identity' ? expandHome(String(value)) : String(value)];
  });
}

// ~/.ssh/config --------------------------------------------------------------------------------------------------------

/** The line by which OpenSSH finds the names of all jobs. */
export const includeLine = (env: Environment = process.env): string =>
  `Include ${quoted(join(stackHome(env).root, FOLDER, '*', 'config'))}`;

const userConfig = (env: Environment): string => join(env['HOME'] ?? homedir(), '.ssh', 'config');

/** Whether the line stands above each `Host` and `Match`: below one it would be for that host alone. */
export function isIncluded(env: Environment = process.env): boolean {
  const lines = (textOf(userConfig(env)) ?? '').split('\n').map((line) => line.trim());
  const first = lines.findIndex((line) => /^(?:host|match)[\s=]/i.test(line));
  return lines.slice(0, first < 0 ? lines.length : first).includes(inBytes(includeLine(env)));
}

/** Adds the line at the top. @throws CliError */
export function addInclude(env: Environment = process.env): void {
  if (isIncluded(env)) return;
  const file = userConfig(env);
  const text = textOf(file);
  const line = includeLine(env);
  if (text !== undefined) writeWhole(file, Buffer.concat([Buffer.from(`${line}\n\n`), Buffer.from(text, 'latin1')]));
  else if (lstatSync(file, { throwIfNoEntry: false }) === undefined) writePrivate(file, `${line}\n`);
  else
    throw new CliError(
      ExitCode.Failed,
      `${file} is a link to a file that is not there`,
      `make that file, and begin it with: ${line}`,
    );
}
