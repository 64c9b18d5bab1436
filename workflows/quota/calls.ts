import { condition, setHandler } from '@temporalio/workflow';
import type { ApplyAnswer } from '../../activities/contract.js';
import type { QuotaConfig } from '../../quota/quota-config.js';
import { mustBeForm, refusal } from '../human-call.js';
import {
  type AdmissionCall,
  admissionUpdate,
  type ApplyCall,
  applyUpdate,
  type PriorityCall,
  priorityUpdate,
} from '../messages.js';
import type { PoolRun } from './pool-run.js';

/** What people's calls need of the workflow around them. */
export interface CallSurroundings {
  /** True while the run hands over to the next one: what is changed now would be lost. */
  readonly isEnding: () => boolean;
  /** True once it knows who holds what. */
  readonly isReady: () => boolean;
  /** Checks and keeps the files. */
  readonly applyFiles: (call: ApplyCall) => Promise<ApplyAnswer>;
  /** Reads the files again; resolves when what was read is in force. */
  readonly readFiles: () => Promise<void>;
  readonly wake: () => void;
}

/**
 * People's calls of a pool: `apply`, `admission`, `priority` (docs/quota.md). Who calls is told by the caller's own word
 * (DESIGN.md 3, "Trust"). What can be refused by what the run knows is refused by a validator, and leaves no trace in its
 * history; the rest by a failed update. Both carry the same sentences.
 */
export function listenToPeople(run: PoolRun, around: CallSurroundings): void {
  setHandler(applyUpdate, (call) => apply(run, around, call), {
    validator: (call: ApplyCall) => {
      mustBeOpen(around);
      mustBeForm(call);
      mustBeAdmin(run, call.by, 'apply files to it');
    },
  });
  setHandler(admissionUpdate, (call) => admit(run, around, call), {
    validator: (call: AdmissionCall) => {
      mustBeOpen(around);
      mustBeForm(call);
      if (!ADMISSIONS.includes(call.admission))
        throw refusal(`admission '${String(call.admission)}' is none of ${ADMISSIONS.join(', ')}`);
      mustBeAdmin(run, call.by, 'freeze, drain or thaw it');
    },
  });
  setHandler(priorityUpdate, (call) => setPriority(run, around, call), {
    validator: (call: PriorityCall) => {
      mustBeOpen(around);
      mustBeForm(call);
      mustBeAllowedPriority(run, around, call);
    },
  });
}

const ADMISSIONS: readonly AdmissionCall['admission'][] = ['open', 'frozen', 'draining'];

async function apply(run: PoolRun, around: CallSurroundings, call: ApplyCall): Promise<{ message: string }> {
  // A pool that has just begun does not know yet who its admins are.
  await condition(around.isReady);
  mustBeAdmin(run, call.by, 'apply files to it');
  const wasAnybody = isWithoutAdmins(run);
  const { isApplied, message } = await around.applyFiles(call);
  if (!isApplied) throw refusal(message);
  const names = [call.quotaFile?.name, call.poolFile?.name].filter((name) => name !== undefined).join(' and ');
  // Who reads the history sees that nobody vouched for it: the first files of a pool may come from anybody.
  const reason = wasAnybody ? `${names} (no admins were named)` : names;
  run.history.add({ at: Date.now(), kind: 'applied', by: call.by, reason });
  await around.readFiles();
  return { message: isWithoutAdmins(run) ? `${message}\n${openToAll(run)}` : message };
}

const openToAll = ({ pool }: PoolRun): string =>
  `warning: pool ${pool} has no admins, so anybody may apply files to it, freeze and drain it: name them in the pool file ([quota] admins)`;

async function admit(run: PoolRun, around: CallSurroundings, call: AdmissionCall): Promise<{ message: string }> {
  await condition(around.isReady);
  mustBeAdmin(run, call.by, 'freeze, drain or thaw it');
  const reason = call.reason === undefined ? {} : { reason: call.reason };
  const message = run.admit({ kind: call.admission, ...reason }, call.by, Date.now());
  around.wake();
  // What a worker reads it publishes: an idle pool would go on being shown as it was.
  await around.readFiles();
  return { message };
}

function setPriority(run: PoolRun, around: CallSurroundings, { job, priority, by }: PriorityCall): { message: string } {
  const now = Date.now();
  if (!run.book.setPriority(job, priority, now, by)) throw refusal(notHere(run, job));
  run.touch(now);
  around.wake();
  return { message: `job ${job} has priority ${priority} of 1 (first) to 5 from now on` };
}

// Refusals -----------------------------------------------------------------------------------------------------------

function mustBeOpen({ isEnding }: CallSurroundings): void {
  if (isEnding()) throw refusal('the pool is just handing over to its next run: repeat in a moment');
}

function mustBeAdmin(run: PoolRun, by: string, what: string): void {
  if (isAdmin(run.facts?.config, by)) return;
  throw refusal(`'${by}' is no admin of pool ${run.pool} and may not ${what}; ${adminsOf(run)}`);
}

function mustBeAllowedPriority(run: PoolRun, { isReady }: CallSurroundings, { job, priority, by }: PriorityCall): void {
  if (!Number.isInteger(priority) || priority < 1 || priority > 5)
    throw refusal(`priority ${String(priority)} is no whole number from 1 (first) to 5`);
  if (!isReady()) throw refusal(`pool ${run.pool} is being rebuilt: repeat in a moment`);
  const row = run.book.ofJob(job);
  if (!row) throw refusal(notHere(run, job));
  if (row.demand.user === by || isAdmin(run.facts?.config, by)) return;
  throw refusal(
    `job ${job} is of user '${row.demand.user}', and '${by}' is no admin of pool ${run.pool}; ${adminsOf(run)}`,
  );
}

/** Where nobody is named, everybody is one. */
function isAdmin(config: QuotaConfig | undefined, by: string): boolean {
  const admins = adminNames(config);
  return admins.length === 0 || admins.includes(by);
}

const isWithoutAdmins = ({ facts }: PoolRun): boolean => adminNames(facts?.config).length === 0;

const adminNames = (config: QuotaConfig | undefined): readonly string[] =>
  config?.kind === 'limited' ? (config.rules?.admins ?? []) : [];

const adminsOf = ({ facts }: PoolRun): string =>
  `its admins are ${adminNames(facts?.config).join(', ')} (pool file, admins)`;

const notHere = ({ pool }: PoolRun, job: string): string =>
  `no job ${job} waits in pool ${pool} or holds a lease of it`;
