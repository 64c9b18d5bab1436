import { capacityOf, type CapacityState } from '../../../quota/published-state.js';
import { type ContextFlags, resolveContext } from '../../place/context.js';
import { ExitCode } from '../../terminal/cli-error.js';
import type { OutputFlag } from '../../terminal/options.js';
import { printOut } from '../../terminal/print.js';
import { publishedPool } from '../quota/published-pool.js';
import { terminalWidth, oneLine, renderTable } from '../../terminal/render/columns.js';
import type { EpochMs } from '../../../domain/units.js';
import type { CapacityRow } from '../../../quota/seen-capacity.js';
import { formatDuration } from '../../terminal/render/quantities.js';

export interface CapacityFlags extends ContextFlags, OutputFlag {
  readonly pool: string;
}

/** Shows the capacity that a pool's jobs have seen. It reads one object of the bucket and needs neither Temporal nor a worker. */
export async function capacity(flags: CapacityFlags): Promise<number> {
  const state = await publishedPool(resolveContext(flags), flags.pool);
  const now = Date.now();
  const text =
    flags.output === 'json'
      ? JSON.stringify({ ...capacityOf(state), ageMs: Math.max(0, now - state.at) }, null, 2)
      : renderCapacity(state, now, terminalWidth(process.stdout)).join('\n');
  printOut(`${text}\n`);
  return ExitCode.Done;
}

/** Renders `jobctl capacity`: capacity that a pool's jobs have seen, as last published. */
export function renderCapacity(state: CapacityState, now: EpochMs, width?: number): readonly string[] {
  const { pool, at, zones, rows } = capacityOf(state);
  const unseen = zones.filter((zone) => !rows.some((row) => row.zone === zone));
  const head = `pool ${pool}: seen by its jobs, as of ${formatDuration(now - at)} ago; no promise`;
  const none = rows.length === 0 ? ['', '  nothing yet: a row comes with the first request for a Cloud TPU slice'] : [];
  return [
    head,
    ...none,
    ...(rows.length === 0 ? [] : ['', ...renderTable([TITLES, ...rows.map((row) => cellsOf(row, now))], width)]),
    ...refusalLines(rows, now),
    ...(unseen.length === 0 ? [] : ['', `  nothing seen in: ${oneLine(unseen.join(', '))}`]),
  ];
}

const TITLES = ['  ZONE', 'TYPE', 'PRICING', 'ASKED', 'GOT', 'WAIT', 'WAITING NOW', 'PREEMPTED', 'SEEN'];

function cellsOf(row: CapacityRow, now: EpochMs): readonly string[] {
  const { zone, accelerator, pricing, asked, got, medianWaitMs, seenAt } = row;
  return [
    ...[`  ${zone}`, accelerator, pricing, String(asked), String(got)],
    medianWaitMs === undefined ? '-' : formatDuration(medianWaitMs),
    waitingText(row, now),
    preemptedText(row),
    `${formatDuration(now - seenAt)} ago`,
  ];
}

const waitingText = ({ waiting, waitingSince }: CapacityRow, now: EpochMs): string =>
  waitingSince === undefined ? '-' : `${waiting}, for ${formatDuration(now - waitingSince)}`;

/** Preemptions per slice-hour. For very few hours a rate means nothing, so the number of preemptions is shown. */
function preemptedText({ sliceHours, preempted }: CapacityRow): string {
  if (sliceHours < LEAST_HOURS)
    return preempted === 0 ? '-' : `${Math.max(1, Math.round(preempted))} in under ${LEAST_HOURS} h`;
  const rate = preempted / sliceHours;
  return rate === 0 ? `0 in ${Math.round(sliceHours * 10) / 10} h` : `${rate.toFixed(2)}/h`;
}

const LEAST_HOURS = 0.1;

function refusalLines(rows: readonly CapacityRow[], now: EpochMs): readonly string[] {
  const lines = rows.flatMap(({ zone, accelerator, pricing, refusal }) =>
    refusal === undefined
      ? []
      : [
          `  ${oneLine(`${zone} ${accelerator} ${pricing}: ${refusal.text}`)} (${formatDuration(now - refusal.at)} ago)`,
        ],
  );
  return lines.length === 0 ? [] : ['', '  REFUSED LAST', ...lines];
}
