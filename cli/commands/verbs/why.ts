import { foreignQueueText } from '../../../cloud/temporal/queue-claim.js';
import { jobOfLeaseKey } from '../../../domain/lease.js';
import { plainWording, reasonText, stuckOf } from '../../../quota/explanation/explain-words.js';
import type { PoolSnapshot } from '../../../quota/published-state.js';
import { type Remedy, whyWaiting, type WhyWaiting } from '../../../quota/explanation/why-waiting.js';
import { renamed } from '../../../quota/explanation/explanation.js';
import type { JobRow } from '../../../client/job-rows.js';
import type { TaskQueuePolls } from '../../../client/temporal-calls.js';
import { viewOf, withSetUp } from '../../jobs/job-reasons.js';
import { unattended } from '../../jobs/unattended.js';
import { readPoolState } from '../../../client/pool-state.js';
import { openReader, withClient } from '../../place/connect.js';
import { type CliContext, type ContextFlags, resolveContext } from '../../place/context.js';
import { ExitCode } from '../../terminal/cli-error.js';
import type { OutputFlag } from '../../terminal/options.js';
import {
  askingOf,
  type RebuildingPool,
  renderFailing,
  renderRebuilding,
  renderStuck,
  renderTiers,
  renderUnasked,
  renderUnattended,
  renderWaiting,
  renderWhy,
} from '../../terminal/render/why.js';
import { renderElsewhere, turnsOf } from '../../terminal/render/elsewhere.js';
import { terminalWidth } from '../../terminal/render/columns.js';
import { printOut } from '../../terminal/print.js';

export type WhyFlags = ContextFlags & OutputFlag;

/**
 * Explains a job's state. For a waiting job, it reads the pool as a worker published it, so no workflow is asked.
 * @throws JobNotFound
 */
export function why(id: string, flags: WhyFlags): Promise<number> {
  const context = resolveContext(flags);
  return withClient(context, async (client) => {
    const found = await client.row(id);
    const [row, idle] = await Promise.all([withSetUp(found, context), unattended(client, found)]);
    const now = Date.now();
    const width = terminalWidth(process.stdout);
    const foreign = idle?.owner === undefined ? undefined : await foreignTo(context, idle, idle.owner);
    const idleLines = [...renderUnattended(row, idle, now, width), ...(foreign === undefined ? [] : [foreign])];
    const pool = await stateOf(context, row);
    const state = row.phase === 'queued' ? pool : undefined;
    if (state?.rebuilding) return printRebuilding(row, { ...state, rebuilding: state.rebuilding }, flags, idle);
    const waiting = state && whyWaiting(state, id);
    const isAsked = waiting === undefined && row.endedAt === undefined && row.failingTask === undefined && !idle;
    const known = isAsked ? await viewOf(client, id) : undefined;
    const view = known && 'view' in known ? known.view : undefined;
    const missing = known && 'missing' in known ? known.missing : undefined;
    const why = waiting ? renderWaiting(row, waiting, now, width) : renderWhy(row, view, now, width);
    const stuck = waiting || !pool ? [] : stuckOf(pool, id);
    const turns = turnsOf(view, pool);
    const lines = [
      ...idleLines,
      ...why,
      ...renderUnasked(missing, width),
      ...renderTiers(turns, now, width),
      ...renderElsewhere(view, pool?.capacity ?? [], now, width),
      ...renderStuck(stuck, row.pool, now, width),
      ...renderFailing(row, now, width),
    ];
    const asking = askingOf(view, pool?.capacity ?? [], now);
    const more = {
      ...(asking && { asking: { ...asking, ...(turns && { tiers: turns }) } }),
      ...(stuck.length > 0 && { stuck }),
      ...(idle && { noWorker: idle }),
      ...(missing !== undefined && { missing }),
    };
    const json = { ...asJson(row, waiting, now), ...more };
    const text = flags.output === 'json' ? JSON.stringify(json, null, 2) : lines.join('\n');
    printOut(`${text}\n`);
    return ExitCode.Done;
  });
}

/** A message if the queue belongs to another installation than the context's bucket: no worker of this one will poll it. */
async function foreignTo(context: CliContext, polls: TaskQueuePolls, owner: string): Promise<string | undefined> {
  const { ownOwner } = await import('../../doctor/server.js');
  const ours = await ownOwner(context);
  return ours === undefined || ours === owner ? undefined : foreignQueueText(polls, owner, ours);
}

/** The pool's published state. Only a job that waits for its pool needs it: for another one, a failure is ignored. */
export async function stateOf({ store }: CliContext, { pool, phase }: JobRow): Promise<PoolSnapshot | undefined> {
  if (store === undefined) return undefined;
  const read = openReader(store).then((reader) => readPoolState(reader, pool));
  return phase === 'queued' ? read : read.catch(() => undefined);
}

/** Prints when the rebuild ends at the latest. Until then the order of service is not known. */
function printRebuilding(
  row: JobRow,
  state: RebuildingPool,
  { output }: WhyFlags,
  idle: TaskQueuePolls | undefined,
): number {
  const now = Date.now();
  const { pool, at, rebuilding } = state;
  const json = {
    ...row,
    rebuilding: { pool, ...rebuilding, asOf: at, ageMs: Math.max(0, now - at) },
    ...(idle && { noWorker: idle }),
  };
  const width = terminalWidth(process.stdout);
  const lines = [
    ...renderUnattended(row, idle, now, width),
    ...renderRebuilding(row, state, now, width),
    ...renderFailing(row, now, width),
  ];
  printOut(`${output === 'json' ? JSON.stringify(json, null, 2) : lines.join('\n')}\n`);
  return ExitCode.Done;
}

/** The JSON form. Ids are job ids; times are ISO 8601 in sentences, ms since 1970 elsewhere. */
function asJson(row: JobRow, waiting: WhyWaiting | undefined, now: number): object {
  if (waiting === undefined) return row;
  const { why: explanation, at, hasTiers, remedies, ...rest } = waiting;
  const { id: _, reasons: details, ...more } = renamed(explanation, jobOfLeaseKey);
  const isDraining = rest.admission === 'draining';
  const words = { ...plainWording({ kind: 'unlimited' }), nameOf: jobOfLeaseKey, hasTiers, isDraining };
  const reasons = explanation.reasons.map((reason) => reasonText(reason, explanation, words));
  const waits = { ...more, reasons, details, remedies: remedies.map(renamedRemedy), ...rest };
  return { ...row, waiting: { ...waits, asOf: at, ageMs: Math.max(0, now - at) } };
}

function renamedRemedy(remedy: Remedy): Remedy {
  if (remedy.kind === 'priority') return remedy;
  return { ...remedy, of: remedy.of.map((each) => ({ ...each, id: jobOfLeaseKey(each.id) })) };
}
