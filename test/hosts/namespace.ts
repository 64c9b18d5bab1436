import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { until } from '../until.js';

/** As root plainly, else with a user namespace of one's own. */
const isRoot = process.getuid?.() === 0;
const asUser = isRoot ? [] : ['--user', '--map-root-user'];
const enterUser = isRoot ? [] : ['--user', '--preserve-credentials'];

export interface Namespace {
  /** Words before a command that is to run inside. */
  readonly enter: readonly string[];
  /** Kills its init, and so at once all that runs inside. */
  kill(): void;
}

/**
 * A pid and mount namespace with a bash as init that reaps, after `prepare` ran in it: as much of a VM as these tests need.
 * @param uid whose the commands inside are, in place of root's: of root another login, else the same one by another number
 */
export async function startNamespace(prepare = ':', uid?: number): Promise<Namespace> {
  const nested = `unshare --user --map-user=${uid} --map-group=${uid} bash -c 'echo ready $$; exec sleep infinity' &`;
  const ready = uid === undefined || isRoot ? 'echo ready;' : nested;
  const init = `${prepare} || exit 1; ${ready} trap : TERM; while :; do sleep 3600 & wait $!; done`;
  const words = [...asUser, '--pid', '--mount', '--mount-proc', '--fork', '--kill-child', 'bash', '-c', init];
  const unshare = spawn('unshare', words, { stdio: ['ignore', 'pipe', 'inherit'] });
  let said = '';
  unshare.stdout.on('data', (chunk: Buffer) => (said += chunk.toString()));
  const [, inner = ''] = await until('the namespace', () => /^ready ?(\d*)\n/.exec(said) ?? undefined);
  const pid = readFileSync(`/proc/${unshare.pid}/task/${unshare.pid}/children`, 'utf8').trim().split(' ')[0] ?? '';
  const asLogin = isRoot
    ? ['setpriv', `--reuid=${uid}`, `--regid=${uid}`, '--clear-groups']
    : ['nsenter', '--target', inner, ...enterUser, '--'];
  return {
    enter: [
      ...['nsenter', '--target', pid, ...enterUser, '--pid', '--mount', '--'],
      ...(uid === undefined ? [] : asLogin),
    ],
    kill: () => void unshare.kill('SIGKILL'),
  };
}
