/** Returns whether a content type is JSON. */
export const isJsonType = (type: string): boolean => /^application\/json\s*(;|$)/i.test(type);

export type JsonValue = string | number | boolean | null | readonly JsonValue[] | JsonObject;
export interface JsonObject {
  readonly [key: string]: JsonValue | undefined;
}

export function asObject(value: JsonValue | undefined): JsonObject {
  return isObject(value) ? value : {};
}

export function asString(value: JsonValue | undefined): string {
  return typeof value === 'string' ? value : '';
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
