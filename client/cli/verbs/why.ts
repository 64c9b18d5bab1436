import { jobOfLeaseKey } from '../../../domain/lease.js';
import { plainWording, reasonText } from '../../../quota/explanation/explain-words.js';
import type { Remedy } from '../../../quota/explanation/remedies.js';
import { renamed } from '../../../quota/explanation/renamed.js';
import type { JobView } from '../../../workflows/messages.js';
import type { JobClient } from '../../job-client.js';
import type { JobRow } from '../../job-rows.js';
import { readPoolState } from '../../pool-state.js';
import { openReader, withClient } from '../connect.js';
import { type CliContext, type ContextFlags, resolveContext } from '../context.js';
import { ExitCode } from '../exit-codes.js';
import type { OutputFlag } from '../options.js';
import { whyWaiting, type WhyWaiting } from '../quota/why-waiting.js';
import { renderWaiting, renderWhy } from '../render/why.js';
import { terminalWidth } from '../render/width.js';

export type WhyFlags = ContextFlags & OutputFlag;

/**
 * Why a job is where it is. Of one that waits: from the pool as a worker published it, so no workflow is asked.
 * @throws JobNotFound
 */
export function why(id: string, flags: WhyFlags): Promise<number> {
  const context = resolveContext(flags);
  return withClient(context, async (client) => {
    const row = await client.row(id);
    const waiting = row.phase === 'queued' ? await waitingOf(context, row) : undefined;
    const view = waiting === undefined && row.endedAt === undefined ? await viewOf(client, id) : undefined;
    const now = Date.now();
    const width = terminalWidth(process.stdout);
    const lines = waiting ? renderWaiting(row, waiting, now, width) : renderWhy(row, view, now, width);
    const text = flags.output === 'json' ? JSON.stringify(asJson(row, waiting, now), null, 2) : lines.join('\n');
    process.stdout.write(`${text}\n`);
    return ExitCode.Done;
  });
}

async function waitingOf({ store }: CliContext, { id, pool }: JobRow): Promise<WhyWaiting | undefined> {
  if (store === undefined) return undefined;
  const state = await readPoolState(await openReader(store), pool);
  return state && whyWaiting(state, id);
}

/** A worker that is away leaves the row, which says the most. */
function viewOf(client: JobClient, id: string): Promise<JobView | undefined> {
  return client.describe(id).catch(() => undefined);
}

/** Ids are jobs; times ISO 8601 in sentences, ms since 1970 elsewhere. */
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
