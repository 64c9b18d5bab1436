/** Milliseconds since 1970-01-01T00:00:00Z. */
export type EpochMs = number;

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
