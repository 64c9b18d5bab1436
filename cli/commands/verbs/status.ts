import type { JobView } from '../../../contract/job.js';
import { JobPhase } from '../../../domain/job-state.js';
import type { JobClient } from '../../../client/job-client.js';
import type { JobRow } from '../../../client/job-rows.js';
import type { TaskQueuePolls } from '../../../client/temporal-calls.js';
import type { JobMetrics } from '../../../client/job-metrics.js';
import type { MetricsReader } from '../../jobs/groups/status.js';
import { type Best, lastMetricsText } from '../../jobs/metrics/shown-metrics.js';
import { CliError, ExitCode } from '../../terminal/cli-error.js';
import type { TierTurns } from '../../../quota/explanation/tier-turns.js';
import { asKnown } from '../../place/asker.js';
import { openReader, withClient } from '../../place/connect.js';
import { type CliContext, type ContextFlags, resolveContext } from '../../place/context.js';
import { boardFilter, type FilterFlags } from '../../jobs/job-filter.js';
import { type ChosenJobs, chooseJobs, refuseUnclear, forEachJob, type JobAnswer } from '../../jobs/many/chosen-jobs.js';
import type { OutputFlag } from '../../terminal/options.js';
import { placesOf } from '../../jobs/render-job-list.js';
import { refusalOf, type ViewOrReason, viewOf, withSetUp } from '../../jobs/job-reasons.js';
import { unattended } from '../../jobs/unattended.js';
import { renderJobStatus } from '../../terminal/render/job-status.js';
import { noWorkerText } from '../../terminal/render/job-phrases.js';
import { turnsOf } from '../../terminal/render/elsewhere.js';
import { stateOf } from './why.js';
import { terminalWidth } from '../../terminal/render/columns.js';

export interface StatusFlags extends ContextFlags, OutputFlag, FilterFlags {
  readonly timeline?: true;
  readonly metric?: string;
  readonly best?: Best;
}

export function status(ids: readonly string[], flags: StatusFlags): Promise<number> {
  refuseUnclear({ verb: 'status', ids, flags });
  if (flags.best !== undefined && flags.metric === undefined)
    throw new CliError(ExitCode.Usage, 'status --best: of which metric?', 'name one: --metric loss');
  const context = resolveContext(flags);
  return withClient(context, async (client) => {
    const { filter } = boardFilter(flags, Date.now(), await asKnown(client, context, flags));
    const isWhole = flags.timeline !== true;
    const meaning = isWhole && { groups: 'whole' as const };
    const chosen = await chooseJobs(client, { verb: 'status', ids, flags, filter, ...meaning });
    if (flags.timeline === true) return timelines(client, context, chosen, flags);
    let isFirst = true;
    const apart = ({ text, json }: JobAnswer): JobAnswer => {
      const gap = isFirst ? '' : '\n';
      isFirst = false;
      return { text: `${gap}${text}`, json };
    };
    return forEachJob(
      chosen,
      flags,
      // A row that a filter found may be out of date, and lists do not know of a blocked workflow.
      async (row) => apart(await shown(client, context, chosen.isFound ? await client.row(row.id) : row, flags)),
      {
        width: VIEWS_AT_ONCE,
        ofGroup: async (group) =>
          apart(
            await (
              await import('../../jobs/groups/status.js')
            ).groupStatus(client, group, { ...flags, readMetrics: metricsReader(context) }),
          ),
      },
    );
  });
}

/** Views of jobs that are read at the same time. Each is a query that a worker answers. */
const VIEWS_AT_ONCE = 8;

async function timelines(
  client: JobClient,
  context: CliContext,
  chosen: ChosenJobs,
  flags: StatusFlags,
): Promise<number> {
  const { timelineAnswer } = await import('./status-timeline.js');
  return forEachJob(chosen, flags, (row) => timelineAnswer(client, context, row), { width: VIEWS_AT_ONCE });
}

async function shown(
  client: JobClient,
  context: CliContext,
  found: JobRow,
  { output, metric }: StatusFlags,
): Promise<JobAnswer> {
  const { id } = found;
  const refused = found.phase === JobPhase.Failed ? await refusalOf(client, found).catch(() => undefined) : undefined;
  const idle = refused === undefined ? await unattended(client, found) : undefined;
  const without = refused === undefined ? found.failingTask && 'its workflow stands still' : 'it was never accepted';
  const asking = without === undefined ? viewUnless(client, id, idle) : { missing: without };
  const [view, places, row, told] = await Promise.all([
    asking,
    placesOf([found], context),
    withSetUp(found, context),
    found.attempts === 0 ? undefined : lastMetrics(context, id, metric),
  ]);
  const standing = places.byJob.get(id);
  const tiers = 'view' in view ? await tiersOf(view.view, row, context) : undefined;
  if (output === 'json') {
    const known =
      'view' in view
        ? { view: view.view, ...(tiers && { tiers }), hostKeys: await shownHostKeys(view.view, context) }
        : { missing: view.missing };
    return {
      text: '',
      json: {
        ...{ ...row, ...standing, ...(idle && { noWorker: idle }), ...(refused && { refused }), ...known },
        ...(told && { metrics: told.metrics.map(({ name, last }) => ({ name, ...last })) }),
      },
    };
  }
  const place = { bucket: context.bucket?.bucket, uiUrl: context.uiUrl, namespace: context.temporal.namespace };
  const known = refused !== undefined ? { refused } : 'view' in view && tiers ? { ...view, tiers } : view;
  const now = Date.now();
  const metricsText = told && lastMetricsText(id, told, now);
  const shownRow = { ...row, ...standing, metricsText };
  const lines = renderJobStatus(shownRow, known, place, now, terminalWidth(process.stdout));
  return { text: lines.join('\n'), json: {} };
}

/** Reads metrics of jobs, or returns a function that knows none: they are an extra, and the store may be unknown here. */
function metricsReader({ store }: CliContext): MetricsReader {
  const reader = store && openReader(store);
  return async (job, choice) => {
    if (reader === undefined) return undefined;
    const { jobMetrics } = await import('../../../client/job-metrics.js');
    return jobMetrics(await reader, job, choice).catch(() => undefined);
  };
}

async function lastMetrics(context: CliContext, id: string, name: string | undefined): Promise<JobMetrics | undefined> {
  const names = name === undefined ? undefined : [name];
  const found = await metricsReader(context)(id, { names, points: 0, isLastAttempt: true });
  return found === undefined || found.metrics.length === 0 ? undefined : found;
}

/** The turns of a job that waits for chips in a granted tier. For no other job it is worth reading the whole pool. */
async function tiersOf(view: JobView, row: JobRow, context: CliContext): Promise<TierTurns | undefined> {
  if (view.phase !== 'provisioning' || view.granted === undefined) return undefined;
  return turnsOf(view, await stateOf(context, row));
}

/** The job's view, unless no worker polls its queue: the query would take the whole timeout. */
function viewUnless(
  client: JobClient,
  id: string,
  idle: TaskQueuePolls | undefined,
): Promise<ViewOrReason> | ViewOrReason {
  return idle === undefined ? viewOf(client, id) : { missing: noWorkerText(idle, Date.now()) };
}

/** The SSH key that a host of the job must show (docs/ssh-fleet.md). */
interface ShownHostKey {
  readonly slice: number;
  readonly host: number;
  readonly publicKey: string;
  readonly fingerprint: string;
  readonly source: string;
  /** Epoch ms. */
  readonly at: number;
}

/** Keys of the present hosts. Empty if the store is not known here or cannot be read, because the keys are an extra. */
async function shownHostKeys({ slices }: JobView, { store: place }: CliContext): Promise<readonly ShownHostKey[]> {
  if (place === undefined) return [];
  const { fingerprintOfLine, hostKeysOf } = await import('../../../cloud/hosts/host-key-record.js');
  try {
    const store = await openReader(place);
    const keys = await Promise.all(
      slices.map(async ({ index: slice, uid }) => {
        const records = uid === undefined ? [] : [...(await hostKeysOf(store, uid))];
        return records.map(([host, { publicKey, source, at }]) => ({
          slice,
          host,
          publicKey,
          fingerprint: fingerprintOfLine(publicKey),
          source,
          at,
        }));
      }),
    );
    return keys.flat().sort((a, b) => a.slice - b.slice || a.host - b.host);
  } catch {
    return [];
  }
}
