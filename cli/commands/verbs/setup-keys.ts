import { chownSync, existsSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import {
  formatSigningKeys,
  keySetOf,
  newSigningKey,
  parseSigningKeys,
  signApiKey,
  type SigningKey,
} from '../../../cloud/temporal/login-files.js';
import { fileErrorWords } from '../../../domain/errors.js';
import { CliError, ExitCode } from '../../terminal/cli-error.js';
import type { OutputFlag } from '../../terminal/options.js';
import { printOut, asTyped } from '../../terminal/print.js';
import { pathToFileURL } from 'node:url';
import { makeFolderSync } from '../../../cloud/folders.js';
import { JOB_KEY_SECRET } from '../../../cloud/job-keys/open-job-keys.js';
import { newKeyLine } from '../../../cloud/keys/key-reference.js';
import { writeNewKey } from '../../terminal/file-on-disk.js';

export interface SetupApiKeysFlags extends OutputFlag {
  readonly folder: string;
  readonly namespace?: string;
  /** Milliseconds. */
  readonly validFor: number;
  readonly rotate?: true;
  /** The account that reads the holders' folders, such as a container's; absent: the caller, or the present owner. */
  readonly forUid?: number;
}

/** Holders of API keys, and their roles in the namespace. Each has a separate folder, which can be mounted alone. */
const HOLDERS = {
  admin: { role: 'admin', purpose: asTyped('jobctl setup server') },
  server: { role: 'write', purpose: asTyped('jobctl serve') },
  worker: { role: 'write', purpose: 'workers' },
  people: { role: 'read', purpose: 'whoever may look, and change nothing' },
} as const;
type Holder = keyof typeof HOLDERS;

const KEY_SET = 'public/key-set.json';
/** In a separate folder, so that one `chown` of the holders' folders for their reader does not include it. */
const SIGNING_KEYS = 'signing/signing-keys.json';
const FORMER_SIGNING_KEYS = 'signing-keys.json';

/**
 * Creates the keys for a Temporal server's own authorizer: a key set that the server reads, and API keys that it accepts.
 * Repeating it creates new API keys.
 * @throws CliError
 */
export function setupApiKeys(flags: SetupApiKeysFlags): number {
  const folder = resolve(flags.folder);
  const namespace = flags.namespace ?? process.env['TEMPORAL_NAMESPACE'] ?? 'default';
  if (/[:\s]|^temporal-system$|^$/.test(namespace))
    throw new CliError(ExitCode.Usage, `--namespace '${namespace}': is no namespace that rights can be given in`);
  if (flags.validFor < MINUTE_MS) throw new CliError(ExitCode.Usage, '--valid-for: less than a minute; such as 90d');
  if (existsSync(folder) && !statSync(folder).isDirectory())
    throw new CliError(ExitCode.Usage, `--folder ${folder}: is no folder`);
  const { forUid } = flags;
  if (forUid !== undefined && process.getuid?.() !== 0)
    throw new CliError(
      ExitCode.Usage,
      `--for-uid ${forUid}: root alone gives files to another account`,
      'run it by sudo',
    );
  const expiresAt = Date.now() + flags.validFor;
  try {
    const keys = signingKeys(folder, flags.rotate ?? false);
    makeFolderSync(folder, PUBLIC.folder);
    // The owner of the folder could replace each folder below it.
    if (forUid !== undefined) chownSync(folder, 0, 0);
    write(join(folder, SIGNING_KEYS), formatSigningKeys(keys), PRIVATE);
    rmSync(join(folder, FORMER_SIGNING_KEYS), { force: true });
    write(join(folder, KEY_SET), `${JSON.stringify(keySetOf(keys), null, 2)}\n`, PUBLIC, forUid);
    for (const holder of Object.keys(HOLDERS) as Holder[])
      write(fileOf(folder, holder), apiKeyOf(holder, { keys, namespace, expiresAt }), PRIVATE, forUid);
  } catch (error) {
    if (error instanceof CliError) throw error;
    throw new CliError(ExitCode.Failed, `${folder}: ${fileErrorWords(error)}`);
  }
  tell(flags, { folder, namespace, expiresAt });
  return ExitCode.Done;
}

const MINUTE_MS = 60_000;
const fileOf = (folder: string, holder: Holder): string => join(folder, holder, 'api-key');

/**
 * The second last key signs. The last one signs after the next rotation; it is published already, so that a server that has not
 * reloaded the key set knows it then. The key before the current one stays published: its API keys are valid until they expire,
 * or until the rotation after the next.
 */
const currentOf = (keys: readonly SigningKey[]): SigningKey => keys.at(-2) as SigningKey;

function signingKeys(folder: string, isRotated: boolean): readonly SigningKey[] {
  const file = [SIGNING_KEYS, FORMER_SIGNING_KEYS].map((name) => join(folder, name)).find((path) => existsSync(path));
  if (file === undefined) return [newSigningKey(), newSigningKey()];
  const known = parse(file);
  return isRotated ? [...known.slice(-2), newSigningKey()] : known;
}

function parse(file: string): readonly SigningKey[] {
  const text = readFileSync(file, 'utf8');
  try {
    const keys = parseSigningKeys(text);
    if (keys.length >= 2) return keys;
  } catch {
    // The error is thrown below.
  }
  throw new CliError(
    ExitCode.Usage,
    `${file}: does not hold the keys that sign API keys`,
    'restore it, or name another folder: then every API key, and the key set of the server, is another one',
  );
}

function apiKeyOf(
  holder: Holder,
  of: { readonly keys: readonly SigningKey[]; readonly namespace: string; readonly expiresAt: number },
): string {
  const permissions = [`${of.namespace}:${HOLDERS[holder].role}`];
  return `${signApiKey(currentOf(of.keys), { subject: `jobctl ${holder}`, permissions, expiresAt: of.expiresAt })}\n`;
}

const PRIVATE = { file: 0o600, folder: 0o700 };
const PUBLIC = { file: 0o644, folder: 0o755 };

/** Replaces a whole file. A folder given to another account, such as a container's, stays readable for that account. */
function write(path: string, content: string, mode: typeof PRIVATE, forUid?: number): void {
  const folder = dirname(path);
  makeFolderSync(folder, mode.folder);
  if (forUid !== undefined) chownSync(folder, forUid, statSync(folder).gid);
  const draft = `${path}.${process.pid}.new`;
  writeFileSync(draft, content, { mode: mode.file });
  const { uid, gid } = statSync(folder);
  if (process.getuid?.() === 0 && uid !== 0) chownSync(draft, uid, gid);
  renameSync(draft, path);
}

interface Made {
  readonly folder: string;
  readonly namespace: string;
  readonly expiresAt: number;
}

function tell({ output }: OutputFlag, { folder, namespace, expiresAt }: Made): void {
  const until = new Date(expiresAt).toISOString();
  const holders = (Object.keys(HOLDERS) as Holder[]).map((holder) => {
    const { role, purpose } = HOLDERS[holder];
    return { holder, file: fileOf(folder, holder), permission: `${namespace}:${role}`, purpose };
  });
  const keySet = join(folder, KEY_SET);
  if (output === 'json') {
    printOut(`${JSON.stringify({ keySet, expiresAt, holders }, null, 2)}\n`);
    return;
  }
  const lines = holders.map(({ file, permission, purpose }) => `${file}: ${permission}, for ${purpose}`);
  printOut(
    [
      `${keySet}: the Temporal server reads it by HTTP (authorization.jwtKeyProvider.keySourceURIs)`,
      ...lines,
      `API keys are valid until ${until}; run it again before: processes read the files again by themselves`,
      `${join(folder, SIGNING_KEYS)} makes them: keep it where no worker, server or person reads it\n`,
    ].join('\n'),
  );
}

export interface SetupJobKeysFlags {
  readonly file?: string;
  readonly id?: string;
}

/** Creates a secret that the keys of jobs are made from. @throws CliError; JobKeySecretError if the id is invalid */
export function setupJobKeys({ file, id }: SetupJobKeysFlags): number {
  writeNewKey(newKeyLine(new Date(), id, JOB_KEY_SECRET), file);
  if (file === undefined) return ExitCode.Done;
  const reference = pathToFileURL(resolve(file)).href;
  printOut(
    `Name it in each worker's configuration and start them again: "ssh": {"formerJobKeySecrets": ["${reference}"]}\n` +
      `When all of them have it, new jobs can use it: "ssh": {"jobKeySecret": "${reference}"}\n`,
  );
  return ExitCode.Done;
}
