import type { z } from 'zod';
import type { Bounds } from '../../domain/bounds.js';

/** What the walk reads of zod 4's definitions. */
interface Definition {
  readonly type: string;
  readonly checks?: readonly { readonly _zod: { readonly def: Check } }[];
  readonly shape?: Readonly<Record<string, z.core.$ZodType>>;
  readonly element?: z.core.$ZodType;
  readonly keyType?: z.core.$ZodType;
  readonly valueType?: z.core.$ZodType;
  readonly options?: readonly z.core.$ZodType[];
  readonly innerType?: z.core.$ZodType;
  readonly in?: z.core.$ZodType;
  readonly out?: z.core.$ZodType;
  readonly values?: readonly unknown[];
  readonly entries?: Readonly<Record<string, unknown>>;
}
interface Check {
  readonly check: string;
  readonly maximum?: number;
  readonly length?: number;
  readonly value?: number;
  readonly pattern?: RegExp;
  readonly params?: { readonly bounds?: Bounds; readonly keys?: number };
}

const definitionOf = (schema: z.core.$ZodType): Definition => schema._zod.def;
const checksOf = ({ checks = [] }: Definition): readonly Check[] => checks.map(({ _zod }) => _zod.def);
const paramsOf = (definition: Definition): NonNullable<Check['params']> =>
  Object.assign({}, ...checksOf(definition).map(({ params }) => params)) as NonNullable<Check['params']>;

function mostOf(definition: Definition): number | undefined {
  const found = checksOf(definition).map(({ check, maximum, length, pattern }) => {
    if (check === 'max_length') return maximum;
    if (check === 'length_equals') return length;
    return pattern !== undefined && isBounded(pattern) ? 4_096 : undefined;
  });
  const known = found.filter((most) => most !== undefined);
  return known.length === 0 ? undefined : Math.min(...known);
}

/** From its start to its end, without a repeat that has no most. */
function isBounded({ source }: RegExp): boolean {
  const plain = source.replace(/\\./g, 'x').replace(/\[[^\]]*\]/g, 'x');
  return plain.startsWith('^') && plain.endsWith('$') && !/[*+]|\{\d+,\}/.test(plain);
}

const CLOSED = new Set(['number', 'boolean', 'null', 'undefined', 'literal', 'enum', 'int', 'nan', 'never', 'void']);

/** Paths of what has no most: a text, a list, a section of any keys, any value. */
export function unbounded(schema: z.core.$ZodType, path = ''): readonly string[] {
  const definition = definitionOf(schema);
  const { type, shape = {}, element, keyType, valueType, options = [], innerType } = definition;
  const below = (each: z.core.$ZodType | undefined, name: string) =>
    each === undefined ? [] : unbounded(each, `${path}${name}`);
  if (CLOSED.has(type)) return [];
  switch (type) {
    case 'string':
      return mostOf(definition) === undefined ? [`${path}: text`] : [];
    case 'array':
      return [...(mostOf(definition) === undefined ? [`${path}: list`] : []), ...below(element, '[]')];
    case 'record':
      return [
        ...(paramsOf(definition).keys === undefined ? [`${path}: keys`] : []),
        ...below(keyType, '{key}'),
        ...below(valueType, '{}'),
      ];
    case 'object':
      return Object.entries(shape).flatMap(([key, each]) => below(each, `.${key}`));
    case 'union':
      return options.flatMap((each) => below(each, ''));
    case 'unknown':
    case 'any':
      return paramsOf(definition).bounds === undefined ? [`${path}: any value`] : [];
    case 'pipe':
      // `stringbool`: one of some words.
      if (definitionOf(definition.out ?? schema).type === 'boolean') return [];
      // What is made of a value before (`preprocess`) has the form behind it.
      return below(definitionOf(definition.in ?? schema).type === 'transform' ? definition.out : definition.in, '');
    default:
      return innerType === undefined ? [`${path}: ${type}, which this walk does not know`] : below(innerType, '');
  }
}

const LETTERS = ['*', 'a', '0', '-', '~', 'é', 'SHA256:'];

/**
 * The longest, widest and deepest value that a schema lets in, without what has no most.
 * @param budget of all texts: a body has a most too
 */
export function worst(schema: z.core.$ZodType, budget = { characters: 370_000 }): unknown {
  const definition = definitionOf(schema);
  const { type, shape = {}, element, keyType, valueType, options = [], innerType, values, entries } = definition;
  switch (type) {
    case 'string':
      return worstText(schema as z.ZodType, mostOf(definition) ?? 0, budget);
    case 'number':
      return largest(schema as z.ZodType, checksOf(definition));
    case 'boolean':
      return true;
    case 'literal':
      return values?.[0];
    case 'enum':
      return Object.values(entries ?? {})[0];
    case 'array':
      return element && repeated(mostOf(definition) ?? 0, budget, () => worst(element, budget));
    case 'record': {
      if (keyType === undefined || valueType === undefined) return {};
      const most = paramsOf(definition).keys ?? 0;
      const keys = repeated(most, budget, () => 0).map((_, at) => `${at}`.padEnd(60, 'k'));
      return Object.fromEntries(keys.map((key) => [key, worst(valueType, budget)]));
    }
    case 'object':
      return Object.fromEntries(Object.entries(shape).map(([key, each]) => [key, worst(each, budget)]));
    case 'union':
      return options[0] && worst(options[0], budget);
    case 'unknown':
      return worstJson(paramsOf(definition).bounds, budget);
    case 'pipe':
      if (definitionOf(definition.out ?? schema).type === 'boolean') return 'true';
      return worst(
        (definitionOf(definition.in ?? schema).type === 'transform' ? definition.out : definition.in) ?? schema,
        budget,
      );
    default:
      return innerType && worst(innerType, budget);
  }
}

interface Budget {
  characters: number;
}

function repeated<T>(most: number, budget: Budget, make: () => T): readonly T[] {
  const list: T[] = [];
  while (list.length < most && list.length < 5_000 && budget.characters > 0) {
    list.push(make());
    budget.characters -= 8;
  }
  return list;
}

function worstText(schema: z.ZodType, most: number, budget: Budget): string {
  const length = Math.min(most, Math.max(1, budget.characters));
  for (const size of [length, 1_024, 100, 86, 64, 63, 43, 40, 32])
    for (const letter of size <= most ? LETTERS : []) {
      const text = letter === 'SHA256:' ? letter + 'A'.repeat(43) : letter.repeat(size);
      if (!schema.safeParse(text).success) continue;
      budget.characters -= text.length;
      return text;
    }
  return 'default';
}

function largest(schema: z.ZodType, checks: readonly Check[]): number {
  const most = checks
    .map(({ check, value }) => (check === 'less_than' ? value : undefined))
    .find((value) => value !== undefined);
  return (
    [most, Number.MAX_SAFE_INTEGER, 1, 0].find((value) => value !== undefined && schema.safeParse(value).success) ?? 1
  );
}

/** Wrong keys of a job file, each of a length that is compared with all known ones; and one of all levels. */
function worstJson(bounds: Bounds | undefined, budget: Budget): unknown {
  if (bounds === undefined) return 1;
  const keys = Math.min(4_800, Math.floor(Math.min(bounds.characters - 20_000, budget.characters) / 70));
  budget.characters -= keys * 70;
  const wrong = Array.from({ length: Math.max(0, keys) }, (_, at) => [`${at}`.padEnd(58, 'y'), '${a.b}']);
  const deep = Array.from({ length: 24 }).reduce<unknown>((inner) => [inner], 1);
  return { deep, ...Object.fromEntries(wrong) };
}
