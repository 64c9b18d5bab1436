import type { Problem } from '../problem.js';
import { showValue } from '../problem.js';

const KEY = /^[\w-]+(\.[\w-]+|\[\d+\])*$/;
const AXIS = /^[A-Za-z_][\w-]*$/;
/** Names that `${array.NAME}` already has. */
const OWN_NAMES = ['index', 'count'];

/**
 * Turns `--sweep env.LR=0.1,0.01` into values to set: an axis of the array, and a reference to it in the key. An axis is named
 * for the last part of its key, or for the whole key if another axis has that name.
 * @returns options as `--set` takes them, each with the flag that messages name, or the problem of the first sweep that is wrong
 */
export function sweepOptions(sweeps: readonly string[]): ReadonlyMap<string, string> | Problem {
  const names = new Set<string>();
  const keys = new Set<string>();
  const options = new Map<string, string>();
  for (const sweep of sweeps) {
    const equals = sweep.indexOf('=');
    const key = sweep.slice(0, Math.max(equals, 0)).trim();
    const values = sweep.slice(equals + 1).trim();
    const wrong = problemOf(sweep, { equals, key, values });
    if (wrong !== undefined) return wrong;
    if (keys.has(key))
      return {
        ...{ file: `--sweep ${key}`, path: [], value: sweep, message: `${showValue(key)} is swept twice` },
        hint: `name all its values at once: --sweep ${key}=value,value`,
      };
    keys.add(key);
    const name = nameOf(key, names);
    names.add(name.toLowerCase());
    const axis = RANGE.test(values) || values.startsWith('[') ? values : `[${values}]`;
    for (const option of [`array.matrix.${name}=${axis}`, `${key}=\${array.${name}}`])
      options.set(option, flagOf(sweep));
  }
  return options;
}

const flagOf = (sweep: string): string => `--sweep ${sweep.length > 200 ? `${sweep.slice(0, 200)}..` : sweep}`;

const RANGE = /^-?\d+\.\.-?\d+$/;
/** A range without one of its ends, or both. */
const HALF_RANGE = /^(?:-?\d+\.\.|\.\.-?\d+|\.\.)$/;
const HALF_LIST = /^\[.*[^\]]$|^\[$/;

function nameOf(key: string, taken: ReadonlySet<string>): string {
  const last =
    key
      .split(/[.[\]]+/)
      .filter((part) => part !== '')
      .at(-1) ?? '';
  const isFree = AXIS.test(last) && !OWN_NAMES.includes(last.toLowerCase()) && !taken.has(last.toLowerCase());
  return isFree ? last : key.replaceAll(/[^\w-]+/g, '_').replace(/_$/, '');
}

interface Parts {
  readonly equals: number;
  readonly key: string;
  readonly values: string;
}

function problemOf(sweep: string, { equals, key, values }: Parts): Problem | undefined {
  const file = flagOf(sweep);
  const hint = 'write --sweep KEY=value,value or --sweep KEY=1..5, such as --sweep env.LR=0.1,0.01';
  if (equals === -1) return { file, path: [], value: sweep, message: `${showValue(sweep)} has no =`, hint };
  if (!KEY.test(key) || key === 'array' || key.startsWith('array.'))
    return { file, path: [], value: sweep, message: `${showValue(key)} is not a key of a job`, hint };
  const wrong = VALUES.find(({ is }) => is(values))?.message;
  return wrong === undefined ? undefined : { file, path: [], value: sweep, message: wrong, hint };
}

const VALUES: readonly { readonly is: (values: string) => boolean; readonly message: string }[] = [
  { is: (values) => values === '', message: 'names no values' },
  { is: (values) => HALF_RANGE.test(values), message: 'is a range without one of its ends' },
  { is: (values) => HALF_LIST.test(values), message: 'is a list without its closing ]' },
  { is: (values) => values.startsWith(',') || values.endsWith(','), message: 'has a comma without a value beside it' },
];
