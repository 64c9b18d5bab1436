import type { HistoryEvent } from './history.js';

export interface Payload {
  readonly bytes: number;
  /** The event attributes that hold it, such as `workflowExecutionSignaled`. */
  readonly where: string;
}

/** The biggest payload in these events. Temporal warns in the server's log from 256 KB, and refuses a payload from 2 MB. */
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

/** Length in bytes of the longest payload `data` anywhere in the value. */
function mostData(value: unknown): number {
  if (value === null || typeof value !== 'object') return 0;
  if (value instanceof Uint8Array) return value.length;
  return Math.max(0, ...Object.values(value).map(mostData));
}
