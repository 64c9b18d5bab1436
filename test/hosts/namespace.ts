import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { until } from '../until.js';

/** As root plainly, else with a user namespace of one's own. */
const asUser = process.getuid?.() === 0 ? [] : ['--user', '--map-root-user'];
const enterUser = process.getuid?.() === 0 ? [] : ['--user', '--preserve-credentials'];

export interface Namespace {
  /** Words before a command that is to run inside. */
  readonly enter: readonly string[];
  /** Kills its init, and so at once all that runs inside. */
  kill(): void;
}

/** A pid and mount namespace with a bash as init that reaps, after `prepare` ran in it: as much of a VM as these tests need. */
export async function startNamespace(prepare = ':'): Promise<Namespace> {
  const init = `${prepare} || exit 1; echo ready; trap : TERM; while :; do sleep 3600 & wait; done`;
  const words = [...asUser, '--pid', '--mount', '--mount-proc', '--fork', '--kill-child', 'bash', '-c', init];
  const unshare = spawn('unshare', words, { stdio: ['ignore', 'pipe', 'inherit'] });
  let said = '';
  unshare.stdout.on('data', (chunk: Buffer) => (said += chunk.toString()));
  await until('the namespace', () => (said.includes('ready') ? true : undefined));
  const pid = readFileSync(`/proc/${unshare.pid}/task/${unshare.pid}/children`, 'utf8').trim();
  return {
    enter: ['nsenter', '--target', pid, ...enterUser, '--pid', '--mount', '--'],
    kill: () => void unshare.kill('SIGKILL'),
  };
}
