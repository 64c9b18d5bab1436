import { createHmac } from 'node:crypto';
import { log } from '@temporalio/activity';
import { messageOf } from '../../domain/errors.js';
import type { HostsPort, RunStatus, HostTarget, RunRequest } from '../../cloud/hosts/port.js';
import { MOST_RECORD_BYTES, type StorePort } from '../../cloud/store/port.js';
import type { AttemptInput, EndedBefore } from '../../contract/job-activities.js';
import type { Outcome } from '../../domain/job-state.js';
import type { HostEnd } from '../../domain/recovery/host-ends.js';
import { exitRecordObject, outcomeObject } from '../../domain/store-layout.js';
import { DEFAULT_UNATTENDED_SECONDS } from '../../domain/job-file/lifetime.js';
import type { JobSpec } from '../../domain/job-spec.js';
import { besideCommand } from '../../domain/modules/command.js';
import type { Installation } from '../dependencies.js';
import { type AttemptHost, placeOf, runIdOf } from './attempt-hosts.js';
import { readPatiently } from './store-patience.js';
import { pause } from './activity-end.js';

// The host's own word ----------------------------------------------------------------------------------------------------

/** Whether the run has begun. A starting run may yet fail (an accelerator that stays busy), and the next caller starts it. */
export function hasBegun({ kind }: RunStatus): boolean {
  return kind !== 'absent' && kind !== 'starting' && kind !== 'blocked';
}

const RESTARTED = 'the command is gone without an exit code (the host was restarted)';
const UNRECORDED =
  'the command has ended, and its host has no record of how: its runner was killed with it, or the disk did not keep the record';
const RAY_ENDED = 'Ray did not start on the host, or ended before the command did: the log of this host says more';
const UNATTENDED = 'no worker had spoken with the host for max_unattended, so it ended the command itself';

/** Undefined: the run goes on. */
export function endOf(status: RunStatus, at: { slice: number; host: number }): HostEnd | undefined {
  switch (status.kind) {
    case 'starting':
    case 'running':
      return undefined;
    case 'exited': {
      if (status.endedBy === 'ray') return { kind: 'run-lost', at, message: RAY_ENDED };
      if (status.endedBy === 'unattended') return { kind: 'run-lost', at, message: UNATTENDED };
      const { code, signal, startedAt, endedAt, isStopped, host, killedForMemory, left } = status;
      const exit = {
        at,
        code,
        startedAt,
        endedAt,
        isStopped,
        ...(signal === undefined ? {} : { signal }),
        ...(host === undefined ? {} : { host }),
        ...(killedForMemory === undefined ? {} : { killedForMemory }),
        ...(left === undefined ? {} : { left }),
      };
      return code === 0 && signal === undefined ? { kind: 'done', ...exit } : { kind: 'failed', ...exit };
    }
    case 'lost':
      return { kind: 'run-lost', at, message: status.isRestarted ? RESTARTED : UNRECORDED };
    case 'orphaned':
      return { kind: 'run-lost', at, message: 'the runner that held the command was killed' };
    case 'blocked':
      return { kind: 'run-lost', at, message: status.message };
    case 'absent':
      return { kind: 'run-lost', at, message: 'the host knows nothing of the command that was started on it' };
  }
}

/** Whether the host does not know how the run ended; another witness may (docs/adr/0102). */
export const isUnrecorded = ({ kind }: RunStatus): boolean =>
  kind === 'lost' || kind === 'orphaned' || kind === 'absent';

// Stored ends --------------------------------------------------------------------------------------------------------------

type Of = Pick<AttemptInput, 'job' | 'attempt'>;
type Exited = Extract<RunStatus, { readonly kind: 'exited' }>;

interface Sources {
  readonly store: Pick<StorePort, 'read'>;
  readonly hosts: Pick<HostsPort, 'readExitRecord'>;
  readonly proofOf: ExitProofOf;
}

/** Object of a host's exit record. */
export const exitRecordOf = ({ job, attempt }: Of, { target }: AttemptHost): string =>
  exitRecordObject(job.id, attempt, target.uid, target.index);

/**
 * Ends of the command on hosts that can no longer be asked, by the exit records that they stored themselves (docs/adr/0058): for
 * all of these hosts, or for none. One read per host, by its name: hosts write here too, and could make a listing endless. A
 * record without the proof that its host got with its run may be from anyone who can write into the bucket, so it does not count.
 */
export async function storedEnds(
  { store, hosts: port, proofOf }: Sources,
  of: Of,
  hosts: readonly AttemptHost[],
): Promise<readonly HostEnd[]> {
  try {
    const objects = hosts.map((host) => exitRecordOf(of, host));
    const contents = await Promise.all(objects.map((name) => store.read(name, { start: 0, end: MOST_RECORD_BYTES })));
    if (contents.includes(undefined)) return [];
    const ends = hosts.flatMap(({ target }, index) => {
      const record = { runId: runIdOf(of), proof: proofOf(target) };
      const status = port.readExitRecord(contents[index]?.toString() ?? '', record);
      if (status === undefined) log.warn(`${objects[index]} is no exit record of that host, and is not believed`);
      return (status && endOf(status, placeOf(target))) ?? [];
    });
    return ends.length === hosts.length ? ends : [];
  } catch (error) {
    log.warn(`exit records in the store cannot be read: ${messageOf(error)}`);
    return [];
  }
}

/**
 * Stores an end that a host has told. It is not lost then if the host loses its record, or if another worker takes over
 * (docs/adr/0102). If the host's own record came first, that stays.
 */
export async function keepEnd(
  { store, hosts: port, proofOf }: { readonly store: Pick<StorePort, 'write'> } & Kept,
  of: Of,
  host: AttemptHost,
  status: Exited,
): Promise<void> {
  try {
    const record = port.exitRecord(status, { runId: runIdOf(of), proof: proofOf(host.target) });
    await store.write(exitRecordOf(of, host), record, 'absent', 'application/json');
  } catch (error) {
    log.warn(`the end of host ${host.number} is not kept: ${messageOf(error)}`);
  }
}

interface Kept {
  readonly hosts: Pick<HostsPort, 'exitRecord'>;
  readonly proofOf: ExitProofOf;
}

/**
 * Acts, unless the store holds the job's outcome. In that case Temporal was set back to an earlier time (a database from a
 * backup, a reset), and acting would run again what has ended. An id is one job's for ever, so the outcome is this job's.
 */
export async function unlessEnded<End>(
  store: StorePort,
  input: AttemptInput,
  act: () => Promise<End>,
): Promise<End | EndedBefore> {
  const { job } = input;
  const stored = await readPatiently(input, () => store.read(outcomeObject(job.id)));
  if (!stored) return act();
  const outcome = JSON.parse(stored.toString('utf8')) as Outcome;
  log.warn(`job ${job.id} has ${outcome.result} before, says its outcome in the store: nothing is run again`);
  return { kind: 'ended-before', outcome };
}

/** Separates this use of a job's key from its other uses. */
const PURPOSE = 'jobctl exit record 1';

/** The proof that the record of a host must bear. Undefined: the job has no job key. */
export type ExitProofOf = (target: Pick<HostTarget, 'uid' | 'index'>) => string | undefined;

/**
 * Proofs that the exit records of an attempt's hosts must bear: HMAC-SHA256, by the job's own private key, of `PURPOSE`, run id,
 * node id and host with a NUL byte between each two; 64 hexadecimal digits. The host gets its proof with its run. Hosts of other
 * jobs may write into the same bucket, even under the record's name, but cannot make the proof (docs/adr/0091). The job's key is
 * made here, once for all hosts: it takes milliseconds.
 */
export function exitProofs(
  { jobKeys }: Pick<Installation, 'jobKeys'>,
  input: Pick<AttemptInput, 'job' | 'attempt' | 'settings'>,
): ExitProofOf {
  const key = jobKeys.find(input.job, input.settings.publicKey);
  if (key === undefined) return () => undefined;
  const run = runIdOf(input);
  return ({ uid, index }) =>
    createHmac('sha256', key.privateKey).update([PURPOSE, run, uid, index].join('\0')).digest('hex');
}

/** Actions that the host of this index takes by itself on the command: its hook before a preemption, its end without a worker. */
export function ownEnds(
  spec: JobSpec,
  host: number,
): Pick<RunRequest, 'preemptionHook' | 'maxUnattendedMs' | 'graceMs' | 'waitFor'> {
  const maxMs = unattendedMs(spec);
  const hook = spec.hooks?.preemption;
  const isHere = hook !== undefined && (typeof hook.hosts === 'string' || hook.hosts.includes(host));
  return {
    graceMs: spec.graceSeconds * 1000,
    ...(spec.command?.waitFor && { waitFor: spec.command.waitFor }),
    ...(maxMs === undefined ? {} : { maxUnattendedMs: maxMs }),
    ...(isHere ? { preemptionHook: { script: besideCommand(spec, hook.run), timeoutMs: hook.seconds * 1000 } } : {}),
  };
}

/** Longest pause between two calls of a worker to each host, in ms. Undefined: no host waits for a call. */
export function attendEveryMs(spec: JobSpec): number | undefined {
  const maxMs = unattendedMs(spec);
  return maxMs === undefined ? undefined : Math.min(maxMs / 4, 3_600_000);
}

/** Calls each host from time to time, so that none of them ends its command for lack of a worker. Ends with the signal. */
export async function attend(
  spec: JobSpec,
  hosts: ReadonlyMap<AttemptHost, unknown>,
  word: (host: AttemptHost) => Promise<unknown>,
  signal: AbortSignal,
): Promise<void> {
  const everyMs = attendEveryMs(spec);
  /** A host that does not answer has one call under way, not one for each turn of its silence. */
  const underWay = new Set<AttemptHost>();
  while (everyMs !== undefined) {
    await pause(everyMs, signal).catch(() => undefined);
    if (signal.aborted) return;
    for (const host of hosts.keys()) {
      if (underWay.has(host)) continue;
      underWay.add(host);
      void word(host)
        .catch(() => undefined)
        .finally(() => underWay.delete(host));
    }
  }
}

function unattendedMs({ maxUnattended = DEFAULT_UNATTENDED_SECONDS }: JobSpec): number | undefined {
  return maxUnattended === 'never' ? undefined : maxUnattended * 1000;
}
