import type { LeaseId, LeaseMessageBody } from '../../domain/lease.js';
import { machineKind, type MachinePlan, type MachineRef } from '../../domain/machines.js';

/** `queued resource train-x7-g1` or `slice train-x7-g1`: the resource that is created and deleted. */
export const resourceName = (ref: MachineRef): string => machineKind(ref.kind).resourceText(ref);

/** `create queued resource train-x7-g1 (v5litepod-16, spot, us-central1-a)` */
export const createSummary = (plan: MachinePlan): string =>
  `create ${resourceName(plan.ref)} (${machineKind(plan.ref.kind).planText(plan)}, ${plan.ref.zone})`;

export const deleteSummary = (ref: MachineRef): string => `delete ${resourceName(ref)} until it is gone`;

export const mailSummary = ({ name }: MachineRef, { pool, job }: LeaseId, kind: LeaseMessageBody['kind']): string =>
  kind === 'gone'
    ? `tell quota pool ${pool} that ${name} is gone`
    : `ask quota pool ${pool} if the lease of ${job} stands`;
