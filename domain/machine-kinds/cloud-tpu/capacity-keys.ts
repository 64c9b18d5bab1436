import type { AllocationMode } from './words.js';
import { type Pricing, PRICINGS } from '../../slice.js';
import { given } from '../../job-file/fields.js';
import { namesIn, referenceHint, RESOURCE_NAME } from '../../job-file/cloud-path.js';
import type { Report } from '../../job-file/report.js';
import type { TpuForm } from './section-form.js';

/** Whatever its tier buys; where its tier says nothing, spot. */
export const ANY_PRICING = 'any';

/** The pricing that a word means, in any case and with - or _ in it. */
export function pricingNamed(word: string): Pricing | undefined {
  const plain = word.toLowerCase().replace(/[-_]/g, '');
  return PRICINGS.find((known) => known === plain);
}

/** How a slice is asked for and paid. A reservation that is named brings what it needs, where the file says nothing else. */
export function resolveCapacity(
  tpu: TpuForm,
  zones: readonly string[],
  report: Report,
): { allocationMode: AllocationMode; pricing: Pricing | typeof ANY_PRICING; reservation: string | undefined } {
  const reservation = given(tpu.reservation);
  const isNamed = reservation !== undefined;
  const allocationMode = tpu.allocation_mode ?? (isNamed ? 'queued-resources' : 'tpu-vm');
  const pricing = resolvePricing(tpu, isNamed ? 'reserved' : 'spot', report);
  if (isNamed) checkReservation(reservation, { allocationMode, pricing, zones }, report);
  return { allocationMode, pricing: pricing ?? 'spot', reservation };
}

/** @returns undefined where the file leaves it to `usualRequests` */
export function resolveHedge(
  { hedge }: Pick<TpuForm, 'hedge'>,
  { pricing, reservation }: Pick<ReturnType<typeof resolveCapacity>, 'pricing' | 'reservation'>,
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
 * What the file itself wants its chips bought as; undefined where it leaves that to its tier. A reservation that is named
 * is one of pricing reserved.
 * @param own `tpu` without a pool's defaults: those do not bind a job to a tier
 */
export function pricingOf(own: Pick<TpuForm, 'pricing' | 'reservation'>): Pricing | undefined {
  const word = given(own.pricing);
  if (word !== undefined) return pricingNamed(word);
  return given(own.reservation) === undefined ? undefined : 'reserved';
}

/** @param section whose key `pricing` is */
export function resolvePricing(
  tpu: Pick<TpuForm, 'pricing'>,
  without: Pricing,
  report: Report,
  section = 'tpu',
): Pricing | typeof ANY_PRICING | undefined {
  const word = given(tpu.pricing);
  if (word === undefined) return without;
  if (word.toLowerCase() === ANY_PRICING) return ANY_PRICING;
  const pricing = pricingNamed(word);
  if (pricing === undefined) report.notAllowed([section, 'pricing'], word, [...PRICINGS, ANY_PRICING]);
  return pricing;
}

const RESERVATION_FORMS =
  "a reservation's name, or of another project projects/OWNER/reservations/NAME, " +
  'or projects/OWNER/locations/ZONE/reservations/NAME';

interface ReservationUse {
  readonly allocationMode: AllocationMode;
  /** Undefined: wrong, and reported. */
  readonly pricing: Pricing | typeof ANY_PRICING | undefined;
  readonly zones: readonly string[];
}

/** cloud.google.com/tpu/docs/consume-reservation (2026): by name through queued resources alone; v2's node has no field for it. */
function checkReservation(reservation: string, use: ReservationUse, report: Report): void {
  const path = ['tpu', 'reservation'];
  const { allocationMode, pricing, zones } = use;
  const zonal = namesIn(reservation, ['projects', 'locations', 'reservations']);
  const isPath = zonal !== undefined || namesIn(reservation, ['projects', 'reservations']) !== undefined;
  if (!isPath && !RESOURCE_NAME.test(reservation))
    report.wrong(path, reservation, 'no reservation', referenceHint(reservation, RESERVATION_FORMS));
  const elsewhere = zonal && zones.find((zone) => zone !== zonal.locations);
  if (elsewhere !== undefined) {
    const message = `is of zone ${zonal?.locations}, and the job may run in zone ${elsewhere}`;
    report.problem(path, reservation, message, `write zone: ${zonal?.locations}, or the reservation's name alone`);
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
