import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { closeSync, openSync, renameSync, statSync, writeSync, readSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  identify,
  isAlive,
  isGroupAlive,
  signalGroup,
  signalProcess,
  type ProcessIdentity,
} from '../../place/stack/process-identity.js';
import { type ProcessRecord, readJson, writeJson } from '../../place/stack/stack-record.js';
import { createRequire } from 'node:module';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { makeFolderSync } from '../../../cloud/folders.js';
import type { Environment } from '../../terminal/home.js';
import { moduleFile, placeOf } from '../../place/packages.js';

/** A background process of the stack, as data. */
export interface Part {
  /** Name for people. */
  readonly title: string;
  /** Returns the executable. Called only if the part is started, because getting it may take minutes. */
  readonly command: () => Promise<string>;
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  readonly cwd: string;
  /** A running part whose configuration differs from this one is restarted. Absent: a running part is kept. */
  readonly configuration?: string;
  /** Tries once, for about a second. */
  readonly isReady: () => Promise<boolean>;
  /** Longest wait for a running part to answer. A part that was just started has `START_FACTOR` times as long. */
  readonly readyTimeoutMs: number;
  /** Restarts a running part that does not answer in time, on its stored data. Absent: silence is an error. */
  readonly isRestartedIfSilent?: boolean;
  /** Milliseconds from SIGTERM to SIGKILL. */
  readonly stopGraceMs: number;
  /** A resource that only one process may use, and the file that names its user. The slot may be lost, so it is not there. */
  readonly claim?: { readonly what: string; readonly file: string };
}

/** Record of a part's process. */
export interface PartSlot {
  readonly logFile: string;
  read(): ProcessRecord | undefined;
  write(record: ProcessRecord | undefined): void;
}

/** A part ended before it was ready, or was not ready in time. The message includes the end of its log. */
export class PartFailed extends Error {
  override readonly name = 'PartFailed';
}

export type StopOutcome = 'stopped' | 'killed' | 'was not running';
type Started = 'was running' | 'started' | 'started again';

const POLL_MS = 50;
const LOG_LIMIT_BYTES = 20_000_000;
const LINES_SHOWN = 15;

/**
 * Starts the part unless it already runs as wanted; returns once it is ready.
 * @throws PartFailed
 */
export async function ensureRunning(part: Part, slot: PartSlot): Promise<Started> {
  const before = slot.read();
  const isRunning = before !== undefined && isAlive(before.identity);
  if (isRunning && (part.configuration === undefined || before.fingerprint === fingerprintOf(part))) {
    const isSilent = await untilReady(part, slot, before.identity, {
      logFrom: 0,
      patienceMs: part.readyTimeoutMs,
    }).then(
      () => false,
      (error: unknown) => {
        if (part.isRestartedIfSilent !== true) throw error;
        return true;
      },
    );
    if (!isSilent) return 'was running';
  }
  if (isRunning) await stopPart(part, slot);
  refuseSecond(part);
  const command = await part.command();
  const logFrom = rotateLog(slot.logFile);
  const identity = start(command, part, slot, logFrom);
  await untilReady(part, slot, identity, { logFrom, patienceMs: part.readyTimeoutMs * START_FACTOR });
  return before === undefined ? 'started' : 'started again';
}

/**
 * Sends SIGTERM to the part, and SIGKILL to its group after its grace; returns once all of it is gone. Does not touch another
 * process that has reused the pid.
 */
export async function stopPart(part: Pick<Part, 'stopGraceMs'>, slot: PartSlot): Promise<StopOutcome> {
  const identity = slot.read()?.identity;
  if (identity === undefined) return 'was not running';
  const wasRunning = signalProcess(identity, 'SIGTERM');
  const endedInTime = await until(() => !isAlive(identity), part.stopGraceMs);
  // Also after a clean exit: processes that it started are in its group.
  signalGroup(identity, 'SIGKILL');
  await until(() => !isGroupAlive(identity), KILL_TIMEOUT_MS);
  if (isAlive(identity))
    throw new Error(`process ${identity.pid} does not end, not even by SIGKILL; see: ps -o stat ${identity.pid}`);
  slot.write(undefined);
  if (!wasRunning) return 'was not running';
  return endedInTime ? 'stopped' : 'killed';
}

const KILL_TIMEOUT_MS = 5_000;

function start(command: string, part: Part, slot: PartSlot, logFrom: number): ProcessIdentity {
  makeFolderSync(dirname(slot.logFile), 0o700);
  const log = openSync(slot.logFile, 'a', 0o600);
  try {
    writeSync(log, `--- ${new Date().toISOString()} ${command} ${part.args.join(' ')}\n`);
    const { cwd, env } = part;
    const child = spawn(command, part.args, { cwd, env, detached: true, stdio: ['ignore', log, log] });
    // Without a listener, a command that does not exist would end this process.
    child.on('error', (err) => appendIfOpen(slot.logFile, `${err.message}\n`));
    child.unref();
    const identity = child.pid === undefined ? undefined : identify(child.pid);
    if (identity === undefined) throw failure(part, slot, `${command} cannot be started, or ended at once`, logFrom);
    try {
      slot.write({ identity, startedAt: Date.now(), fingerprint: fingerprintOf(part) });
      if (part.claim !== undefined) writeJson(part.claim.file, identity);
    } catch (error) {
      // The disk may be full: a process without a record would never be ended by `dev down`.
      signalGroup(identity, 'SIGKILL');
      throw error;
    }
    return identity;
  } finally {
    closeSync(log);
  }
}

/** @throws PartFailed if a process that this stack no longer knows uses the part's exclusive resource */
function refuseSecond({ title, claim }: Part): void {
  if (claim === undefined) return;
  const holder = livingHolder(claim.file);
  if (holder === undefined) return;
  throw new PartFailed(
    `${title}: ${claim.what} is in use by process ${holder.pid}, which this stack does not know of: two would damage it\n` +
      `  end that one first: kill ${holder.pid}`,
  );
}

/** The process that the file names as the resource's user, if it is alive. */
export function livingHolder(file: string): ProcessIdentity | undefined {
  const holder = readJson(file) as ProcessIdentity | undefined;
  return holder !== undefined && isAlive(holder) ? holder : undefined;
}

/** Factor for parts that were just started: with 30 programs on two cores, a worker took more than a minute. */
const START_FACTOR = 3;

async function untilReady(
  part: Part,
  slot: PartSlot,
  identity: ProcessIdentity,
  { logFrom, patienceMs }: { readonly logFrom: number; readonly patienceMs: number },
): Promise<void> {
  const deadline = Date.now() + patienceMs;
  for (;;) {
    // The record stays, so that `down` can end processes that it left behind.
    if (!isAlive(identity)) throw failure(part, slot, `process ${identity.pid} ended before it was ready`, logFrom);
    // The process is checked again after a yes, because another process may answer on its port.
    if ((await part.isReady()) && isAlive(identity)) return;
    if (Date.now() > deadline) {
      const waited = `${patienceMs / 1000} s`;
      throw failure(part, slot, `process ${identity.pid} runs, but is not ready after ${waited}`, logFrom);
    }
    await sleep(POLL_MS);
  }
}

/** The error with the last lines that the part printed since `logFrom`, which most often show the reason. */
function failure(part: Part, { logFile }: PartSlot, what: string, logFrom: number): PartFailed {
  const said = readTail(logFile, LINES_SHOWN, logFrom);
  return new PartFailed(`${part.title}: ${what}. The end of ${logFile}:\n${said}`);
}

export function fingerprintOf({ configuration = '' }: Pick<Part, 'configuration'>): string {
  return createHash('sha256').update(configuration).digest('hex').slice(0, 16);
}

function logSize(logFile: string): number {
  return statSync(logFile, { throwIfNoEntry: false })?.size ?? 0;
}

/** Keeps one older log; returns the offset at which the output of the new start begins. */
function rotateLog(logFile: string): number {
  const size = logSize(logFile);
  if (size < LOG_LIMIT_BYTES) return size;
  renameSync(logFile, `${logFile}.1`);
  return 0;
}

function appendIfOpen(logFile: string, text: string): void {
  const log = openSync(logFile, 'a');
  writeSync(log, text);
  closeSync(log);
}

async function until(isTrue: () => boolean, timeoutMs: number): Promise<boolean> {
  for (const deadline = Date.now() + timeoutMs; !isTrue(); await sleep(POLL_MS))
    if (Date.now() > deadline) return false;
  return true;
}

/** Most bytes that a tail reads back. */
const TAIL_BYTES = 1_000_000;
const TAIL_POLL_MS = 200;
const NEWLINE = 0x0a;

/** The last `lines` lines of the file from byte `from` on; empty if there is no file. */
export function readTail(path: string, lines: number, from = 0): string {
  const size = sizeOf(path);
  const text = readBytes(path, Math.max(from, size - TAIL_BYTES), size).toString('utf8');
  const all = text.endsWith('\n') ? text.slice(0, -1).split('\n') : text.split('\n');
  return lines <= 0 ? '' : all.slice(-lines).join('\n');
}

/** Yields whole lines that are added to the file from now on, until `signal` aborts. A shorter file is read from its start. */
export function followLines(path: string, signal: AbortSignal): AsyncGenerator<string> {
  // A generator's body runs at the first `next`, so the position is taken here, at the call.
  return linesFrom(path, sizeOf(path), signal);
}

async function* linesFrom(path: string, from: number, signal: AbortSignal): AsyncGenerator<string> {
  let offset = from;
  let rest: Buffer = Buffer.alloc(0);
  for (; !signal.aborted; await sleep(TAIL_POLL_MS, undefined, { signal }).catch(() => undefined)) {
    const size = sizeOf(path);
    if (size < offset) [offset, rest] = [0, Buffer.alloc(0)];
    const bytes = Buffer.concat([rest, readBytes(path, offset, size)]);
    offset = size;
    const end = bytes.lastIndexOf(NEWLINE) + 1;
    rest = bytes.subarray(end);
    if (end > 0) yield* bytes.toString('utf8', 0, end - 1).split('\n');
  }
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

function readBytes(path: string, start: number, end: number): Buffer {
  if (end <= start) return Buffer.alloc(0);
  const file = openSync(path, 'r');
  try {
    const bytes = Buffer.alloc(end - start);
    return bytes.subarray(0, readSync(file, bytes, 0, bytes.length, start));
  } finally {
    closeSync(file);
  }
}

const ROOT = new URL('../../../', import.meta.url);
const IS_SOURCE = import.meta.url.endsWith('.ts');
/** Node's arguments for running sources. The path is absolute: a background process does not run in the project's folder. */
const LOADER = IS_SOURCE ? ['--import', pathToFileURL(createRequire(import.meta.url).resolve('tsx')).href] : [];

/** The executable that runs these programs. */
export const nodePath = (): Promise<string> => Promise.resolve(process.execPath);

/** Node's arguments for a worker: this jobctl, or the one next to the worker's package. @throws CliError if that is missing */
export function workerProgram(args: readonly string[], env: Environment): readonly string[] {
  const main = IS_SOURCE
    ? fileURLToPath(new URL('cli/main.ts', ROOT))
    : join(placeOf('@jobctl/worker', env).jobctl, 'dist/cli/main.js');
  return [...LOADER, main, 'worker', ...args];
}

/** Node's arguments that run the rehearsed cloud. @throws CliError if its package is not installed */
export function rehearsalProgram(args: readonly string[], env: Environment): readonly string[] {
  return [...LOADER, moduleFile('@jobctl/cloud-tpu-rehearsal', 'main', env), ...args];
}

const CREDENTIALS = 'GOOGLE_APPLICATION_CREDENTIALS';
const FOREIGN = /^(TEMPORAL_|JOBCTL_|npm_|INIT_CWD$)/;

/** The environment of a background process, without variables that could point it to another server or stack. */
export function partEnvironment(env: Environment): NodeJS.ProcessEnv {
  const { [CREDENTIALS]: credentials } = env;
  return {
    ...Object.fromEntries(Object.entries(env).filter(([name]) => !FOREIGN.test(name))),
    // The process runs in another folder.
    ...(credentials ? { [CREDENTIALS]: resolve(credentials) } : {}),
  };
}
