/** How much of an attempt's log somebody has: bytes by host. */
export interface LogPosition {
  readonly attempt: number;
  readonly given: ReadonlyMap<number, number>;
}

/** As the id of an event, and in the header Last-Event-ID. */
export const positionText = ({ attempt, given }: LogPosition): string =>
  `${attempt};${[...given].map(([host, offset]) => `${host}:${offset}`).join(',')}`;

/** Undefined for what `positionText` does not make. */
export function parsePosition(text: string): LogPosition | undefined {
  const [, attempt, rest = ''] = /^(\d{1,9});((?:\d{1,6}:\d{1,15}(?:,\d{1,6}:\d{1,15})*)?)$/.exec(text) ?? [];
  if (attempt === undefined) return undefined;
  const pairs = rest === '' ? [] : rest.split(',').map((pair) => pair.split(':').map(Number) as [number, number]);
  return { attempt: Number(attempt), given: new Map(pairs) };
}
