/** Milliseconds since 1970-01-01T00:00:00Z. */
export type EpochMs = number;

/** Whole seconds in the largest of three units that expresses them exactly. */
export function inLargestUnit(seconds: number): { readonly count: number; readonly unit: 'h' | 'm' | 's' } {
  if (seconds % 3600 === 0) return { count: seconds / 3600, unit: 'h' };
  return seconds % 60 === 0 ? { count: seconds / 60, unit: 'm' } : { count: seconds, unit: 's' };
}

/** Whole seconds as `8 h`, `30 min` or `90 s`, in the largest unit that divides them. */
export function durationText(seconds: number): string {
  const { count: number, unit } = inLargestUnit(seconds);
  return `${number} ${unit === 'm' ? 'min' : unit}`;
}

/** `2026-11-21 14:50:37 UTC`: texts of workflows are not written anew while time passes, so no "5 minutes ago". */
export const utc = (at: EpochMs): string => `${new Date(at).toISOString().slice(0, 19).replace('T', ' ')} UTC`;

/** `2026-11-21`, the day in UTC: days of the store's objects and of reports. */
export const utcDay = (at: EpochMs): string => new Date(at).toISOString().slice(0, 10);

/**
 * Quota's unit: the number in an accelerator's name, per generation (`{v4: 8}` is one v4-8: 8 cores, 4 chips). Never chips:
 * mixing the two overcommits twofold. Keys are generations; values are positive integers.
 */
export type QuotaUnits = Readonly<Record<string, number>>;

export function addUnits(a: QuotaUnits, b: QuotaUnits): QuotaUnits {
  const sum: Record<string, number> = { ...a };
  for (const [generation, units] of Object.entries(b)) sum[generation] = (sum[generation] ?? 0) + units;
  return sum;
}

/** Most units of one type in a file: 31 bits, so that products in decisions are exact in a double. */
export const MOST_UNITS = 2_147_483_647;

/** Units of one type, or 0 if it is not named. */
export function unitsOf(units: QuotaUnits, type: string): number {
  return Object.hasOwn(units, type) ? (units[type] ?? 0) : 0;
}

/** `a` less `b`, per type. Below 0 if a pool was shrunk under its leases. */
export function subtractUnits(a: QuotaUnits, b: QuotaUnits): QuotaUnits {
  const rest: Record<string, number> = { ...a };
  for (const [type, units] of Object.entries(b)) rest[type] = unitsOf(rest, type) - units;
  return rest;
}

/** Returns whether `asked` is within `available` for every type with more than 0. */
export function isWithin(asked: QuotaUnits, available: QuotaUnits): boolean {
  return Object.entries(asked).every(([type, units]) => units <= 0 || units <= unitsOf(available, type));
}

/** `16 v5litepod`, `8 v4 and 16 v6e`. */
export function formatUnits(units: QuotaUnits): string {
  const parts = Object.entries(units).map(([type, count]) => `${count} ${type}`);
  return parts.length < 2 ? (parts[0] ?? 'nothing') : `${parts.slice(0, -1).join(', ')} and ${parts.at(-1)}`;
}

/** `1 host`, `4 hosts`. */
export const count = (number: number, noun: string): string => `${number} ${noun}${number === 1 ? '' : 's'}`;

/** `812 B`, `1.2 kB`, `3.4 MB`: powers of 1000. */
export function sizeText(bytes: number): string {
  const power = Math.min(UNITS.length - 1, Math.floor(Math.log10(Math.max(bytes, 1)) / 3));
  return power === 0 ? `${bytes} B` : `${(bytes / 1000 ** power).toFixed(1)} ${UNITS[power]}`;
}

/** `$12.34`; less than a cent with two digits that count, `$0.0021`, so that no cost looks like none. */
export const usdText = (usd: number): string =>
  `$${usd > 0 && usd < 0.01 ? usd.toFixed(Math.min(20, 1 - Math.floor(Math.log10(usd)))) : usd.toFixed(2)}`;

const UNITS = ['B', 'kB', 'MB', 'GB', 'TB'];
