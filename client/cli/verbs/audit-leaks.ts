import type { Client } from '@temporalio/client';
import { objectPlace, type StoreReader } from '../../../cloud/store/port.js';
import type { AuditedResource } from '../../../cloud/machines/audited-resource.js';
import { ownershipFrom } from '../../../domain/identity.js';
import { MACHINE_KINDS, machineKind, type MachineKindName } from '../../../domain/machines.js';
import { accountOfObject, ownerObject } from '../../../domain/store-layout.js';
import { jobKey, leakedLeases, leakedResources, ownResources } from '../audit/leaks.js';
import type { HeldLease } from '../audit/leaks.js';
import { CliError } from '../cli-error.js';
import { openReader, withTemporal } from '../connect.js';
import { bucketOf, resolveContext } from '../context.js';
import type { CliContext, ContextFlags } from '../context.js';
import { ExitCode } from '../exit-codes.js';
import { cliKind } from '../machine-kinds.js';
import type { OutputFlag } from '../options.js';
import { type AuditReport, renderAudit } from '../render/audit.js';
import { terminalWidth } from '../render/columns.js';
import { printOut } from '../print.js';

export interface AuditFlags extends ContextFlags, OutputFlag {
  /** Milliseconds. */
  readonly grace: number;
}

export async function auditLeaks(flags: AuditFlags): Promise<number> {
  const { report, accounts } = await audit(resolveContext(flags), flags);
  if (flags.output === 'json') printOut(`${JSON.stringify(report, null, 2)}\n`);
  else printOut(`${renderAudit(report, accounts, terminalWidth(process.stdout)).join('\n')}\n`);
  const found = report.leaks.length + report.leases.length + (report.unlisted?.length ?? 0);
  return found > 0 ? ExitCode.Failed : ExitCode.Done;
}

export interface Audited {
  readonly report: AuditReport;
  readonly accounts: readonly string[];
}

/** Lists independently the cloud resources of this installation, and finds those without an open job. */
export async function audit(context: CliContext, flags: Pick<AuditFlags, 'grace' | 'googleProject'>): Promise<Audited> {
  const store = await openReader(bucketOf(context, 'the id of this installation cannot be read'));
  const owner = await ownerOf(store);
  const accounts = await accountsOf(flags, context, store);
  const report = await withTemporal(context, async (temporal) => {
    // The cloud is listed first: a resource created meanwhile belongs to a job that Temporal is asked about afterwards.
    const { everything, unlisted } = await listAll(accounts, context);
    const judged = await judge(temporal, ownResources(everything, owner), flags.grace, everything.length);
    return unlisted.length === 0 ? judged : { ...judged, unlisted };
  });
  return { report, accounts: accounts.map(({ account }) => account) };
}

async function judge(
  temporal: Client,
  own: ReturnType<typeof ownResources>,
  graceMs: number,
  total: number,
): Promise<AuditReport> {
  const { heldLeases, jobFates } = await import('../audit/temporal-facts.js');
  const held: readonly HeldLease[] | Error = await heldLeases(temporal).catch((error: unknown) => error as Error);
  const leases = held instanceof Error ? [] : held;
  const owners = [...own.flatMap(({ labels }) => ownershipFrom(labels) ?? []), ...leases.map(({ lease }) => lease)];
  const fates = await jobFates(temporal, new Map(owners.map((each) => [jobKey(each), each])));
  const now = Date.now();
  return {
    leaks: leakedResources(own, fates, now, graceMs),
    leases: leakedLeases(leases, fates, now, graceMs),
    ...(held instanceof Error ? { leasesUnknown: held.message } : {}),
    ours: own.length,
    all: total,
  };
}

/** The owner id that marks our resources. It is in the store, not in Temporal: the audit must not depend on what it checks. */
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

/** The account that a flag names, or else, for each kind, the configured one and all in which the store records a job. */
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

/**
 * Lists all accounts. One that cannot be listed fails the audit, because a partial result would pass for a complete one. The
 * others are reported all the same: an account that is gone for good must not hide them. If none can be listed, nothing is known.
 */
async function listAll(
  accounts: readonly Account[],
  context: CliContext,
): Promise<{ readonly everything: readonly AuditedResource[]; readonly unlisted: readonly string[] }> {
  const listings = await Promise.allSettled(
    accounts.map(async ({ kind, account }) => cliKind(kind).audit(account, context)),
  );
  const failed = listings.flatMap((listing, index) => {
    const { kind, account } = accounts[index] ?? {};
    if (listing.status === 'fulfilled' || kind === undefined || account === undefined) return [];
    return [{ error: listing.reason as Error, text: machineKind(kind).accountText(account) }];
  });
  const [first] = failed;
  if (first !== undefined && failed.length === accounts.length) throw first.error;
  return {
    everything: listings.flatMap((listing) => (listing.status === 'fulfilled' ? listing.value : [])),
    unlisted: failed.map(({ error, text }) => `${text}: ${error.message}`),
  };
}

function noProject(): CliError {
  return new CliError(
    ExitCode.Usage,
    'no Google Cloud project is configured, so there is nothing to audit',
    'name it with --google-project or JOBCTL_GOOGLE_PROJECT, or start a local stack with `jobctl dev up`',
  );
}
