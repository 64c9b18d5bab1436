import { condition, setHandler } from '@temporalio/workflow';
import type { ApplyAnswer } from '../../contract/quota-activities.js';
import { floorProblem, type QuotaConfig } from '../../quota/quota-config.js';
import { admissionForm, applyForm, priorityCallForm, releaseCallForm } from '../../contract/quota-forms.js';
import { mustBeForm, refusal } from '../inbox.js';
import {
  type AdmissionCall,
  admissionUpdate,
  type ApplyCall,
  applyUpdate,
  type PriorityCall,
  priorityUpdate,
  type ReleaseCall,
  releaseUpdate,
} from '../../contract/quota.js';
import { leaseKey } from '../../domain/lease.js';
import { DEFAULT_TIMINGS } from '../../domain/timings.js';
import { memberWithId } from '../../domain/array/group-state.js';
import { count, type EpochMs } from '../../domain/units.js';
import { givableSlices, type LeaseRow } from './lease-row.js';
import type { PoolRecords } from './pool-records.js';

/** Parts of the workflow that people's calls need. */
export interface UpdateContext {
  /** True while the run hands over to the next one: a change now would be lost. */
  readonly isEnding: () => boolean;
  /** True once all leases are known. */
  readonly isReady: () => boolean;
  /** Checks and keeps the files. */
  readonly applyFiles: (call: ApplyCall) => Promise<ApplyAnswer>;
  /** Reads the files again; resolves when they are in force. */
  readonly readFiles: () => Promise<void>;
  readonly wake: () => void;
}

/**
 * People's calls to a pool: `apply`, `admission`, `priority`, `release` (docs/quota.md). The caller's name is taken from the call
 * (docs/design.md, "Trust"). A validator refuses calls that the run can judge at once, which leaves no trace in its history.
 * Others are refused by a failed update. Both carry the same sentences.
 */
export function handleUpdates(records: PoolRecords, context: UpdateContext): void {
  setHandler(applyUpdate, (call) => apply(records, context, call), {
    validator: (call: ApplyCall) => {
      mustBeOpen(context);
      mustBeForm(applyForm, call);
      mustBeAdmin(records, call.by, 'apply files to it');
    },
  });
  setHandler(admissionUpdate, (call) => admit(records, context, call), {
    validator: (call: AdmissionCall) => {
      mustBeOpen(context);
      mustBeForm(admissionForm, call);
      mustBeAdmin(records, call.by, 'freeze, drain or thaw it');
    },
  });
  setHandler(priorityUpdate, (call) => setPriority(records, context, call), {
    validator: (call: PriorityCall) => {
      mustBeOpen(context);
      mustBeForm(priorityCallForm, call);
      mustBeAllowedPriority(records, context, call);
    },
  });
  setHandler(releaseUpdate, (call) => release(records, context, call), {
    validator: (call: ReleaseCall) => {
      mustBeOpen(context);
      mustBeForm(releaseCallForm, call);
      if (!context.isReady()) throw refusal(`pool ${records.pool} is being rebuilt: repeat in a moment`);
      mustBeAdmin(records, call.by, 'release a lease of it');
      releasableOf(records, call.job, Date.now());
    },
  });
}

async function apply(records: PoolRecords, context: UpdateContext, call: ApplyCall): Promise<{ message: string }> {
  // A pool that has just begun does not know yet who its admins are.
  await condition(context.isReady);
  mustBeAdmin(records, call.by, 'apply files to it');
  const wasAnybody = isWithoutAdmins(records);
  const { isApplied, message } = await context.applyFiles(call);
  if (!isApplied) throw refusal(message);
  const names = [call.quotaFile?.name, call.poolFile?.name].filter((name) => name !== undefined).join(' and ');
  // The history shows that no admin vouched for it: the first files of a pool may come from any user.
  const reason = wasAnybody ? `${names} (no admins were named)` : names;
  records.history.add({ at: Date.now(), kind: 'applied', by: call.by, reason });
  await context.readFiles();
  return { message: isWithoutAdmins(records) ? `${message}\n${openToAll(records)}` : message };
}

const openToAll = ({ pool }: PoolRecords): string =>
  `warning: pool ${pool} has no admins, so anybody may apply files to it, freeze and drain it: name them in the pool file ([quota] admins)`;

async function admit(records: PoolRecords, context: UpdateContext, call: AdmissionCall): Promise<{ message: string }> {
  await condition(context.isReady);
  mustBeAdmin(records, call.by, 'freeze, drain or thaw it');
  const reason = call.reason === undefined ? {} : { reason: call.reason };
  const message = records.admit({ kind: call.admission, ...reason }, call.by, Date.now());
  context.wake();
  // A worker publishes what it reads. Otherwise an idle pool would go on being shown as it was.
  await context.readFiles();
  return { message };
}

function setPriority(records: PoolRecords, context: UpdateContext, call: PriorityCall): { message: string } {
  const { job, priority, by, askedBy = by, isGroup } = call;
  const now = Date.now();
  const meant = meantBy(records, call);
  if (meant.length === 0) throw refusal(notHere(records, job, isGroup));
  for (const id of meant) records.book.setPriority(id, priority, now, askedBy);
  records.touch(now);
  context.wake();
  if (isGroup)
    return {
      message: `${count(meant.length, 'member')} of group ${job} ${meant.length === 1 ? 'has' : 'have'} priority ${priority} of 1 (first) to 5 from now on`,
    };
  return { message: `job ${job} has priority ${priority} of 1 (first) to 5 from now on` };
}

/** The jobs of a call that wait in the pool or hold a lease of it. */
function meantBy({ book }: PoolRecords, { job, isGroup }: PriorityCall): readonly string[] {
  const isOfGroup = (id: string): boolean => memberWithId(job, id) !== undefined;
  return (isGroup ? book.jobs.filter(isOfGroup) : [job]).filter((id) => book.ofJob(id) !== undefined);
}

/** Frees leases that wait for slices whose deletion does not end. Repeating is safe. */
function release(records: PoolRecords, context: UpdateContext, call: ReleaseCall): { message: string } {
  const { job, by, because } = call;
  const now = Date.now();
  const releasable = releasableOf(records, job, now);
  if (releasable.length === 0) return { message: `no lease of job ${job} waits for slices: it is free already` };
  for (const { key, slices } of releasable) records.book.giveUp(key, slices, { by, because, now });
  records.touch(now);
  context.wake();
  const names = releasable.flatMap(({ slices }) => slices);
  const left = records.book.allOfJob(job).flatMap(({ slices }) => slices.map(({ name }) => name));
  return { message: releasedText(job, names, left) };
}

function releasedText(job: string, names: readonly string[], left: readonly string[]): string {
  const state = left.length === 0 ? 'its lease is free' : `its lease still waits for ${left.join(', ')}`;
  return `job ${job}: ${names.join(', ')} ${names.length === 1 ? 'is' : 'are'} not waited for any more, and ${state}\nif something of it exists after all, \`jobctl audit leaks\` names it`;
}

interface Releasable {
  readonly key: string;
  readonly slices: readonly string[];
}

/**
 * Slices of a job that a person may give up; empty if its lease was freed lately.
 * @throws refusal while the deletion can still end by itself, or if there is nothing to give up
 */
function releasableOf({ pool, book, facts }: PoolRecords, job: string, now: EpochMs): readonly Releasable[] {
  const { giveBackMs = DEFAULT_TIMINGS.giveBackMs, createSettleMs = DEFAULT_TIMINGS.createSettleMs } =
    facts?.timings ?? {};
  const rows = book.allOfJob(job);
  const found = rows.flatMap((row) => {
    const slices = givableSlices(row, now, createSettleMs + 2 * giveBackMs);
    return slices.length === 0 ? [] : [{ key: leaseKey(row.lease), slices }];
  });
  if (found.length > 0 || (rows.length === 0 && book.wasFreed(job))) return found;
  const draining = rows.find(({ state }) => state === 'draining');
  if (draining !== undefined) throw refusal(stillDeleted(draining, giveBackMs, now));
  if (rows.length === 0) throw refusal(`no job ${job} waits in pool ${pool} or holds a lease of it`);
  throw refusal(
    `job ${job} has its lease, and no deletion of its slices is stuck\nto end the job: jobctl cancel ${job}`,
  );
}

function stillDeleted({ lease, slices, revoked, drainingSince }: LeaseRow, giveBackMs: number, now: EpochMs): string {
  if (revoked !== undefined) return `job ${lease.job} was asked to give its lease back, and has not let go yet`;
  const seconds = Math.round((now - (drainingSince ?? now)) / 1000);
  const names = slices.map(({ name }) => name).join(', ');
  return `job ${lease.job}: ${names} ${slices.length === 1 ? 'is' : 'are'} still being deleted, for ${seconds} s; a deletion can be given up once it has lasted ${Math.round(giveBackMs / 1000)} s`;
}

// Refusals -----------------------------------------------------------------------------------------------------------

function mustBeOpen({ isEnding }: UpdateContext): void {
  if (isEnding()) throw refusal('the pool is just handing over to its next run: repeat in a moment');
}

function mustBeAdmin(records: PoolRecords, by: string, what: string): void {
  if (isAdmin(records.facts?.config, by)) return;
  throw refusal(`'${by}' is no admin of pool ${records.pool} and may not ${what}; ${adminsOf(records)}`);
}

function mustBeAllowedPriority(records: PoolRecords, { isReady }: UpdateContext, call: PriorityCall): void {
  const { by, priority, isGroup } = call;
  if (!isReady()) throw refusal(`pool ${records.pool} is being rebuilt: repeat in a moment`);
  const meant = meantBy(records, call);
  if (meant.length === 0) throw refusal(notHere(records, call.job, isGroup));
  for (const job of meant) {
    const row = records.book.ofJob(job);
    if (row === undefined) continue;
    mustBeUnderFloor(records, row.demand.project, priority);
    if (row.demand.user === by || isAdmin(records.facts?.config, by)) continue;
    throw refusal(
      `job ${job} is of user '${row.demand.user}', and '${by}' is no admin of pool ${records.pool}; ${adminsOf(records)}`,
    );
  }
}

/** Applies to admins too: if none is named every user is one, and an admin may change the file. */
function mustBeUnderFloor({ facts }: PoolRecords, project: string, priority: number): void {
  const config = facts?.config;
  const floors = config?.kind === 'limited' ? config.rules?.priorityFloors : undefined;
  const problem = floorProblem(floors, project, priority);
  if (problem !== undefined) throw refusal(problem);
}

/** If no admins are named, every user is one. */
function isAdmin(config: QuotaConfig | undefined, by: string): boolean {
  const admins = adminNames(config);
  return admins.length === 0 || admins.includes(by);
}

const isWithoutAdmins = ({ facts }: PoolRecords): boolean => adminNames(facts?.config).length === 0;

const adminNames = (config: QuotaConfig | undefined): readonly string[] =>
  config?.kind === 'limited' ? (config.rules?.admins ?? []) : [];

const adminsOf = ({ facts }: PoolRecords): string =>
  `its admins are ${adminNames(facts?.config).join(', ')} (pool file, admins)`;

const notHere = ({ pool }: PoolRecords, job: string, isGroup?: true): string =>
  `no ${isGroup ? 'member of group' : 'job'} ${job} waits in pool ${pool} or holds a lease of it`;
