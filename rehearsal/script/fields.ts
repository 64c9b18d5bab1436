import { z } from 'zod';
import { GENERATIONS } from '../tpu/accelerators.js';
import { findStatus } from '../tpu/api-error.js';
import { TIERS } from '../tpu/settings.js';
import { isPattern, isRefusable, MACHINE_TYPE, REFUSABLE, ZONE } from '../admin/requests.js';
import { parseDuration } from './duration.js';

/** Values of a script's fields. Each message continues the text `'value' is not `. */

const LONGEST_MS = 365 * 86_400_000;

/** A duration on the cloud's clock, in ms. */
export const duration = z
  .union([z.string(), z.number()], 'a duration, such as 30s, 5m or 1h30m')
  .transform((value, context): number => {
    const ms = parseDuration(String(value));
    if (ms !== undefined && ms <= LONGEST_MS) return ms;
    const why = typeof value === 'number' ? `; with its unit: ${value}s or ${value}m` : '';
    context.addIssue({ code: 'custom', message: `a duration, such as 30s, 5m or 1h30m${why}` });
    return z.NEVER;
  });

/** A fixed duration, or a range to draw from each time. */
export const span = z.union(
  [
    duration,
    z.strictObject({ min: duration, max: duration }).refine(({ min, max }) => min <= max, 'a span: min is above max'),
  ],
  'a duration, or {min: 1m, max: 5m}',
);

export const whole = (min: number, max: number): z.ZodNumber =>
  z.number(`a whole number from ${min} to ${max}`).int().min(min).max(max);

/** A regular expression for the whole last part of a name. */
export const pattern = z.string('a regular expression').refine(isPattern, 'a regular expression');

export const zone = z.string('a zone').regex(ZONE, 'a zone, such as us-central1-a');

export const code = z
  .union([z.string(), z.number()], 'a code of google.rpc.Code, such as UNAVAILABLE')
  .refine((given) => findStatus(given) !== undefined, 'a code of google.rpc.Code, such as UNAVAILABLE');

export const method = z.string('a method').refine(isRefusable, { error: 'a method', params: { words: REFUSABLE } });

/** One method or several. */
export const methods = z
  .union([method, z.array(method).min(1)], 'a method or a list of them')
  .transform((given): readonly string[] => (typeof given === 'string' ? [given] : given));

/** A number of chips. null: no limit. */
const chips = z
  .union([z.number(), z.string()], 'a number of chips, or unlimited')
  .refine(
    (given) => given === 'unlimited' || (Number.isInteger(given) && Number(given) >= 0),
    'a number of chips, or unlimited',
  )
  .transform((given): number | null => (given === 'unlimited' ? null : Number(given)));

const PLACE = `zone/generation or zone/generation/tier; generations: ${GENERATIONS.join(', ')}; tiers: ${TIERS.join(', ')}`;

/** Chips by place. A key is checked like a value, so that an error names the key's line and column. */
export const capacity = placeTable(0, `${PLACE}; or zone/machine type`);
export const quota = placeTable(1, `project/${PLACE}; the project may be *`);

export type PlaceTable = Readonly<Record<string, number | null>>;

function placeTable(before: number, form: string): z.ZodType<PlaceTable> {
  return z.record(z.string(), chips, 'a table').superRefine((table, context) => {
    for (const key of Object.keys(table)) {
      if (before === 0 && isMachinePlace(key)) continue;
      if (isPlace(key.split('/').slice(before)) && key.split('/').length > before) continue;
      context.addIssue({ code: 'custom', message: form, path: [key], params: { at: 'key' } });
    }
  });
}

/** Whether the key is a zone and a machine type. Compute Engine's VMs have no tiers. */
function isMachinePlace(key: string): boolean {
  const [place = '', machineType = '', ...others] = key.split('/');
  return zone.safeParse(place).success && MACHINE_TYPE.test(machineType) && others.length === 0;
}

function isPlace([place = '', generation = '', tier, ...others]: readonly string[]): boolean {
  const isTier = tier === undefined || TIERS.some((known) => known === tier);
  return (
    zone.safeParse(place).success && GENERATIONS.some((known) => known === generation) && isTier && others.length === 0
  );
}
