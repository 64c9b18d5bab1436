import type { LeaseId, LeaseMessageBody } from '../../domain/lease.js';
import type { SliceRef } from '../../domain/slice.js';

/** What a job and its slices tell a lease book. */
export const JOB: LeaseId = { pool: 'p', job: 'j', run: 'r', number: 1 };
export const DEMAND = { project: 'a', user: 'u', priority: 3, submittedAt: 0, units: { v4: 8 } };
export const ref = (name: string): SliceRef => ({ googleProject: 'g', zone: 'z', name, mode: 'queued-resources' });
export const request: LeaseMessageBody = { kind: 'request', demand: DEMAND, slices: [] };
export const release = (...names: string[]): LeaseMessageBody => ({ kind: 'release', slices: names.map(ref) });
export const register = (name: string): LeaseMessageBody => ({ kind: 'slice', ref: ref(name) });
