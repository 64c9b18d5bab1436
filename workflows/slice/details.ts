import type { LeaseId, LeaseMessageBody } from '../../domain/lease.js';
import { adoptedName, machineKind, type MachinePlan, type MachineRef } from '../../domain/machines.js';
import { externalIpOf, machinesOfSlices, type SliceMachines, type SlicesMachines } from '../../domain/slice.js';
import { type EpochMs, utc } from '../../domain/units.js';
import { codeTable, joinBlocks, plain } from '../markdown.js';

export type SliceStage =
  | { readonly kind: 'asking-lease' }
  | { readonly kind: 'creating'; readonly unanswered?: string; readonly notYet?: string }
  | { readonly kind: 'awaiting' }
  | ({ readonly kind: 'ready' } & SlicesMachines)
  | { readonly kind: 'lost'; readonly message: string }
  | { readonly kind: 'deleting'; readonly reason: string; readonly notBefore: EpochMs }
  | { readonly kind: 'gone' }
  | { readonly kind: 'given-up'; readonly reason: string };

interface SliceFacts {
  readonly ref: MachineRef;
  /** Absent if the slice is only looked for and deleted. */
  readonly plan?: MachinePlan;
  readonly lease: LeaseId;
  readonly isLeaseHeld?: boolean;
  readonly stage: SliceStage;
  readonly since: EpochMs;
}

/** A slice as the Temporal Web UI shows it under Current Details: state, lease, the reason of a wait, hosts. */
export function sliceDetails(facts: SliceFacts): string {
  const { ref, lease, stage, since } = facts;
  return joinBlocks(
    [
      headline(facts),
      `**${STATES[stage.kind]}** since ${utc(since)}: ${doing(facts)}`,
      `**Lease:** ${lease.number} of job \`${lease.job}\` in the workflow \`quota/${plain(lease.pool, 60)}\`, ${leaseWord(facts)}`,
      stage.kind === 'ready' ? hostTable(machinesOfSlices(stage), lease.job) : '',
    ],
    `There is more: \`jobctl status ${lease.job}\`, slice \`${ref.name}\``,
  );
}

const STATES = {
  'asking-lease': 'asking for its lease',
  creating: 'being created',
  awaiting: 'being provisioned',
  ready: 'ready',
  lost: 'lost',
  deleting: 'being deleted',
  gone: 'gone',
  'given-up': 'given up',
} as const satisfies Record<SliceStage['kind'], string>;

function headline({ ref, plan }: SliceFacts): string {
  const kind = machineKind(ref.kind);
  const what = plan === undefined ? 'left behind' : kind.planDetails(plan);
  return `**${resourceName(ref)}** (${plain(what)}) in ${plain(kind.placeText(ref))}`;
}

function doing({ ref, lease, stage }: SliceFacts): string {
  switch (stage.kind) {
    case 'asking-lease':
      return 'nothing is created before the quota workflow says that its lease stands.';
    case 'creating':
      if (stage.notYet !== undefined) return `${plain(stage.notYet)}.`;
      return stage.unanswered === undefined
        ? `a create call was sent to ${machineKind(ref.kind).provider}.`
        : `the last create call had no answer (${plain(stage.unanswered)}); it looks whether the call took effect and asks again.`;
    case 'awaiting':
      return `${machineKind(ref.kind).provider} has taken the request and gives the chips when it has them, which can take hours. ${machineKind(ref.kind).stateHint(ref)}.`;
    case 'ready':
      return `it serves job \`${lease.job}\` until that lets it go.`;
    case 'lost':
      return `${plain(stage.message)}. Job \`${lease.job}\` decides what comes next.`;
    case 'deleting':
      return `${plain(stage.reason)}. It ends when the slice is seen gone${stage.notBefore > 0 ? `, not before ${utc(stage.notBefore)}: a create call without an answer may take effect until then` : ''}; till then its chips count.`;
    case 'gone':
      return 'nothing of it is left in the cloud.';
    case 'given-up':
      return `${plain(stage.reason)}. Its deletion did not end, and is not waited for any more.`;
  }
}

function leaseWord({ isLeaseHeld, stage }: SliceFacts): string {
  if (stage.kind === 'gone' || stage.kind === 'given-up') return 'which was told that this slice needs it no more';
  if (isLeaseHeld === undefined) return 'not answered for yet';
  return isLeaseHeld ? 'held' : 'not held';
}

const MOST_HOSTS = 32;

function hostTable(slices: readonly SliceMachines[], job: string): string {
  const hosts = slices.flatMap((slice, index) => slice.hosts.map((host) => ({ slice: index, ...host })));
  const ofSlice = (text: string): string[] => (slices.length > 1 ? [text] : []);
  const rows = hosts
    .slice(0, MOST_HOSTS)
    .map((host) => [...ofSlice(String(host.slice)), String(host.index), host.internalIp, externalIpOf(host) ?? '-']);
  const table = codeTable([[...ofSlice('SLICE'), 'HOST', 'INTERNAL IP', 'EXTERNAL IP'], ...rows]);
  const rest = hosts.length - rows.length;
  return rest > 0 ? `${table}\n\n.. and ${rest} more hosts: \`jobctl status ${job}\`` : table;
}

/** `queued resource train-x7-g1` or `slice train-x7-g1`: the resource that is created and deleted. */
const resourceName = (ref: MachineRef): string => machineKind(ref.kind).resourceText(ref);

/** `create queued resource train-x7-g1 (v5litepod-16, spot, us-central1-a)` */
export const createSummary = (plan: MachinePlan): string =>
  `${adoptedName(plan.ref) === undefined ? 'create' : 'take'} ${resourceName(plan.ref)} (${machineKind(plan.ref.kind).planText(plan)}, ${plan.ref.zone})`;

export const deleteSummary = (ref: MachineRef): string =>
  `${adoptedName(ref) === undefined ? 'delete' : 'give back'} ${resourceName(ref)} until it is gone`;

export const mailSummary = ({ name }: MachineRef, { pool, job }: LeaseId, kind: LeaseMessageBody['kind']): string =>
  kind === 'gone'
    ? `tell quota pool ${pool} that ${name} is gone`
    : `ask quota pool ${pool} if the lease of ${job} stands`;
