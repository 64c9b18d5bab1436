import type { LeaseId, LeaseMessageBody } from '../../domain/lease.js';
import type { MachineRef } from '../../domain/machines.js';
import type { LeaseBook } from '../../workflows/quota/lease-book.js';

/** What a job and its slices tell a lease book. */
export const JOB: LeaseId = { pool: 'p', job: 'j', run: 'r', number: 1 };
export const DEMAND = { project: 'a', user: 'u', priority: 3, submittedAt: 0, units: { v4: 8 } };
export const ref = (name: string): MachineRef => ({
  kind: 'cloud-tpu',
  googleProject: 'g',
  zone: 'z',
  name,
  mode: 'queued-resources',
});
export const request: LeaseMessageBody = { kind: 'request', demand: DEMAND, slices: [] };
export const release = (...names: string[]): LeaseMessageBody => ({ kind: 'release', slices: names.map(ref) });
export const register = (name: string): LeaseMessageBody => ({ kind: 'slice', ref: ref(name) });

/** Tells a book messages, each with the next sequence. */
export function speaker(
  book: LeaseBook,
): (sender: string, body: LeaseMessageBody, now?: number, lease?: LeaseId) => void {
  let sequence = 0;
  return (sender, body, now = 0, lease = JOB) => book.apply({ lease, sender, sequence: ++sequence, body }, now);
}
