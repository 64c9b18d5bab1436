import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CliError } from '../cli-error.js';
import { localContext } from '../context.js';
import type { CliContext } from '../context.js';
import type { DevContext } from '../dev/context.js';
import { devUp } from '../dev/up.js';
import { ExitCode } from '../exit-codes.js';
import { RehearsalAdmin } from '../rehearsal/rehearsal-admin.js';
import { disown, own, removeStack, removeStale, STACK_PREFIX } from './stale-stacks.js';

export interface StackWish {
  readonly env: NodeJS.ProcessEnv;
  /** Times as fast as this computer's clock. */
  readonly timeScale: number;
  readonly onProgress: (line: string) => void;
}

/** A local stack for one rehearsal: a state folder, ports and addresses of its own, and nothing of it left behind. */
export interface PrivateStack {
  readonly home: string;
  readonly stack: DevContext;
  readonly admin: RehearsalAdmin;
  /** What its clients need. */
  readonly context: CliContext;
  /** Ends its processes and removes the folder. Repeating is safe. */
  remove(): Promise<void>;
  /** From now on it is the user's to remove. */
  keep(): void;
}

/** @throws what `dev up` throws; nothing is left then */
export async function openPrivateStack({ env, timeScale, onProgress }: StackWish): Promise<PrivateStack> {
  await removeStale(env, onProgress);
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
    const admin = new RehearsalAdmin(stack.rehearsal.adminUrl);
    // The worker's waits are scaled by the same number (client/cli/dev/context.ts).
    if (timeScale !== 1) await admin.post('clock', { scale: timeScale });
    return { home, stack, admin, context: localContext(stack, {}, env), remove, keep: () => disown(home) };
  } catch (error) {
    await remove();
    throw error;
  }
}

/**
 * A rehearsed VM's root is its own, laid over this computer's folders in a mount namespace. Where the kernel has none, the job
 * runs with the user's own rights on the user's own files.
 * @throws CliError where nothing keeps the job from them and the user has not agreed
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
