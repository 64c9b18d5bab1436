import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CliError, ExitCode } from '../../terminal/cli-error.js';
import { type CliContext, localContext } from '../../place/context.js';
import type { DevContext } from '../../place/stack/context.js';
import { devUp } from '../dev/up.js';
import { RehearsalAdmin } from '../rehearsal/rehearsal-admin.js';
import type { JobSpec } from '../../../domain/job-spec.js';
import { secretNames } from '../../job/job-keys.js';
import { devDown } from '../dev/down.js';
import { isAlive, ownIdentity, type ProcessIdentity } from '../../place/stack/process-identity.js';
import { readJson, writeJson } from '../../place/stack/stack-record.js';

export interface PrivateStackOptions {
  readonly env: NodeJS.ProcessEnv;
  /** Speed of the stack's clock; 1 is real time. */
  readonly timeScale: number;
  readonly onProgress: (line: string) => void;
}

/** A local stack for one rehearsal, with its own state folder, ports and addresses. */
export interface PrivateStack {
  readonly home: string;
  readonly stack: DevContext;
  readonly admin: RehearsalAdmin;
  /** Connects clients to the stack. */
  readonly context: CliContext;
  /** Ends the stack's processes and removes its folder. Repeating is safe. */
  remove(): Promise<void>;
  /** Leaves the stack running. The user removes it. */
  keep(): void;
}

/** Starts the stack. @throws the errors of `dev up`, after everything that it had started was removed */
export async function openPrivateStack({ env, timeScale, onProgress }: PrivateStackOptions): Promise<PrivateStack> {
  await removeStaleStacks(env, onProgress);
  const home = mkdtempSync(join(tmpdir(), STACK_PREFIX));
  own(home);
  onProgress(`Its own stack, for this rehearsal alone: ${home}`);
  const remove = (): Promise<void> => removeStack(home, env);
  try {
    const stack = await devUp({
      env: { ...env, JOBCTL_HOME: home },
      onProgress,
      cloud: { kind: 'rehearsal' },
      timeScale,
    });
    if (stack.rehearsal === undefined) throw new Error(`${home}: the stack has no rehearsal`);
    const admin = new RehearsalAdmin(stack.rehearsal.adminUrl, stack.cloud.accessTokenFile);
    // The worker scales its waits by the same factor (cli/place/stack/context.ts).
    if (timeScale !== 1) await admin.post('clock', { scale: timeScale });
    return { home, stack, admin, context: localContext(stack, {}, env), remove, keep: () => disown(home) };
  } catch (error) {
    await remove();
    throw error;
  }
}

/**
 * Checks that the job cannot reach the user's files. A simulated VM has its own root, an overlay in a mount namespace. If the
 * kernel offers no such namespaces, the job runs with the user's rights on the user's files.
 * @returns the kind of confinement
 * @throws CliError if there is none and the user has not allowed that
 */
export async function requireConfinement(admin: RehearsalAdmin, isUnconfined: boolean): Promise<string> {
  const { confinement = 'none', confinementReason } = await admin.status();
  if (confinement !== 'none' || isUnconfined) return confinement;
  throw new CliError(
    ExitCode.Refused,
    'nothing keeps the job from the files of this computer: it would run as you, in your folders',
    ...(confinementReason === undefined ? [] : [confinementReason]),
    'not protected: your home folder, /tmp, installed packages and services; a `rm -rf` or `sudo` of the job acts here',
    'where that is no harm (a container, a CI machine): --unconfined',
  );
}

type KnownStore = Pick<CliContext, 'secretStore'>;

/**
 * Copies the secrets that a job names from the user's secret store to the stack's, which is removed with the stack. Secrets that
 * cannot be found are skipped: the stack's worker reports them.
 */
export async function copySecrets(spec: JobSpec, { secretStore: from }: KnownStore, to: KnownStore): Promise<void> {
  const names = new Set(secretNames(spec).map(({ name }) => name));
  if (names.size === 0 || from === undefined || to.secretStore === undefined) return;
  const { openSecretStore } = await import('../../../cloud/secrets/open-secret-store.js');
  const [source, target] = [openSecretStore(from), openSecretStore(to.secretStore)];
  for (const name of names) {
    const value = await source.read(name);
    if (value !== undefined) await target.put(name, value);
  }
}

/** Begins the names of the stacks' state folders in the temporary folder. */
const STACK_PREFIX = 'jobctl-rehearse-';

const ownerFile = (home: string): string => join(home, 'rehearse.json');

/** Records that this process will remove the stack in `home`. */
function own(home: string): void {
  writeJson(ownerFile(home), ownIdentity());
}

/** Deletes that record: only the user removes the stack now. */
function disown(home: string): void {
  rmSync(ownerFile(home), { force: true });
}

/** Ends the stack and removes its folder. Repeating is safe. */
async function removeStack(home: string, env: NodeJS.ProcessEnv): Promise<void> {
  await devDown({ env: { ...env, JOBCTL_HOME: home }, purge: true });
  rmSync(home, { recursive: true, force: true, maxRetries: 3 });
}

/** Removes stacks whose rehearsal was killed before it could, for example by SIGKILL or a restart of the computer. */
async function removeStaleStacks(env: NodeJS.ProcessEnv, onProgress: (line: string) => void): Promise<void> {
  for (const home of stackFolders()) {
    try {
      const owner = readJson(ownerFile(home)) as ProcessIdentity | undefined;
      if (owner === undefined || isAlive(owner)) continue;
      onProgress(`Removing the stack of a rehearsal that was killed: ${home}`);
      await removeStack(home, env);
    } catch (error) {
      onProgress(`${home}: cannot be removed: ${(error as Error).message}`);
    }
  }
}

/** This user's state folders of rehearsal stacks. */
function stackFolders(): readonly string[] {
  const uid = process.getuid?.();
  const folders = readdirSync(tmpdir())
    .filter((name) => name.startsWith(STACK_PREFIX))
    .map((name) => join(tmpdir(), name));
  return folders.filter((folder) => statSync(folder, { throwIfNoEntry: false })?.uid === uid);
}
