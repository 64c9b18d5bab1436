import type { CloudEvent } from './rehearsal-admin.js';

/** What a cloud charges for one node: the chip-milliseconds for which it was READY. */
export interface NodeBill {
  readonly name: string;
  readonly chipMs: number;
}

/**
 * The cloud's bill, from its own journal. Google charges a TPU while it is READY, and in no other state
 * (cloud.google.com/tpu/pricing). Nothing of jobctl has a part in it. @throws Error for a node that is still there
 */
export function billOf(events: readonly CloudEvent[]): readonly NodeBill[] {
  const bills = new Map<string, number>();
  const ready = new Map<string, number>();
  for (const { at, kind, subject, details } of events) {
    if (kind !== 'node-state') continue;
    const since = ready.get(subject);
    if (since !== undefined && details.to !== 'READY') {
      bills.set(subject, (bills.get(subject) ?? 0) + (at - since) * (details.chips ?? NaN));
      ready.delete(subject);
    } else if (since === undefined && details.to === 'READY') ready.set(subject, at);
  }
  if (ready.size > 0) throw new Error(`still READY: ${[...ready.keys()].join(', ')}`);
  return [...bills].map(([subject, chipMs]) => ({ name: subject.slice(subject.lastIndexOf('/') + 1), chipMs }));
}
