import type { LeaseId, LeaseMessageBody } from '../../domain/lease.js';
import type { SlicePlan, SliceRef } from '../../domain/slice.js';

/** `queued resource train-x7-g1` or `slice train-x7-g1`: what is created and deleted. */
export const resourceName = ({ mode, name }: SliceRef): string =>
  `${mode === 'queued-resources' ? 'queued resource' : 'slice'} ${name}`;

/** `create queued resource train-x7-g1 (v5litepod-16, spot, us-central1-a)` */
export const createSummary = ({ ref, accelerator, pricing }: SlicePlan): string =>
  `create ${resourceName(ref)} (${accelerator}, ${pricing}, ${ref.zone})`;

export const deleteSummary = (ref: SliceRef): string => `delete ${resourceName(ref)} until it is gone`;

export const mailSummary = ({ name }: SliceRef, { pool, job }: LeaseId, kind: LeaseMessageBody['kind']): string =>
  kind === 'gone'
    ? `tell quota pool ${pool} that ${name} is gone`
    : `ask quota pool ${pool} if the lease of ${job} stands`;
