/** The part of an attempt's log that a reader has: bytes by host. */
export interface LogPosition {
  readonly attempt: number;
  readonly given: ReadonlyMap<number, number>;
}

/** The text of a position: the id of an event, and the value of the header Last-Event-ID. */
export const positionText = ({ attempt, given }: LogPosition): string =>
  `${attempt};${[...given].map(([host, offset]) => `${host}:${offset}`).join(',')}`;

/** Undefined if `positionText` did not make the text. */
export function parsePosition(text: string): LogPosition | undefined {
  const [, attempt, rest = ''] = /^(\d{1,9});((?:\d{1,6}:\d{1,15}(?:,\d{1,6}:\d{1,15})*)?)$/.exec(text) ?? [];
  if (attempt === undefined) return undefined;
  const pairs = rest === '' ? [] : rest.split(',').map((pair) => pair.split(':').map(Number) as [number, number]);
  return { attempt: Number(attempt), given: new Map(pairs) };
}
