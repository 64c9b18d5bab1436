import { setTimeout as sleep } from 'node:timers/promises';
import { withClient } from '../../place/connect.js';
import { resolveContext } from '../../place/context.js';
import { CliError, ExitCode } from '../../terminal/cli-error.js';
import type { HostChoice } from '../job-filter.js';
import { type ReachFlags, reachHosts } from '../hosts/reach.js';
import { Bringer, type Reached, type State } from './bring.js';
import { Sayings } from './sayings.js';
import type { SyncedFolder } from './synced-folder.js';

export interface Sync {
  readonly folder: SyncedFolder;
  readonly job: string;
  readonly hosts: HostChoice;
  /** The folder on the hosts: absolute, or below the login user's home. */
  readonly path: string;
  readonly flags: ReachFlags;
  /** Brings the hosts into step once, and ends. */
  readonly isOnce: boolean;
}

/** Least and most pause between two looks at the folder. A large folder is looked at for a tenth of the time. */
const [LEAST_PAUSE_MS, MOST_PAUSE_MS] = [1_000, 10_000];
/** So often the job is asked for its hosts when nothing changes: after a preemption they are others, with empty disks. */
const HOSTS_EVERY_MS = 20_000;
/**
 * Longest pauses between tries of what failed, in ms, the first being a second. A file that a host cannot have is tried at once when
 * something changes here. Each try of it is a use of the workspace, and must not keep it for ever; a host that is not reached sees
 * none.
 */
const [MOST_MS_REFUSED, MOST_MS_UNREACHED] = [3_600_000, 30_000];
/**
 * Brings a folder of a job's hosts into step with one of this computer, again after each change here, until the job ends or
 * `signal` aborts. Hosts that a preemption brings get all files. What others changed on a host is never lost: it is kept beside,
 * or left in place, and named (docs/adr/0184).
 * @returns the exit code: failed if something that changed here is not on a host
 * @throws CliError, JobNotFound ..: before anything is sent
 */
export async function keepInStep(sync: Sync, signal: AbortSignal): Promise<ExitCode> {
  // A host that hangs must not hold up the end.
  const over = new AbortController();
  try {
    return await keep(sync, AbortSignal.any([signal, over.signal]));
  } finally {
    over.abort();
  }
}

async function keep(sync: Sync, signal: AbortSignal): Promise<ExitCode> {
  const says = new Sayings();
  const bringer = new Bringer(sync.path, { says, signal });
  let reached: Reached | undefined = await reachHosts(sync.job, sync.hosts, sync.flags);
  let askedAt = Date.now();
  let look = await sync.folder.look();
  let state: State = { refused: 0, unreached: 0, busy: 0 };
  let tries = { failed: 0, next: 0, version: look.version };
  for (let lookMs = 0; ;) {
    const began = Date.now();
    for (const problem of look.problems) says.lasting(`${problem}; it stays behind`);
    if (reached === undefined || began - askedAt > HOSTS_EVERY_MS) {
      const answer = await hostsNow(sync, says);
      if (answer === 'ended')
        return says.ended(sync.job, state.refused + state.busy > 0 || look.version !== tries.version);
      [reached, askedAt] = [answer, began];
      if (answer?.hosts.some((host) => !bringer.knows(host)) === true) tries = { ...tries, failed: 0, next: 0 };
    }
    if (reached !== undefined && (began >= tries.next || look.version !== tries.version)) {
      await bringer.round(reached, look, sync.isOnce);
      state = bringer.state(reached.hosts);
      const isFailed = state.refused + state.unreached > 0;
      if (!isFailed && state.busy === 0 && !signal.aborted)
        says.inStep(`${sync.folder.path}: ${sync.path} of ${sync.job}`, look.files.size, reached.hosts.length);
      const inRow = isFailed ? tries.failed + 1 : 0;
      const most = state.refused > 0 ? MOST_MS_REFUSED : MOST_MS_UNREACHED;
      // Hosts that are in step are not compared again until something changes.
      const again = state.busy > 0 ? 0 : Infinity;
      const wait = isFailed ? Math.min(most, LEAST_PAUSE_MS * 2 ** inRow) : again;
      tries = { failed: inRow, next: Date.now() + wait, version: look.version };
      // It may have lost its machine.
      if (state.unreached > 0) reached = undefined;
    }
    if (signal.aborted) return ExitCode.Interrupted;
    if (sync.isOnce)
      return state.refused + state.unreached + look.problems.length > 0 ? ExitCode.Failed : ExitCode.Done;
    const pause = Math.min(MOST_PAUSE_MS, Math.max(LEAST_PAUSE_MS, 10 * lookMs));
    await sleep(pause, undefined, { signal }).catch(() => undefined);
    const looked = Date.now();
    // A file or folder that is removed while it is listed is an error of that look.
    look = await sync.folder.look().catch((error: unknown) => {
      says.once(`${(error as Error).message.split('\n')[0]}; looking again`);
      return look;
    });
    lookMs = Date.now() - looked;
  }
}

/** Undefined: it has none now, or nobody can say. */
async function hostsNow({ job, hosts, flags }: Sync, says: Sayings): Promise<Reached | 'ended' | undefined> {
  try {
    return await reachHosts(job, hosts, flags);
  } catch (error) {
    const row = await withClient(resolveContext(flags), (client) => client.row(job)).catch(() => undefined);
    if (row?.endedAt !== undefined) return 'ended';
    if (error instanceof CliError && (error.exitCode === ExitCode.Usage || error.exitCode === ExitCode.NotFound))
      throw error;
    says.once(`${(error as Error).message.split('\n')[0]}; trying again`);
    return undefined;
  }
}
