import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { type DeedDo, lasting, seconds } from './cloud-deeds.js';

/** Long enough that connections are given up, and that another worker could take over what it should not. */
const LONGER = 4;

/** What befalls one worker of several, while the others are well. */
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
    // Another process of that worker has no such limit.
    stage.endAfter(forMs, () => limitFiles(pid, 'unlimited').catch(() => undefined));
    stage.note('fault', `the ${worker.name} can write to no file, its log included, for ${seconds(forMs)}`);
    return true;
  },
};

/**
 * The most bytes that files may have to which a process writes (RLIMIT_FSIZE): at 0 each of its writes fails as on a full disk,
 * with EFBIG in the place of ENOSPC. It needs no disk of its own, and takes hold of a process that runs.
 */
async function limitFiles(pid: number, most: '0' | 'unlimited'): Promise<void> {
  await promisify(execFile)('prlimit', ['--pid', String(pid), `--fsize=${most}:`]);
}

/** What a stack needs for the deeds that are planned. */
export const needsSecondWorker = (kinds: readonly string[]): boolean =>
  kinds.some((kind) => Object.hasOwn(WORKER_DEEDS, kind));
