import type { z } from 'zod';
import { beyond, type Bounds } from '../domain/bounds.js';
import { shortened } from '../domain/problem.js';

/** Result of checking a value that crossed a border. */
export type Checked<T> =
  /** The value, without keys that the form does not name. */
  | { readonly kind: 'valid'; readonly value: T }
  /** A newer sender wrote the value, in the middle of a rolling upgrade. This code cannot read it, later code can. */
  | { readonly kind: 'unknown-version'; readonly version: number }
  /** `reason` names the key and the expected form, never the value: values may be secrets. */
  | { readonly kind: 'malformed'; readonly reason: string };

/** Checks a value that crosses a border, once. Never throws. */
export interface Form<T> {
  (value: unknown): Checked<T>;
  /** Bounds of the whole value, of any version. They are checked before its fields. */
  readonly bounds: Bounds;
  readonly schema: z.ZodType<T>;
}

/** Bounds of a message. Temporal takes 2 MiB. A pool's own messages are the largest: its carried state, and hosts of slices. */
export const MOST_OF_A_MESSAGE: Bounds = { characters: 2 * 2 ** 20, values: 250_000, levels: 50 };

const KNOWN_VERSION = 1;

/**
 * @param schema the form of version 1; a value without `v` is of version 1
 * @param bounds for a value of any version
 */
export function form<T>(schema: z.ZodType<T>, bounds: Bounds = MOST_OF_A_MESSAGE): Form<T> {
  const check = (value: unknown): Checked<T> => {
    const tooLarge = beyond(value, bounds);
    if (tooLarge !== undefined) return { kind: 'malformed', reason: `the message: ${tooLarge}` };
    const version = versionOf(value);
    if (version !== undefined && version !== KNOWN_VERSION) return { kind: 'unknown-version', version };
    const parsed = schema.safeParse(value);
    return parsed.success
      ? { kind: 'valid', value: parsed.data }
      : { kind: 'malformed', reason: problemsOf(parsed.error) };
  };
  return Object.assign(check, { bounds, schema });
}

function versionOf(value: unknown): number | undefined {
  if (typeof value !== 'object' || value === null || !('v' in value)) return undefined;
  return typeof value.v === 'number' ? value.v : undefined;
}

const MOST_PROBLEMS = 3;

function problemsOf({ issues }: z.ZodError): string {
  const problems = issues.slice(0, MOST_PROBLEMS).map(({ path, message }) => `${placeOf(path)}: ${message}`);
  if (issues.length > MOST_PROBLEMS) problems.push(`and ${issues.length - MOST_PROBLEMS} more`);
  return shortened(problems.join('; '));
}

const placeOf = (path: readonly PropertyKey[]): string =>
  path.length === 0 ? 'the message' : path.map(String).join('.');
