import { readdirSync, readFileSync, rmdirSync, rmSync } from 'node:fs';
import { claimFile } from './addresses.js';
import { stackHome } from '../../terminal/home.js';
import type { Environment, StackHome } from '../../terminal/home.js';
import { ensureRunning, livingHolder, stopPart } from './part.js';
import type { StopOutcome } from './part.js';
import { lockStack } from './stack-lock.js';
import type { DevOptions } from './stack-lock.js';
import { isRecordedAlive, PART_TITLES, partsOf, rehearsalPart, slotOf, STOP_GRACE_MS } from './stack-parts.js';
import { PART_NAMES, readStackRecord } from '../../place/stack/stack-record.js';
import type { PartName, StackRecord } from '../../place/stack/stack-record.js';

export interface DevDownOptions extends DevOptions {
  /** Removes the data too: jobs, logs, the rehearsal's store. The caller has asked the user. */
  readonly purge?: boolean;
  /** Also stops a stack with real machines that has slices that cost money, or running commands. */
  readonly isSure?: boolean;
  readonly confirm?: (question: string) => Promise<boolean>;
}

/**
 * Ends the processes of the stack, the last started first, and returns once all are gone; the data stay unless `purge`. Repeating
 * is safe.
 * @throws CliError if slices or jobs are open on real Cloud TPU or on the user's own machines and the user has not agreed;
 *   nothing was changed then
 */
export async function devDown(options: DevDownOptions = {}): Promise<void> {
  const { env = process.env, onProgress = () => undefined, purge = false } = options;
  const home = stackHome(env);
  const lock = await lockStack(home, onProgress);
  try {
    await lookBeforeLeaving(home, options, onProgress);
    await stopAll(home, env, onProgress);
    if (purge) removeData(home, onProgress);
  } finally {
    lock.release();
  }
  removeIfEmpty(home.root);
}

async function lookBeforeLeaving(
  home: StackHome,
  { purge: isPurge = false, isSure = false, confirm }: DevDownOptions,
  onProgress: (line: string) => void,
): Promise<void> {
  const record = readStackRecord(home);
  if (record === undefined) return;
  const real = record.realCloud === undefined ? 'own machines' : 'cloud';
  // A rehearsal that is down has nothing open, unless its pool file names machines.
  if (real === 'own machines' && !isRecordedAlive(slotOf(home, 'server').read()) && !namesMachines(record)) return;
  const { openWork, refuseToLeave } = await import('./open-work.js');
  await refuseToLeave(await openWork(home, record, real), { real, isPurge, isSure, onProgress, confirm });
}

function namesMachines({ poolFile }: StackRecord): boolean {
  try {
    const lines = poolFile === undefined ? [] : readFileSync(poolFile, 'utf8').split('\n');
    return lines.some((line) => line.replaceAll(/[ \t]/g, '').startsWith('[[machines]]'));
  } catch {
    return false;
  }
}

async function stopAll(home: StackHome, env: Environment, onProgress: (line: string) => void): Promise<void> {
  const record = readStackRecord(home);
  if (record === undefined) {
    onProgress(`No stack in ${home.root}`);
    return;
  }
  const failures: Error[] = [];
  const wanted = partsOf(record);
  for (const name of PART_NAMES.toReversed()) {
    // A server that is no longer wanted may still run; a rehearsal never runs if the cloud is real.
    if (name === 'rehearsal' && !wanted.includes(name)) continue;
    try {
      const outcome =
        name === 'rehearsal' ? await stopRehearsal(home, env, onProgress) : await stop(home, name, onProgress);
      onProgress(`${PART_TITLES[name]}: ${outcome}`);
    } catch (err) {
      // The other parts must still end.
      failures.push(err as Error);
    }
  }
  if (failures.length > 0) throw new Error(failures.map(({ message }) => message).join('\n'), { cause: failures[0] });
}

function stop(home: StackHome, name: PartName, onProgress: (line: string) => void): Promise<StopOutcome> {
  const stopGraceMs = STOP_GRACE_MS[name];
  const text = `${PART_TITLES[name]}: waiting for its end; it is killed after ${stopGraceMs / 1000} s`;
  const slow = setTimeout(() => onProgress(text), SLOW_MS);
  return stopPart({ stopGraceMs }, slotOf(home, name)).finally(() => clearTimeout(slow));
}

const SLOW_MS = 2_000;

/**
 * Stops a rehearsal. The TPU VMs of a killed rehearsal keep running, for the next one to take over. Only a rehearsal on the same
 * state folder knows them, so one is started and then ended in order.
 */
async function stopRehearsal(
  home: StackHome,
  env: Environment,
  onProgress: (line: string) => void,
): Promise<StopOutcome> {
  const record = readStackRecord(home);
  if (record?.parts.rehearsal === undefined) return 'was not running';
  const slot = slotOf(home, 'rehearsal');
  for (let i = 0; i < REHEARSAL_TRIES; i++) {
    if (!isRecordedAlive(slot.read())) {
      onProgress('The rehearsal cloud was killed: starting it once more, so that it ends its TPU VMs');
      await ensureRunning(rehearsalPart(home, record, env), slot);
    }
    const outcome = await stop(home, 'rehearsal', onProgress);
    if (outcome !== 'killed') return outcome;
  }
  throw new Error(
    `the rehearsal cloud did not end in ${STOP_GRACE_MS.rehearsal / 1000} s, twice, and was killed; its TPU VMs may still run. ` +
      `See ${slot.logFile}`,
  );
}

const REHEARSAL_TRIES = 2;

/** Removes only files that a stack creates, so that a JOBCTL_HOME that names a folder with other files loses none of them. */
function removeData(home: StackHome, onProgress: (line: string) => void): void {
  const octet = readStackRecord(home)?.addresses.subnetOctet;
  const database = ['', '-wal', '-shm', '-journal'].map((suffix) => home.databaseFile + suffix);
  const holder = livingHolder(home.databaseHolderFile);
  if (holder !== undefined)
    throw new Error(
      `${home.databaseFile}: process ${holder.pid} uses it and is not of the stack; end it: kill ${holder.pid}`,
    );
  const files = [...database, home.databaseHolderFile, home.contextFile, home.workerConfigFile, home.recordFile];
  for (const path of [home.rehearsalDir, home.serverDir, home.sshDir, home.gcloudDir, home.logsDir, ...files])
    rmSync(path, { recursive: true, force: true });
  if (octet !== undefined) rmSync(claimFile(octet), { force: true });
  onProgress(`Removed the data of ${home.root}`);
}

function removeIfEmpty(folder: string): void {
  if (readdirSync(folder).length === 0) rmdirSync(folder);
}
