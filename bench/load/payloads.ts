import type { HistoryEvent } from './history.js';

export interface Payload {
  readonly bytes: number;
  /** The event's attribute it is in, such as `workflowExecutionSignaledEventAttributes`. */
  readonly where: string;
}

/** Of all in these events. Temporal limits each: a warning in the server's log from 256 KB, refused from 2 MB. */
export function biggestPayload(events: readonly HistoryEvent[]): Payload {
  let biggest: Payload = { bytes: 0, where: '-' };
  for (const event of events) {
    for (const [name, attributes] of Object.entries(event)) {
      if (!name.endsWith('EventAttributes')) continue;
      const bytes = mostData(attributes);
      if (bytes > biggest.bytes) biggest = { bytes, where: name.replace('EventAttributes', '') };
    }
  }
  return biggest;
}

/** The longest `data` of a payload anywhere below. */
function mostData(value: unknown): number {
  if (value === null || typeof value !== 'object') return 0;
  if (value instanceof Uint8Array) return value.length;
  return Math.max(0, ...Object.values(value).map(mostData));
}
