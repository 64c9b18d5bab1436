import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { type DeedDo, lasting, seconds } from './cloud-deeds.js';

/** These faults last this many times longer, so that connections are given up, and another worker could wrongly take over. */
const LONGER = 4;

/** Faults of one worker, while the others are well. */
export const WORKER_DEEDS: Readonly<Record<string, DeedDo>> = {
  'SSH is dead for one worker': async (stage, draws) => {
    const { gate } = stage.stack;
    if (gate === undefined || gate.connections === 0) return false;
    const how = draws.pick(['silent', 'silent', 'refused'] as const);
    const forMs = LONGER * lasting(stage, draws);
    const count = gate.connections;
    gate.close(how);
    stage.endAfter(forMs, async () => gate.open());
    const text = `SSH is ${how} for the second worker alone, which had ${count} connections, for ${seconds(forMs)}`;
    stage.note('fault', text);
    return true;
  },
  'the disk of a worker is full': async (stage, draws) => {
    const worker = draws.pick(stage.stack.workers);
    const { pid } = worker;
    if (pid === undefined) return false;
    const forMs = LONGER * lasting(stage, draws);
    await limitFiles(pid, '0');
    // If the worker was restarted meanwhile, its new process has no such limit.
    stage.endAfter(forMs, () => limitFiles(pid, 'unlimited').catch(() => undefined));
    stage.note('fault', `the ${worker.name} can write to no file, its log included, for ${seconds(forMs)}`);
    return true;
  },
};

/**
 * Limits the size of files that a process may write (RLIMIT_FSIZE). At 0 each of its writes fails as on a full disk, but with
 * EFBIG in place of ENOSPC. No separate disk is needed, and a running process can be limited.
 */
async function limitFiles(pid: number, most: '0' | 'unlimited'): Promise<void> {
  await promisify(execFile)('prlimit', ['--pid', String(pid), `--fsize=${most}:`]);
}

/** Whether one of these deeds needs a second worker. */
export const needsSecondWorker = (kinds: readonly string[]): boolean =>
  kinds.some((kind) => Object.hasOwn(WORKER_DEEDS, kind));
