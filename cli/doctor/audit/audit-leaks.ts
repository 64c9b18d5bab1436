import type { Client } from '@temporalio/client';
import { objectPlace, type StoreReader } from '../../../cloud/store/port.js';
import type { AuditedResource, OnUnread } from '../../../cloud/machines/audited-resource.js';
import { ownershipFrom } from '../../../domain/identity.js';
import { MACHINE_KINDS, machineKind, type MachineKindName } from '../../../domain/machines.js';
import { accountOfObject, ownerObject } from '../../../domain/store-layout.js';
import { jobKey, leakedLeases, leakedResources, ownResources } from './leaks.js';
import { type UnreadPart, unreadPart } from './unread.js';
import { CliError, ExitCode } from '../../terminal/cli-error.js';
import { openReader, withTemporal } from '../../place/connect.js';
import { bucketOf, resolveContext } from '../../place/context.js';
import type { CliContext, ContextFlags } from '../../place/context.js';
import { cliKind } from '../machine-kinds.js';
import type { OutputFlag } from '../../terminal/options.js';
import { type AuditReport, renderAudit } from './render-audit.js';
import { terminalWidth } from '../../terminal/render/columns.js';
import { printOut, asTyped } from '../../terminal/print.js';

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

/** A part that was not looked at may be worse than the leaks that were found. */
export function exitCodeOf({ leaks, leases, unread }: AuditReport): ExitCode {
  if (unread !== undefined) return ExitCode.Unavailable;
  return leaks.length + leases.length > 0 ? ExitCode.Failed : ExitCode.Done;
}

export interface Audited {
  readonly report: AuditReport;
  readonly accounts: readonly string[];
}

/**
 * An independent listing of what the cloud holds of this installation, and of what has no open job. What cannot be looked at keeps
 * nothing else from it, and is named: a part of the truth must not pass for all of it.
 */
export async function audit(context: CliContext, flags: Pick<AuditFlags, 'grace' | 'googleProject'>): Promise<Audited> {
  const store = await openReader(bucketOf(context, 'the id of this installation cannot be read'));
  const owner = await ownerOf(store);
  const accounts = await accountsOf(flags, context, store);
  const report = await withTemporal(context, async (temporal) => {
    const unread = new Map<string, UnreadPart>();
    const keep = (one: UnreadPart): void => void unread.set(one.part, one);
    // The cloud first: what is made while we read belongs to a job that Temporal is then asked about.
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
  const { heldLeases, jobFates } = await import('./temporal-facts.js');
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

/** The owner id of our resources is kept in the store, not in Temporal: the audit must not depend on what it judges. */
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

/** An account that is gone for good is asked for as long as the store remembers it. */
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
