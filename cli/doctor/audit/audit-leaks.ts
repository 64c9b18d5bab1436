import { setTimeout as pause } from 'node:timers/promises';
import { inItsTurn } from '../../../contract/early-query.js';
import type { Client, WorkflowExecutionDescription } from '@temporalio/client';
import { objectPlace, type StoreReader } from '../../../cloud/store/port.js';
import type { AuditedResource, OnUnread } from '../../../cloud/machines/audited-resource.js';
import { ownershipFrom } from '../../../domain/identity.js';
import { MACHINE_KINDS, machineKind, type MachineKindName } from '../../../domain/machines.js';
import { accountOfObject, ownerObject } from '../../../domain/store-layout.js';
import {
  jobKey,
  leakedLeases,
  leakedResources,
  ownResources,
  type UnreadPart,
  unreadPart,
  type AuditReport,
  renderAudit,
  type HeldLease,
  type JobFate,
} from './leaks.js';
import { CliError, ExitCode } from '../../terminal/cli-error.js';
import { openReader, withTemporal } from '../../place/connect.js';
import { bucketOf, resolveContext, type CliContext, type ContextFlags } from '../../place/context.js';
import { cliKind } from '../machine-kinds.js';
import type { OutputFlag } from '../../terminal/options.js';
import { terminalWidth } from '../../terminal/render/columns.js';
import { printOut, asTyped } from '../../terminal/print.js';
import { eachOf } from '../../../domain/semaphore.js';
import { readPages } from '../../../quota/published-state.js';
import { type Holder, holdersQuery } from '../../../contract/quota.js';
import { WorkflowType } from '../../../contract/workflow-ids.js';

export interface AuditFlags extends ContextFlags, OutputFlag {
  /** Milliseconds. */
  readonly grace: number;
}

export async function auditLeaks(flags: AuditFlags): Promise<number> {
  const { report, accounts } = await audit(resolveContext(flags), flags);
  if (flags.output === 'json') printOut(`${JSON.stringify(report, null, 2)}\n`);
  else printOut(`${renderAudit(report, accounts, terminalWidth(process.stdout)).join('\n')}\n`);
  return exitCodeOf(report);
}

/** An incomplete audit exits as unavailable even if it found leaks: the unread parts may hold worse ones. */
export function exitCodeOf({ leaks, leases, unread }: AuditReport): ExitCode {
  if (unread !== undefined) return ExitCode.Unavailable;
  return leaks.length + leases.length > 0 ? ExitCode.Failed : ExitCode.Done;
}

export interface Audited {
  readonly report: AuditReport;
  readonly accounts: readonly string[];
}

/**
 * Lists, independently of workers, the cloud's resources of this installation and those of them without an open job. A part that
 * cannot be read does not stop the rest. It is named in the report, so that an incomplete listing does not look complete.
 */
export async function audit(context: CliContext, flags: Pick<AuditFlags, 'grace' | 'googleProject'>): Promise<Audited> {
  const store = await openReader(bucketOf(context, 'the id of this installation cannot be read'));
  const owner = await ownerOf(store);
  const accounts = await accountsOf(flags, context, store);
  const report = await withTemporal(context, async (temporal) => {
    const unread = new Map<string, UnreadPart>();
    const keep = (one: UnreadPart): void => void unread.set(one.part, one);
    // The cloud is read before Temporal is asked, so that Temporal knows the job of each listed resource by then.
    const everything = await listAll(accounts, context, keep);
    const judged = await judge(temporal, everything, { owner, graceMs: flags.grace, keep });
    return unread.size === 0 ? judged : { ...judged, unread: [...unread.values()] };
  });
  return { report, accounts: accounts.map(({ account }) => account) };
}

async function judge(
  temporal: Client,
  everything: readonly AuditedResource[],
  { owner, graceMs, keep }: { readonly owner: string; readonly graceMs: number; readonly keep: Keep },
): Promise<AuditReport> {
  const own = ownResources(everything, owner);
  const leases = await heldLeases(temporal, (part, error) => keep(unreadPart(part, error, IS_A_WORKER_UP)));
  const owners = [...own.flatMap(({ labels }) => ownershipFrom(labels) ?? []), ...leases.map(({ lease }) => lease)];
  const fates = await jobFates(temporal, new Map(owners.map((each) => [jobKey(each), each])), (part, error) =>
    keep(unreadPart(part, error, LATER)),
  );
  const now = Date.now();
  return {
    leaks: leakedResources(own, fates, now, graceMs),
    leases: leakedLeases(leases, fates, now, graceMs),
    ours: own.length,
    all: everything.length,
  };
}

type Keep = (part: UnreadPart) => void;

const LATER = 'ask again: it may answer then';
const IS_A_WORKER_UP = asTyped('is a worker up? `jobctl doctor --server` looks; then ask again');

/** Reads the installation's owner id from the store, not from Temporal: an audit must not depend on the part that it judges. */
async function ownerOf(store: StoreReader): Promise<string> {
  const owner = (await store.read(ownerObject))?.toString('utf8').trim();
  if (owner) return owner;
  throw new CliError(
    ExitCode.NotFound,
    `${objectPlace(store, ownerObject)} is not there, so nothing can be known as ours`,
    'no installation of jobctl was set up with this bucket',
    'is --bucket right? `jobctl dev up` sets a local one up',
  );
}

interface Account {
  readonly kind: MachineKindName;
  readonly account: string;
}

/** The account that a flag names, or else for each kind the configured account and all in which the store records jobs. */
async function accountsOf(
  flags: Pick<AuditFlags, 'googleProject'>,
  { googleProject }: CliContext,
  store: StoreReader,
): Promise<readonly Account[]> {
  const named = flags.googleProject;
  const ofKinds = MACHINE_KINDS.map(async (kind): Promise<readonly Account[]> => {
    const { account: accountOf, accountsPrefix } = machineKind(kind);
    const accountIn = (project: string): readonly string[] => [accountOf({ googleProject: project }) ?? []].flat();
    if (named !== undefined) return accountIn(named).map((account) => ({ kind, account }));
    const remembered = (await store.list(accountsPrefix)).map(({ name }) => accountOfObject(accountsPrefix, name));
    const own = googleProject === undefined ? [] : accountIn(googleProject);
    return [...new Set([...own, ...remembered])].map((account) => ({ kind, account }));
  });
  const all = (await Promise.all(ofKinds)).flat();
  if (all.length === 0) throw noProject();
  return all;
}

/** Lists the resources of all accounts that can be listed. */
async function listAll(
  accounts: readonly Account[],
  context: CliContext,
  keep: Keep,
): Promise<readonly AuditedResource[]> {
  const listings = accounts.map(async ({ kind, account }) => {
    const text = machineKind(kind).accountText(account);
    const missed = (part: string, error: Error): void =>
      keep(unreadPart(part, error, error.name.endsWith('Refused') ? refusedRemedy(kind) : LATER));
    const onUnread: OnUnread = (part, error) => missed(`${text}: ${part}`, error);
    return cliKind(kind)
      .audit(account, context, onUnread)
      .catch((error: Error) => {
        missed(text, error);
        return [];
      });
  });
  return (await Promise.all(listings)).flat();
}

/** The remedy if an account may not be listed. An account is asked as long as the store remembers it, even a deleted one. */
const refusedRemedy = (kind: MachineKindName): string =>
  asTyped(
    `may this login list it? \`jobctl doctor --${cliKind(kind).doctorFlag}\` looks; if it is gone for good, docs/pool-file.md says how it is forgotten`,
  );

function noProject(): CliError {
  return new CliError(
    ExitCode.Usage,
    'no Google Cloud project is configured, so there is nothing to audit',
    'name it with --google-project or JOBCTL_GOOGLE_PROJECT, or start a local stack with `jobctl dev up`',
  );
}

/** Lookups that run at the same time: the server limits calls per second. */
const LOOKUPS_AT_A_TIME = 8;

/** Temporal's answers about these chains of runs, by `jobKey`. */
async function jobFates(
  temporal: Client,
  jobs: ReadonlyMap<string, { readonly job: string; readonly run: string }>,
  onUnread: OnUnread,
): Promise<ReadonlyMap<string, JobFate>> {
  const { WorkflowNotFoundError } = await import('@temporalio/common');
  const fates = new Map<string, JobFate>();
  await eachOf([...jobs], LOOKUPS_AT_A_TIME, async ([key, { job, run }]) => {
    const failed = (error: Error): JobFate => {
      if (error instanceof WorkflowNotFoundError) return { kind: 'unknown' };
      onUnread(`job ${job} in Temporal`, error);
      return { kind: 'unanswered' };
    };
    fates.set(key, await fateOf(temporal, job, run).catch(failed));
  });
  return fates;
}

async function fateOf(temporal: Client, job: string, run: string): Promise<JobFate> {
  const latest = await temporal.workflow.getHandle(job).describe();
  // A later job of the same name is another job; the chain that is meant is then closed, and its own run says when.
  const first = latest.raw.workflowExecutionInfo?.firstRunId;
  const isOfChain = !first || first === run;
  return fate(isOfChain ? latest : await temporal.workflow.getHandle(job, run).describe());
}

function fate({ status, closeTime }: WorkflowExecutionDescription): JobFate {
  if (status.name === 'RUNNING') return { kind: 'open' };
  return { kind: 'closed', at: closeTime?.getTime() ?? 0 };
}

/** The leases of all pools whose quota workflows answer, by their own count. */
async function heldLeases(temporal: Client, onUnread: OnUnread): Promise<readonly HeldLease[]> {
  const pools: string[] = [];
  const query = `WorkflowType = '${WorkflowType.Quota}' AND ExecutionStatus = 'Running'`;
  try {
    for await (const { workflowId } of temporal.workflow.list({ query })) pools.push(workflowId);
  } catch (error) {
    onUnread('the list of pools', error as Error);
  }
  const leases: HeldLease[] = [];
  await eachOf(pools, LOOKUPS_AT_A_TIME, async (pool) => {
    try {
      for (const lease of await leasesOf(temporal, pool)) leases.push(lease);
    } catch (error) {
      onUnread(`the leases of ${pool}`, error as Error);
    }
  });
  return leases;
}

/** The leases of one pool. @param quotaWorkflow id of the pool's workflow */
export async function leasesOf(temporal: Client, quotaWorkflow: string): Promise<readonly HeldLease[]> {
  const pool = temporal.workflow.getHandle(quotaWorkflow);
  const page = (number: number) =>
    temporal.connection.withDeadline(Date.now() + QUERY_TIMEOUT_MS, () =>
      inItsTurn(() => pool.query(holdersQuery, number), pause),
    );
  const holders = (await readPages(page, `the leases of ${quotaWorkflow}`)) as readonly Holder[];
  return holders.flatMap(toHeldLease);
}

function toHeldLease({ lease, state, slices, stuck = {} }: Holder): readonly HeldLease[] {
  if (state === 'waiting') return [];
  const told = Object.entries(stuck).map(([slice, { answer }]) => `${slice}: ${answer}`);
  return [{ lease, state, slices: slices.map(({ name }) => name), ...(told.length > 0 && { stuck: told }) }];
}

/** Timeout of one page: a worker that no longer has the pool in its cache reads thousands of rows first. */
const QUERY_TIMEOUT_MS = 15_000;
