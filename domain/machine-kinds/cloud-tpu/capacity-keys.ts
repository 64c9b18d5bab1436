import { type AllocationMode, MOST_RUN_SECONDS, type TpuForm } from './words.js';
import { type Pricing, PRICINGS } from '../../slice.js';
import { durationValue, given, secondsOf } from '../../job-file/fields.js';
import { namesIn, referenceHint, RESOURCE_NAME } from '../../job-file/cloud-path.js';
import type { Report } from '../../job-file/report.js';

/** The pricing of the job's tier. Spot if the tier names none. */
export const ANY_PRICING = 'any';

/** Returns the pricing that a word means, ignoring case, - and _. */
export function pricingNamed(word: string): Pricing | undefined {
  const plain = (text: string): string => text.toLowerCase().replace(/[-_]/g, '');
  return PRICINGS.find((known) => plain(known) === plain(word));
}

/** The pricing that a file names: by its word, or by a key that belongs to one pricing only. */
export function pricingWord(tpu: Pick<TpuForm, 'pricing' | 'reservation' | 'run_duration'>): string | undefined {
  if (given(tpu.pricing) !== undefined) return given(tpu.pricing);
  if (given(tpu.reservation) !== undefined) return 'reserved';
  return given(tpu.run_duration) === undefined ? undefined : 'flex-start';
}

export interface Capacity {
  readonly allocationMode: AllocationMode;
  readonly pricing: Pricing | typeof ANY_PRICING;
  readonly reservation: string | undefined;
  readonly reservationBound: true | undefined;
  readonly runSeconds: number | undefined;
  readonly validUntilSeconds: number | undefined;
}

/** The request and payment of a slice. A key that needs a pricing or a queue selects it, unless the file says otherwise. */
export function resolveCapacity(tpu: TpuForm, zones: readonly string[], report: Report): Capacity {
  const reservation = given(tpu.reservation);
  const pricing = resolvePricing({ pricing: pricingWord(tpu) }, 'spot', report);
  const isQueued = reservation !== undefined || pricing === 'flex-start' || given(tpu.valid_until) !== undefined;
  const allocationMode = tpu.allocation_mode ?? (isQueued ? 'queued-resources' : 'tpu-vm');
  const use = { allocationMode, pricing, zones };
  if (reservation !== undefined) checkReservation(reservation, use, report);
  else if (tpu.reservation_bound) {
    const message = 'is for a future reservation, and no reservation is named';
    report.problem(['tpu', 'reservation_bound'], true, message, 'write reservation: its name, or leave this out');
  }
  checkFlexStart(tpu, use, report);
  checkValidUntil(tpu, use, report);
  return {
    ...{ allocationMode, reservation, pricing: pricing ?? 'spot' },
    reservationBound: tpu.reservation_bound ? true : undefined,
    runSeconds: resolveSeconds(tpu, 'run_duration', report),
    validUntilSeconds: resolveSeconds(tpu, 'valid_until', report),
  };
}

/** The shortest span: making a slice and setting it up takes longer. */
const LEAST_SECONDS = 60;
const YEAR_SECONDS = 365 * 86_400;
/** The keys that are durations. `message` completes "VALUE is .." for a duration that is too long. */
const SPANS = {
  run_duration: {
    most: MOST_RUN_SECONDS,
    message: `longer than ${durationValue(MOST_RUN_SECONDS)} (7 days), the most that Google sells`,
    instead: 'the next attempt gets as long again',
  },
  // Google's page names no bound.
  valid_until: { most: YEAR_SECONDS, message: 'longer than a year', instead: 'leave it out to wait for ever' },
} as const;

function resolveSeconds(tpu: TpuForm, key: keyof typeof SPANS, report: Report): number | undefined {
  const value = given(tpu[key]);
  if (value === undefined) return undefined;
  const seconds = Math.round(secondsOf(value));
  const { most, message, instead } = SPANS[key];
  if (seconds < LEAST_SECONDS) report.wrong(['tpu', key], value, 'too short', `write ${LEAST_SECONDS}s or more`);
  if (seconds > most) report.wrong(['tpu', key], value, message, `write ${durationValue(most)} or less; ${instead}`);
  return seconds;
}

function checkValidUntil(tpu: TpuForm, { allocationMode }: CapacityUse, report: Report): void {
  const value = given(tpu.valid_until);
  if (value === undefined || allocationMode !== 'tpu-vm') return;
  const message = 'is how long a queued resource may wait, and allocation_mode is tpu-vm: such a request does not wait';
  report.problem(['tpu', 'valid_until'], value, message, 'write allocation_mode: queued-resources, or leave it out');
}

/** docs.cloud.google.com/tpu/docs/request-using-flex-start (2025-09-04): "You must use the queued resources API". */
function checkFlexStart(tpu: TpuForm, { allocationMode, pricing }: CapacityUse, report: Report): void {
  const run = given(tpu.run_duration);
  if (run !== undefined && pricing !== undefined && pricing !== 'flex-start' && pricing !== ANY_PRICING) {
    const message = `is for pricing flex-start only, and pricing is ${pricing}: such a slice has no end of its own`;
    report.problem(['tpu', 'run_duration'], run, message, 'write pricing: flex-start, or leave run_duration out');
  } else if (pricing === 'flex-start' && allocationMode === 'tpu-vm') {
    const message = 'Google sells flex-start through queued resources only, and allocation_mode is tpu-vm';
    const key = given(tpu.pricing) === undefined ? 'run_duration' : 'pricing';
    report.problem(['tpu', key], tpu[key], message, 'write allocation_mode: queued-resources, or leave it out');
  }
}

/** @param own `tpu` without the pool's defaults: a pool's run duration is for its flex-start jobs */
export function warnOfRunDuration(own: Pick<TpuForm, 'pricing' | 'run_duration'>, report: Report): void {
  if (given(own.run_duration) === undefined || given(own.pricing)?.toLowerCase() !== ANY_PRICING) return;
  const message = `holds for pricing flex-start alone, and pricing is any: in a tier of another pricing a slice has no end of its own`;
  report.warn(['tpu', 'run_duration'], message);
}

/** @param own `tpu` without the pool's defaults: a pool's hedge is for its jobs of several zones */
export function warnOfHedge({ hedge }: Pick<TpuForm, 'hedge'>, zones: readonly string[], report: Report): void {
  const [zone] = zones;
  if (zone === undefined || typeof hedge !== 'number' || hedge <= zones.length) return;
  const [effect, instead] =
    zones.length === 1
      ? [`${hedge} has no effect: the job has one zone, ${zone}`, 'leave it out']
      : [`${hedge} is no more than ${zones.length}: the job has ${zones.length} zones`, `write hedge: ${zones.length}`];
  report.warn(
    ['tpu', 'hedge'],
    `${effect}, and each request is in another zone; name more in tpu.zones, or ${instead}`,
  );
}

/** @returns undefined if the file has no `hedge`, so that `usualRequests` applies */
export function resolveHedge(
  { hedge }: Pick<TpuForm, 'hedge'>,
  { pricing, reservation }: Pick<Capacity, 'pricing' | 'reservation'>,
  report: Report,
): number | undefined {
  if (hedge === undefined || hedge === null) return undefined;
  if (hedge > 1 && pricing === 'reserved') {
    const what = reservation === undefined ? 'reserved capacity' : `reservation ${reservation}`;
    const message = `asks for ${hedge} requests at once, and ${what} is used once`;
    report.problem(['tpu', 'hedge'], hedge, message, 'leave hedge out, or write pricing: spot or ondemand');
  }
  return hedge;
}

/**
 * The pricing that the file itself demands for its chips, or undefined if it leaves that to its tier.
 * @param own `tpu` without the pool's defaults, which do not bind a job to a tier
 */
export function pricingOf(own: Parameters<typeof pricingWord>[0]): Pricing | undefined {
  const word = pricingWord(own);
  return word === undefined ? undefined : pricingNamed(word);
}

/** @param section the section of the key `pricing` */
export function resolvePricing(
  tpu: Pick<TpuForm, 'pricing'>,
  without: Pricing,
  report: Report,
  section = 'tpu',
): Pricing | typeof ANY_PRICING | undefined {
  const word = given(tpu.pricing);
  if (word === undefined) return without;
  if (word.toLowerCase() === ANY_PRICING) return ANY_PRICING;
  const known = PRICINGS.filter((pricing) => section === 'tpu' || pricing !== 'flex-start');
  const pricing = known.find((one) => one === pricingNamed(word));
  if (pricing === undefined) report.notAllowed([section, 'pricing'], word, [...known, ANY_PRICING]);
  return pricing;
}

const RESERVATION_FORMS =
  "a reservation's name, or of another project projects/OWNER/reservations/NAME, " +
  'or projects/OWNER/locations/ZONE/reservations/NAME; NAME - is any of them, also of folders/F and organizations/O';

/** Paths of reservations in the four forms of gcloud 528: of the own project, another project, a folder or an organization. */
const RESERVATION_PATH =
  /^(?:projects\/[^/]+(?:\/locations\/([^/]+))?\/reservations\/[^/]+|(?:folders|organizations)\/\d+(?:\/locations\/([^/]+))?\/reservations\/-)$/;

/** @returns the zone in a reservation's path, if there is one; undefined if the text is not a path of a reservation */
function reservationPlace(reservation: string): { readonly zone: string | undefined } | undefined {
  const found = RESERVATION_PATH.exec(reservation);
  const name = reservation.slice(reservation.lastIndexOf('/') + 1);
  if (found === null || (name !== '-' && !RESOURCE_NAME.test(name))) return undefined;
  const project = /^projects\/([^/]+)/.exec(reservation)?.[1];
  if (
    project !== undefined &&
    namesIn(`projects/${project}/reservations/r`, ['projects', 'reservations']) === undefined
  )
    return undefined;
  return { zone: found[1] ?? found[2] };
}

interface CapacityUse {
  readonly allocationMode: AllocationMode;
  /** Undefined: the pricing is wrong, and reported. */
  readonly pricing: Pricing | typeof ANY_PRICING | undefined;
  readonly zones: readonly string[];
}

/** cloud.google.com/tpu/docs/consume-reservation (2026): only queued resources name one; v2's node has no field for it. */
function checkReservation(reservation: string, use: CapacityUse, report: Report): void {
  const path = ['tpu', 'reservation'];
  const { allocationMode, pricing, zones } = use;
  const place = reservationPlace(reservation);
  if (place === undefined && !RESOURCE_NAME.test(reservation))
    report.wrong(path, reservation, 'no reservation', referenceHint(reservation, RESERVATION_FORMS));
  const zoneOfIt = place?.zone;
  const elsewhere = zoneOfIt && zones.find((zone) => zone !== zoneOfIt);
  if (elsewhere !== undefined) {
    const message = `is of zone ${zoneOfIt}, and the job may run in zone ${elsewhere}`;
    report.problem(path, reservation, message, `write zone: ${zoneOfIt}, or the reservation's name alone`);
  } else if (pricing !== undefined && pricing !== 'reserved') {
    const message = `a reservation is used with pricing reserved only, and pricing is ${pricing}`;
    report.problem(path, reservation, message, 'write pricing: reserved');
  } else if (allocationMode === 'tpu-vm') {
    const message = 'a reservation is named through queued resources only, and allocation_mode is tpu-vm';
    report.problem(
      path,
      reservation,
      message,
      'write allocation_mode: queued-resources, or leave the name out for any of the project',
    );
  }
}
