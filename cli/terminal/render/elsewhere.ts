import { usdText } from '../../../domain/units.js';
import { findAccelerator } from '../../../domain/accelerators.js';
import { askedMachines, usdPerHour } from '../../../domain/machines.js';
import type { EpochMs } from '../../../domain/units.js';
import type { JobView, SliceView } from '../../../contract/job.js';
import type { CapacityRow } from '../../../quota/seen-capacity.js';
import { wrapped } from './columns.js';
import { formatDuration, clockTime } from './quantities.js';
import { type OtherTier, tierTurns, type TierTurns } from '../../../quota/explanation/tier-turns.js';
import type { PoolSnapshot } from '../../../quota/published-state.js';

/**
 * Sentences about other ways to chips, for a job that waits for its own: zones where the pool's jobs recently got the same type,
 * a smaller type of the generation that they got, and the price on demand. Zones are history and no promise. Zones that the job
 * asks now are left out, since they report their own state.
 */
export function renderElsewhere(
  view: JobView | undefined,
  rows: readonly CapacityRow[],
  now: EpochMs,
  width?: number,
): readonly string[] {
  if (view?.phase !== 'provisioning') return [];
  const smaller = smallerFor(view, rows, now);
  return [
    ...seenFor(view, rows, now)
      .slice(0, MOST_SEEN)
      .map((row) => seenText(row, view, now)),
    ...(smaller === undefined ? [] : [smallerText(smaller, view, now)]),
    ...onDemandTexts(view, now),
  ].flatMap((text) => wrapped(text, width, ''));
}

/** The same as `renderElsewhere`, for programs. */
export function elsewhereOf(view: JobView, rows: readonly CapacityRow[], now: EpochMs): object {
  const smaller = smallerFor(view, rows, now);
  const onDemand = onDemandOf(view);
  return {
    seen: seenFor(view, rows, now).map(placeOf),
    ...(smaller && { smaller: placeOf(smaller) }),
    ...(onDemand && { onDemand }),
  };
}

const placeOf = (row: GaveLately): object => ({
  ...{ zone: row.zone, accelerator: row.accelerator, pricing: row.pricing, lastGot: row.lastGot },
  ...(hasRefusedSince(row) && { refusal: row.refusal }),
});

const hasRefusedSince = ({ lastGot, refusal }: GaveLately): boolean => refusal !== undefined && refusal.at > lastGot.at;

type GaveLately = CapacityRow & Required<Pick<CapacityRow, 'lastGot'>>;

/** Requests of the job, in all zones, that are neither ready nor gone. */
export const openRequests = ({ slices, rivals = [] }: Pick<JobView, 'slices' | 'rivals'>): readonly SliceView[] =>
  [...slices, ...rivals].filter(({ state }) => state !== 'ready' && state !== 'gone');

const MOST_SEEN = 2;
const LATELY_MS = 6 * 3_600_000;
/** Least wait of a job for these hints: before that it may get its own chips in a moment. */
const LONG_WAIT_MS = 10 * 60_000;

/** Recent successes, latest first. */
const gaveLately = (rows: readonly CapacityRow[], now: EpochMs): readonly GaveLately[] =>
  rows
    .flatMap((row) => (row.lastGot === undefined ? [] : [{ ...row, lastGot: row.lastGot }]))
    .filter(({ lastGot }) => now - lastGot.at <= LATELY_MS)
    .toSorted((a, b) => b.lastGot.at - a.lastGot.at);

/** Recent successes for the job's type in zones that it does not ask now. */
function seenFor(view: JobView, rows: readonly CapacityRow[], now: EpochMs): readonly GaveLately[] {
  const asked = new Set(openRequests(view).map(({ ref }) => ref.zone));
  const { accelerator } = askedMachines(view.spec);
  return gaveLately(rows, now).filter((row) => row.accelerator === accelerator && !asked.has(row.zone));
}

/** The largest smaller type of the same generation that a job got lately, in the zone that gave it last. */
function smallerFor({ spec }: JobView, rows: readonly CapacityRow[], now: EpochMs): GaveLately | undefined {
  const own = findAccelerator(askedMachines(spec).accelerator);
  if (own === undefined) return undefined;
  let found: { readonly row: GaveLately; readonly chips: number } | undefined;
  for (const row of gaveLately(rows, now)) {
    const type = findAccelerator(row.accelerator);
    const isSmaller = type?.generation === own.generation && type.chips < own.chips;
    if (isSmaller && !hasRefusedSince(row) && type.chips > (found?.chips ?? 0)) found = { row, chips: type.chips };
  }
  return found?.row;
}

/** The zone of the job in which all of it costs least on demand, if it asks for spot chips and prices are known. USD per hour. */
function onDemandOf({ spec }: JobView): OnDemand | undefined {
  const { zones, pricing } = askedMachines(spec);
  if (pricing !== 'spot') return undefined;
  let least: OnDemand | undefined;
  for (const zone of zones) {
    const usd = usdPerHour(spec, { zone, pricing: 'ondemand' });
    const spot = usdPerHour(spec, { zone });
    if (usd !== undefined && usd < (least?.usdPerHour ?? Infinity))
      least = { zone, usdPerHour: usd, ...(spot !== undefined && { spotUsdPerHour: spot }) };
  }
  return least;
}

interface OnDemand {
  readonly zone: string;
  readonly usdPerHour: number;
  readonly spotUsdPerHour?: number;
}

function gaveText({ zone, accelerator, pricing, lastGot }: GaveLately, now: EpochMs): string {
  const [within, ago] = [lastGot.waitedMs, now - lastGot.at].map((ms) => formatDuration(ms));
  return `${zone} gave a ${accelerator} (${pricing}) within ${within}, ${ago} ago`;
}

function seenText(row: GaveLately, view: JobView, now: EpochMs): string {
  const since = hasRefusedSince(row) ? ', and has refused one since' : '';
  const own = askedMachines(view.spec).zones.includes(row.zone) ? '' : "; it is none of this job's zones";
  return `Seen by this pool's jobs: ${gaveText(row, now)}${since}${own}.`;
}

const smallerText = (row: GaveLately, { spec }: JobView, now: EpochMs): string =>
  `Smaller than its ${askedMachines(spec).accelerator}, seen by this pool's jobs: ${gaveText(row, now)}.`;

function onDemandTexts(view: JobView, now: EpochMs): readonly string[] {
  const found = now - view.phaseSince < LONG_WAIT_MS ? undefined : onDemandOf(view);
  if (found === undefined) return [];
  const { zone, usdPerHour: usd, spotUsdPerHour: spot } = found;
  const beside = spot === undefined ? '' : `, spot about ${usdText(spot)}`;
  return [
    `On demand it would cost about ${usdText(usd)} an hour in ${zone}${beside}; whether there are chips is not known. That takes another job, with tpu.pricing: ondemand.`,
  ];
}

/** The turns of a job that waits for chips in one of several tiers. Undefined until its pool publishes the tier it asks in. */
export function turnsOf(view: JobView | undefined, pool: PoolSnapshot | undefined): TierTurns | undefined {
  if (view?.phase !== 'provisioning' || pool === undefined) return undefined;
  const turns = tierTurns(pool, view.id, askedMachines(view.spec).accelerator);
  return turns?.tier === view.granted?.tier ? turns : undefined;
}

/** Sentences about tiers: one for the tier that the job asks in, and one for each other tier. */
export function tierSentences(turns: TierTurns | undefined, now: EpochMs): readonly string[] {
  if (turns === undefined) return [];
  const asks = `It asks in ${named(turns)} of the pool, for ${formatDuration(now - turns.since)}.`;
  return [asks, ...turns.others.map((other) => otherText(other, now))];
}

function otherText(other: OtherTier, now: EpochMs): string {
  const name = named(other);
  const subject = `${name.charAt(0).toUpperCase()}${name.slice(1)}`;
  const sooner = other.orOnceRefused ? ', or once each zone has refused' : '';
  const when = `is asked${other.isCooling ? ' again' : ''} from ${clockTime(other.at)} on${sooner}`;
  const said = other.answers.slice(0, MOST_ANSWERS).map(({ zone, at, text }) => {
    return `${zone} said ${formatDuration(now - at)} ago: ${text}`;
  });
  const answers = said.length === 0 ? '' : ` (${said.join('; ')})`;
  return `${subject} ${other.isCooling ? `gave nothing${answers}, and ` : ''}${when}, if this one gives nothing before and it has room then.`;
}

const named = ({ tier, pricing }: Pick<OtherTier, 'tier' | 'pricing'>): string =>
  `tier ${tier + 1}${pricing === undefined ? '' : ` (${pricing})`}`;

const MOST_ANSWERS = 3;
