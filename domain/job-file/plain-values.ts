/** A key's value; undefined for `null`, which a job file may write for "absent". */
export function given<Value>(value: Value | null | undefined): Value | undefined {
  return value ?? undefined;
}

/** A map whose values people write without quotes, as text. */
export function textValues(
  map: Readonly<Record<string, string | number | boolean>> | null | undefined,
): Record<string, string> {
  return Object.fromEntries(Object.entries(map ?? {}).map(([key, value]) => [key, String(value)]));
}
