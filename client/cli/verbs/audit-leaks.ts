import type { Client } from '@temporalio/client';
import type { StoreReader } from '../../../cloud/store/port.js';
import { listEverything } from '../../../cloud/tpu/audit.js';
import type { AuditedResource } from '../../../cloud/tpu/audit.js';
import { ownershipFrom } from '../../../domain/identity.js';
import { googleProjectOf, googleProjectsPrefix, ownerObject } from '../../../domain/store-layout.js';
import { jobKey, leakedLeases, leakedResources, ownResources } from '../audit/leaks.js';
import type { HeldLease } from '../audit/leaks.js';
import { CliError } from '../cli-error.js';
import { openReader, withTemporal } from '../connect.js';
import { resolveContext, storeOf } from '../context.js';
import type { CliContext, ContextFlags } from '../context.js';
import { ExitCode } from '../exit-codes.js';
import type { OutputFlag } from '../options.js';
import { type AuditReport, renderAudit } from '../render/audit.js';
import { terminalWidth } from '../render/width.js';

export interface AuditFlags extends ContextFlags, OutputFlag {
  /** Milliseconds. */
  readonly grace: number;
}

export async function auditLeaks(flags: AuditFlags): Promise<number> {
  const { report, googleProjects } = await audit(resolveContext(flags), flags);
  if (flags.output === 'json') process.stdout.write(`${JSON.stringify(report, null, 2)}\n`);
  else process.stdout.write(`${renderAudit(report, googleProjects, terminalWidth(process.stdout)).join('\n')}\n`);
  return report.leaks.length + report.leases.length > 0 ? ExitCode.Failed : ExitCode.Done;
}

export interface Audited {
  readonly report: AuditReport;
  readonly googleProjects: readonly string[];
}

/** An independent listing of what the cloud holds of this installation, and of what has no open job. */
export async function audit(context: CliContext, flags: Pick<AuditFlags, 'grace' | 'googleProject'>): Promise<Audited> {
  const store = await openReader(storeOf(context, 'the id of this installation cannot be read'));
  const owner = await ownerOf(store);
  const googleProjects = await googleProjectsOf(flags, context, store);
  const report = await withTemporal(context, async (temporal) => {
    // The cloud first: what is made while we read belongs to a job that Temporal is then asked about.
    const everything = await listAll(googleProjects, context);
    return judge(temporal, ownResources(everything, owner), flags.grace, everything.length);
  });
  return { report, googleProjects };
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

/** Whose resources are ours is kept in the store, not in Temporal: the audit must not depend on what it judges. */
async function ownerOf(store: StoreReader): Promise<string> {
  const owner = (await store.read(ownerObject))?.toString('utf8').trim();
  if (owner) return owner;
  throw new CliError(
    ExitCode.NotFound,
    `gs://${store.bucket}/${ownerObject} is not there, so nothing can be known as ours`,
    'no installation of jobctl was set up with this bucket',
    'is --bucket right? `jobctl dev up` sets a local one up',
  );
}

/** The one that a flag names; else the configured one and all in which a job was ever accepted, which the store knows too. */
async function googleProjectsOf(
  flags: Pick<AuditFlags, 'googleProject'>,
  { googleProject }: CliContext,
  store: StoreReader,
): Promise<readonly string[]> {
  if (flags.googleProject !== undefined) return [flags.googleProject];
  const remembered = (await store.list(googleProjectsPrefix)).map(({ name }) => googleProjectOf(name));
  const all = new Set([...(googleProject === undefined ? [] : [googleProject]), ...remembered]);
  if (all.size === 0) throw noProject();
  return [...all];
}

/** One that cannot be listed fails the audit: a part of the truth would pass for all of it. */
async function listAll(
  googleProjects: readonly string[],
  { tpuRestEndpoint }: CliContext,
): Promise<readonly AuditedResource[]> {
  const endpoint = tpuRestEndpoint === undefined ? {} : { restEndpoint: tpuRestEndpoint };
  const listings = googleProjects.map((googleProject) => listEverything({ googleProject, ...endpoint }));
  return (await Promise.all(listings)).flat();
}

function noProject(): CliError {
  return new CliError(
    ExitCode.Usage,
    'no Google Cloud project is configured, so there is nothing to audit',
    'name it with --google-project or JOBCTL_GOOGLE_PROJECT, or start a local stack with `jobctl dev up`',
  );
}
