import { existsSync, readdirSync, readFileSync, rmdirSync, rmSync } from 'node:fs';
import { claimFile } from './addresses.js';
import { stackHome, type Environment, type StackHome } from '../../terminal/home.js';
import { ensureRunning, livingHolder, stopPart, type StopOutcome } from './part.js';
import {
  lockStack,
  type DevOptions,
  isRecordedAlive,
  PART_TITLES,
  partsOf,
  rehearsalPart,
  slotOf,
  STOP_GRACE_MS,
} from './stack-parts.js';
import {
  PART_NAMES,
  readStackRecord,
  type PartName,
  type StackRecord,
  isGuarded,
} from '../../place/stack/stack-record.js';
import { isRehearsed } from '../../../domain/machines.js';
import { readLogin } from '../../../cloud/temporal/login-files.js';
import { TASK_QUEUE } from '../../../domain/temporal-server.js';
import { CliError, ExitCode } from '../../terminal/cli-error.js';
import type { connectTemporal } from '../../../client/connect.js';
import { loginFilesOf, temporalAddressOf, DEV_NAMESPACE } from '../../place/stack/context.js';
import type { SliceMemo } from '../../../contract/slice.js';
import { asTyped } from '../../terminal/print.js';

export interface DevDownOptions extends DevOptions {
  /** Removes the data too: jobs, logs, the rehearsal's store. The caller has asked the user. */
  readonly purge?: boolean;
  /** Stops a stack with real machines even if it has slices that cost money, or running commands. */
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
  const files = [
    ...database,
    home.databaseHolderFile,
    home.contextFile,
    home.workerConfigFile,
    home.recordFile,
    home.machinesQuotaFile,
  ];
  for (const path of [
    home.rehearsalDir,
    home.serverDir,
    home.sshDir,
    home.gcloudDir,
    home.logsDir,
    home.storeDir,
    ...files,
  ])
    rmSync(path, { recursive: true, force: true });
  if (octet !== undefined) rmSync(claimFile(octet), { force: true });
  onProgress(`Removed the data of ${home.root}${keptText(home)}`);
}

/** Secrets belong to the user, not to one stack: they are not data that a purge removes. */
function keptText({ secretsDir }: StackHome): string {
  return existsSync(secretsDir) ? `; the secrets in ${secretsDir} are kept` : '';
}

function removeIfEmpty(folder: string): void {
  if (readdirSync(folder).length === 0) rmdirSync(folder);
}

/** Work that would continue unattended: slices that cost money, or commands on the user's own machines. */
export interface OpenWork {
  /** Job ids. */
  readonly jobs: readonly string[];
  /** Resource names, including slices of closed jobs that are still being deleted. */
  readonly slices: readonly string[];
}

const OPEN = `ExecutionStatus = 'Running' AND TaskQueue = '${TASK_QUEUE}' AND WorkflowType IN ('job', 'slice')`;
const SLICE_ID = /^slice\//;

/** The real part of a stack: the whole cloud, or only the user's own machines of a rehearsal. */
export type Real = 'cloud' | 'own machines';

/** Lists open jobs and slices on real machines in the stack's Temporal; undefined if Temporal does not answer. */
async function openWork(home: StackHome, record: StackRecord, real: Real): Promise<OpenWork | undefined> {
  const temporal = await connect(home, record).catch(() => undefined);
  if (temporal === undefined) return undefined;
  try {
    const jobs: string[] = [];
    const slices: string[] = [];
    for await (const { workflowId, memo } of temporal.client.workflow.list({ query: OPEN })) {
      const { ref, lease } = (memo ?? {}) as Partial<SliceMemo>;
      const isSlice = SLICE_ID.test(workflowId);
      const isReal = ref !== undefined && !isRehearsed(ref);
      if (real === 'cloud' && !isSlice) jobs.push(workflowId);
      if (isSlice && (real === 'cloud' || isReal)) slices.push(workflowId.replace(SLICE_ID, ''));
      // The machines of a job are known only from its slices.
      if (real === 'own machines' && isReal && lease !== undefined) jobs.push(lease.job);
    }
    return { jobs: [...new Set(jobs)], slices };
  } catch {
    return undefined;
  } finally {
    await temporal.close();
  }
}

async function connect(home: StackHome, record: StackRecord): ReturnType<typeof connectTemporal> {
  const options = { address: temporalAddressOf(record), namespace: DEV_NAMESPACE };
  const { connectTemporal } = await import('../../../client/connect.js');
  if (!isGuarded(record)) return connectTemporal(options);
  return connectTemporal({ ...options, connection: readLogin(loginFilesOf(home, record)), ownSettings: 'none' });
}

interface Leaving {
  readonly real: Real;
  readonly isPurge: boolean;
  /** The user has already agreed. */
  readonly isSure: boolean;
  readonly onProgress: (line: string) => void;
  /** Absent: there is no user to ask. */
  readonly confirm?: ((question: string) => Promise<boolean>) | undefined;
}

/**
 * Guards the shutdown of a stack with real machines.
 * @throws CliError if work is open and the user has not agreed. A purge with open work is always refused: without the database,
 * nothing would end that work
 */
async function refuseToLeave(work: OpenWork | undefined, leaving: Leaving): Promise<void> {
  if (work !== undefined && work.jobs.length + work.slices.length === 0) return;
  const { real, isPurge, isSure, onProgress, confirm } = leaving;
  const consequence = CONSEQUENCE[real];
  const state = work === undefined ? UNKNOWN : `${listed('job', work.jobs)} and ${listed('slice', work.slices)} open`;
  const may = isPurge ? work === undefined && isSure : isSure;
  if (may) return onProgress(`WARNING: ${state}. ${consequence}`);
  if (!isPurge && (await confirm?.(`${state}. ${consequence}\nGo down all the same? [y/N] `))) return;
  throw new CliError(
    ExitCode.Refused,
    `nothing was changed: ${state}`,
    consequence,
    `end them first: ${isPurge ? endLine(work) : '`jobctl cancel JOB`'}, and wait until \`jobctl audit leaks\` finds nothing`,
    isPurge ? PURGE_REASON : 'or go down all the same: jobctl dev down --yes',
  );
}

const CONSEQUENCE: Readonly<Record<Real, string>> = {
  cloud: asTyped(
    'Slices cost until they are deleted, and while the stack is down nobody watches or deletes them; the next `jobctl dev up` goes on',
  ),
  'own machines': asTyped(
    'Their commands run on machines of your own, which are not a rehearsal: they go on there and hold them, and while the stack is down nobody watches or ends them; the next `jobctl dev up` goes on',
  ),
};
const UNKNOWN = 'it is not known what is open, since the Temporal server does not answer';
const PURGE_REASON = 'a purge forgets what they hold: jobctl could not even name it afterwards';

/** The line that ends the open jobs, ready to paste. */
const endLine = (work: OpenWork | undefined): string =>
  work === undefined || work.jobs.length === 0
    ? asTyped('`jobctl delete JOB`')
    : asTyped(`\`jobctl delete --yes ${work.jobs.join(' ')}\``);

const SHOWN = 5;

function listed(noun: string, names: readonly string[]): string {
  const plural = names.length === 1 ? noun : `${noun}s`;
  if (names.length === 0) return `no ${plural}`;
  const more = names.length > SHOWN ? ', ..' : '';
  return `${names.length} ${plural} (${names.slice(0, SHOWN).join(', ')}${more})`;
}
