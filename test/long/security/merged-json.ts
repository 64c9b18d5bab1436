export type Json = Readonly<Record<string, unknown>>;

/** `other` over `one`, section by section. */
export function merged(one: Json, other: Json): Json {
  const keys = Object.entries(other).map(([key, value]) => {
    const before = one[key];
    return [key, isObject(before) && isObject(value) ? merged(before, value) : value] as const;
  });
  return { ...one, ...Object.fromEntries(keys) };
}

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
