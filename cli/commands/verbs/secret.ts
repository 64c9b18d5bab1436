import { fileErrorWords } from '../../../domain/errors.js';
import { readFileSync, statSync } from 'node:fs';
import { MOST_SECRET_BYTES, type SecretStore, type StoredSecret } from '../../../cloud/secrets/port.js';
import { SECRET_NAME, SECRET_NAME_RULE } from '../../../domain/secrets.js';
import { CliError, ExitCode } from '../../terminal/cli-error.js';
import { type CliContext, type ContextFlags, resolveContext } from '../../place/context.js';
import type { OutputFlag } from '../../terminal/options.js';
import { formatDuration } from '../../terminal/render/quantities.js';
import { renderTable } from '../../terminal/render/columns.js';
import { printErr, printOut } from '../../terminal/print.js';

export type SecretFlags = Pick<ContextFlags, 'secretStore' | 'context'> & OutputFlag;
export type SecretListFlags = SecretFlags & Pick<ContextFlags, 'server'> & { readonly project?: string };
export type SecretPutFlags = SecretFlags & { readonly fromFile?: string };

/** Stores a secret from a file or a pipe: arguments are in the shell's history, and everybody sees them in `ps`. */
export async function secretPut(name: string, flags: SecretPutFlags): Promise<number> {
  refuseName(name);
  const store = await storeOf(flags);
  const value = flags.fromFile === undefined ? fromStdin(name) : readValue(flags.fromFile, flags.fromFile);
  const { isChanged, ...stored } = await store.put(name, value);
  if (flags.output === 'json') {
    printOut(`${JSON.stringify({ ...stored, isChanged })}\n`);
    return ExitCode.Done;
  }
  const what = isChanged ? 'is kept' : 'was there already, with this value';
  printOut(
    `secret ${name} (${stored.fingerprint}) ${what} in the ${store.place}\n` +
      `  in a job file: secrets: {VARIABLE: ${name}}, or as a key: ssh: {private_key: secret:${name}}\n`,
  );
  return ExitCode.Done;
}

export async function secretList(flags: SecretListFlags): Promise<number> {
  const { place, all } = await listed(flags);
  if (flags.output === 'json') {
    printOut(`${JSON.stringify({ place, secrets: all }, null, 2)}\n`);
    return ExitCode.Done;
  }
  if (all.length === 0) printErr(`no secrets in the ${place}\n`);
  else printOut(`${table(all, Date.now()).join('\n')}\n`);
  return ExitCode.Done;
}

/** Lists secrets. A server lists those that the caller may use, if the store itself is not named. */
async function listed(flags: SecretListFlags): Promise<{ place: string; all: readonly StoredSecret[] }> {
  const context = resolveContext(flags);
  if (context.server === undefined || context.secretStore !== undefined) {
    const store = await openSecrets(context);
    return { place: store.place, all: await store.list() };
  }
  const [{ secretNames }, { serverOptionsOf }, { explainedBy }] = await Promise.all([
    import('../../../client/http/access.js'),
    import('../../place/login/server-access.js'),
    import('../../place/login/server-failures.js'),
  ]);
  const project = flags.project ?? context.project;
  const all = await secretNames(serverOptionsOf(context.server), project).catch((error: unknown) =>
    Promise.reject(explainedBy(context.server, error)),
  );
  return { place: `store of ${context.server.url}`, all };
}

export async function secretRemove(name: string, flags: SecretFlags): Promise<number> {
  refuseName(name);
  const store = await storeOf(flags);
  if (!(await store.remove(name))) {
    throw new CliError(
      ExitCode.NotFound,
      `there is no secret ${name} in the ${store.place}`,
      '`jobctl secret ls` shows what is there',
    );
  }
  if (flags.output === 'json') printOut(`${JSON.stringify({ name, isRemoved: true })}\n`);
  else printOut(`secret ${name} is removed; commands that run keep what they got\n`);
  return ExitCode.Done;
}

function table(all: readonly StoredSecret[], now: number): readonly string[] {
  const rows = all.map(({ name, fingerprint, putAt }) => [name, fingerprint, `${formatDuration(now - putAt)} ago`]);
  return renderTable([['NAME', 'FINGERPRINT', 'PUT'], ...rows]);
}

async function storeOf(flags: SecretFlags): Promise<SecretStore> {
  return openSecrets(resolveContext(flags));
}

/** @throws CliError if no secret store is known */
async function openSecrets({ secretStore, label }: CliContext): Promise<SecretStore> {
  if (secretStore === undefined) {
    throw new CliError(
      ExitCode.Usage,
      'no secret store is configured',
      label === undefined
        ? 'name the one of your workers with --secret-store or JOBCTL_SECRET_STORE: projects/P is the Secret Manager of project P'
        : 'your local stack came up before it had one: `jobctl dev up` gives it one',
    );
  }
  const { openSecretStore } = await import('../../../cloud/secrets/open-secret-store.js');
  return openSecretStore(secretStore);
}

function refuseName(name: string): void {
  if (!SECRET_NAME.test(name)) throw new CliError(ExitCode.Usage, `'${name}' is not ${SECRET_NAME_RULE}`);
}

function fromStdin(name: string): string {
  if (process.stdin.isTTY) {
    throw new CliError(
      ExitCode.Usage,
      `jobctl secret put ${name}: no value`,
      `from a file: jobctl secret put ${name} --from-file FILE`,
      `or through a pipe: jobctl secret put ${name} < FILE`,
    );
  }
  return readValue(0, 'standard input');
}

function readValue(source: string | 0, shown: string): string {
  const value = textOf(readWhole(source, shown), shown);
  if (value === '') throw new CliError(ExitCode.Usage, `${shown}: is empty; a secret holds something`);
  return value;
}

function readWhole(source: string | 0, shown: string): Uint8Array {
  try {
    // The size is checked first: a secret is small, and the named file may be a disk image.
    const { size } = source === 0 ? { size: 0 } : statSync(source);
    const bytes = size > MOST_SECRET_BYTES ? undefined : readFileSync(source);
    if (bytes !== undefined && bytes.length <= MOST_SECRET_BYTES) return bytes;
  } catch (error) {
    throw new CliError(ExitCode.Usage, `${shown}: cannot be read: ${fileErrorWords(error)}`);
  }
  throw new CliError(ExitCode.Usage, `${shown}: is more than ${MOST_SECRET_BYTES} bytes, the most a secret holds`);
}

function textOf(bytes: Uint8Array, shown: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new CliError(ExitCode.Usage, `${shown}: is not UTF-8 text`, 'encode bytes, with base64 say');
  }
}
