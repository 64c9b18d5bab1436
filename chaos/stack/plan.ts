import type { Draws } from '../random.js';
import { CLOUD_DEEDS, type DeedDo, STORE_DEEDS } from './cloud-deeds.js';
import { GROUP_DEEDS, RECEIVER_DEEDS } from './group-deeds.js';
import { HOST_DEEDS } from './host-deeds.js';
import type { DrawnJob } from './jobs.js';
import { POD_DEEDS } from './pod-deeds.js';
import { MACHINE_DEEDS } from './rack/machine-deeds.js';
import { SLICE_DEEDS } from './slice-deeds.js';
import { OWN_DEEDS } from './own-deeds.js';
import type { StackExtras } from './private-stack.js';
import type { JobKind } from './sections.js';
import { needsSecondInstallation, SECOND_DEEDS } from './second-deeds.js';
import { VM_DEEDS } from './vm-deeds.js';
import { needsSecondWorker, WORKER_DEEDS } from './worker-deeds.js';

/** Number of deeds in a seed, of all kinds together. */
const DEEDS = 20;

/** Deeds that need jobs of one kind. */
const OF_KIND: Readonly<Record<JobKind, Readonly<Record<string, DeedDo>>>> = {
  tpu: { ...CLOUD_DEEDS, ...SLICE_DEEDS },
  pods: POD_DEEDS,
  vms: VM_DEEDS,
  machines: MACHINE_DEEDS,
};
const OF_ALL: Readonly<Record<string, DeedDo>> = {
  ...STORE_DEEDS,
  ...HOST_DEEDS,
  ...GROUP_DEEDS,
  ...RECEIVER_DEEDS,
  ...OWN_DEEDS,
  ...WORKER_DEEDS,
  ...SECOND_DEEDS,
};
const KINDS: Readonly<Record<string, DeedDo>> = {
  ...OF_ALL,
  ...OF_KIND.tpu,
  ...OF_KIND.pods,
  ...OF_KIND.vms,
  ...OF_KIND.machines,
};
/** @param of kind of all jobs; absent: jobs of each kind */
export const deedKinds = (of?: JobKind): readonly string[] =>
  Object.keys(of === undefined ? KINDS : { ...OF_ALL, ...OF_KIND[of] });

export interface PlannedDeed {
  /** Time after the beginning of the window, ms. */
  readonly at: number;
  readonly kind: string;
  readonly draws: Draws;
}

/** Half of the deeds are drawn. The others take turns from seed to seed, so that a few seeds include all kinds. */
export function planDeeds(draws: Draws, seed: number, windowMs: number, of?: JobKind): readonly PlannedDeed[] {
  const kinds = deedKinds(of);
  return Array.from({ length: DEEDS }, (_, index): PlannedDeed => {
    const turn = kinds[(seed * DEEDS + index) % kinds.length];
    const kind = turn !== undefined && draws.chance(0.5) ? turn : draws.pick(kinds);
    return { at: Math.round(draws.next() * windowMs), kind, draws: draws.part(index) };
  }).toSorted((a, b) => a.at - b.at);
}

/** Additions that the plan and the jobs of a seed need. A further worker or installation would cost every seed time. */
export function extrasOf(plan: readonly PlannedDeed[], jobs: readonly Pick<DrawnJob, 'file'>[]): StackExtras {
  const kinds = plan.map(({ kind }) => kind);
  return {
    secondWorker: needsSecondWorker(kinds),
    secondInstallation: needsSecondInstallation(kinds),
    rack: jobs.some(({ file }) => 'machines' in file),
  };
}

/** @throws RangeError for an unknown kind */
export function deedOf(kind: string): DeedDo {
  const deed = KINDS[kind];
  if (deed === undefined) throw new RangeError(`chaos: no kind of deed '${kind}'`);
  return deed;
}
