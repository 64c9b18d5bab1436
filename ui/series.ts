/** Values that a command reported under one name, in the order of its steps. */
export interface Series {
  readonly name: string;
  readonly step: readonly number[];
  /** Null: not a finite number. */
  readonly value: readonly (number | null)[];
}

/** Limit of plots of one job. `jobctl` shows the others. */
const MOST_SERIES = 24;

/**
 * Reads an answer of `GET /v1/jobs/{id}/metrics`. Series of an unexpected form are left out, since the server may be newer than
 * the page.
 */
export function seriesOf(answer: unknown): readonly Series[] {
  const found = isObject(answer) ? answer['metrics'] : undefined;
  if (!Array.isArray(found)) return [];
  return found.slice(0, MOST_SERIES).flatMap((one: unknown): readonly Series[] => {
    if (!isObject(one) || typeof one['name'] !== 'string' || !isObject(one['points'])) return [];
    const { step, value } = one['points'];
    if (!isNumbers(step) || !isValues(value) || step.length !== value.length || step.length === 0) return [];
    return [{ name: one['name'], step, value }];
  });
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const isNumbers = (value: unknown): value is readonly number[] =>
  Array.isArray(value) && value.every((each) => typeof each === 'number');
const isValues = (value: unknown): value is readonly (number | null)[] =>
  Array.isArray(value) && value.every((each) => typeof each === 'number' || each === null);
