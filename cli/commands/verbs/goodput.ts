import { openRecord, readUsage } from '../../../client/counted.js';
import type { JobClient } from '../../../client/job-client.js';
import type { JobRecord } from '../../../domain/counted/record.js';
import { goodputOf } from '../../../domain/counted/report.js';
import { CHARGED_PARTS, PARTS, type Part, sumOf } from '../../../domain/counted/usage.js';
import { isDone } from '../../../domain/job-state.js';
import { count, usdText } from '../../../domain/units.js';
import { openReader, withClient } from '../../place/connect.js';
import { type CliContext, type ContextFlags, resolveContext } from '../../place/context.js';
import { CliError, ExitCode } from '../../terminal/cli-error.js';
import type { OutputFlag } from '../../terminal/options.js';
import { printOut } from '../../terminal/print.js';
import { renderTable } from '../../terminal/render/columns.js';
import { formatExactDuration } from '../../terminal/render/quantities.js';
import { PART_WORDS, percent } from '../../terminal/render/report.js';

type GoodputFlags = ContextFlags & OutputFlag;

/** Shows where the chip-time of a job's leases went. */
export function goodput(id: string, flags: GoodputFlags): Promise<number> {
  const context = resolveContext(flags);
  return withClient(context, async (client) => {
    const record = await recordOf(client, context, id);
    const text = flags.output === 'json' ? JSON.stringify(record, null, 2) : renderGoodput(record).join('\n');
    printOut(`${text}\n`);
    return ExitCode.Done;
  });
}

/** An ended job's account is in the store, also after Temporal has forgotten the job's state. */
async function recordOf(client: JobClient, context: CliContext, id: string): Promise<JobRecord> {
  const row = await client.row(id);
  const result = row.phase === 'terminated' || !isDone(row.phase) ? 'open' : row.phase;
  const { store } = context;
  if (result !== 'open' && store !== undefined) {
    const stored = await readUsage(await openReader(store), id);
    if (stored !== undefined) return stored;
  }
  const record = openRecord(row, await client.describe(id));
  if (record !== undefined) return { ...record, result };
  throw new CliError(
    ExitCode.NotFound,
    `${id}: nothing is counted of it`,
    'it was not accepted yet, or ran under a worker of an earlier jobctl',
  );
}

export function renderGoodput(record: JobRecord): readonly string[] {
  const { job, parts, charged, unit, lost, usd, unpriced, prices = [], label, leaving, result } = record;
  const all = sumOf(parts);
  const share = goodputOf(record);
  const isPaid = (part: Part): boolean => (CHARGED_PARTS as readonly Part[]).includes(part);
  const rows = PARTS.map((part) => [
    `  ${PART_WORDS[part]}`,
    (parts[part] / 3600).toFixed(3),
    all > 0 ? percent(parts[part] / all) : '-',
    isPaid(part) ? '' : 'not charged',
  ]);
  const real = label === undefined ? '' : `, ${label}: nothing was paid`;
  return [
    `${job}: ${count(record.count, unit)}, ${result === 'open' ? 'not ended' : result} after ${formatExactDuration(record.countedTo - record.submittedAt)}${real}`,
    '',
    ...renderTable([
      ['  PART', `${unit.toUpperCase()}-HOURS`, 'SHARE', ''],
      ...rows,
      ['  leased', (all / 3600).toFixed(3), '', ''],
    ]),
    '',
    share === undefined
      ? `  goodput: nothing was charged`
      : `  goodput: ${percent(share)}${lost === 'unknown' ? ' at most' : ''} of ${(charged / 3600).toFixed(3)} ${unit}-hours that are charged`,
    ...lostLines(record),
    ...costLines(usd, unpriced, prices, unit),
    ...(leaving === undefined
      ? []
      : [`  ${count(leaving.length, 'slice')} not seen gone: draining is not counted to its end`]),
  ];
}

function lostLines({ lost, lostMarks, attempts }: JobRecord): readonly string[] {
  switch (lost) {
    case 'none':
      return [];
    case 'counted':
      return lostMarks === undefined || lostMarks === 0
        ? [`  work lost: none in ${count(attempts, 'attempt')}, by the counter that the command prints`]
        : [`  work lost: ${count(lostMarks, 'mark')} of the command's own counter were done again`];
    case 'unknown':
      return [
        `  work lost: not known of ${count(attempts, 'attempt')}: it is read when the job has ended, from a step counter that the command prints`,
      ];
  }
}

function costLines(
  usd: number | undefined,
  unpriced: number | undefined,
  prices: readonly string[],
  unit: string,
): readonly string[] {
  const without = unpriced === undefined ? '' : `; ${(unpriced / 3600).toFixed(3)} ${unit}-hours have no known price`;
  if (usd === undefined) return unpriced === undefined ? [] : [`  cost: unknown${without}`];
  return [`  cost: ${usdText(usd)}${without} (${prices.join('; ')})`];
}
