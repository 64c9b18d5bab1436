import type { Draws } from '../random.js';
import { CLOUD_DEEDS, type DeedDo } from './cloud-deeds.js';
import { HOST_DEEDS } from './host-deeds.js';
import type { DrawnJob } from './jobs.js';
import { POD_DEEDS } from './pod-deeds.js';
import { MACHINE_DEEDS } from './rack/machine-deeds.js';
import { SLICE_DEEDS } from './slice-deeds.js';
import { OWN_DEEDS } from './own-deeds.js';
import type { StackExtras } from './private-stack.js';
import { needsSecondInstallation, SECOND_DEEDS } from './second-deeds.js';
import { VM_DEEDS } from './vm-deeds.js';
import { needsSecondWorker, WORKER_DEEDS } from './worker-deeds.js';

/** How often something is done in a seed, of all kinds together. */
const DEEDS = 18;

const KINDS: Readonly<Record<string, DeedDo>> = {
  ...CLOUD_DEEDS,
  ...SLICE_DEEDS,
  ...HOST_DEEDS,
  ...OWN_DEEDS,
  ...WORKER_DEEDS,
  ...SECOND_DEEDS,
  ...POD_DEEDS,
  ...VM_DEEDS,
  ...MACHINE_DEEDS,
};
export const DEED_KINDS: readonly string[] = Object.keys(KINDS);

export interface PlannedDeed {
  /** After the beginning of the window, ms. */
  readonly at: number;
  readonly kind: string;
  readonly draws: Draws;
}

/** Half of them are drawn; the others take turns from seed to seed, so that a few seeds have met all kinds. */
export function planDeeds(draws: Draws, seed: number, windowMs: number): readonly PlannedDeed[] {
  return Array.from({ length: DEEDS }, (_, index): PlannedDeed => {
    const turn = DEED_KINDS[(seed * DEEDS + index) % DEED_KINDS.length];
    const kind = turn !== undefined && draws.chance(0.5) ? turn : draws.pick(DEED_KINDS);
    return { at: Math.round(draws.next() * windowMs), kind, draws: draws.part(index) };
  }).toSorted((a, b) => a.at - b.at);
}

/** What the stack of a seed has beside the usual: a worker or an installation more costs each seed time. */
export function extrasOf(plan: readonly PlannedDeed[], jobs: readonly Pick<DrawnJob, 'file'>[]): StackExtras {
  const kinds = plan.map(({ kind }) => kind);
  return {
    secondWorker: needsSecondWorker(kinds),
    secondInstallation: needsSecondInstallation(kinds),
    rack: jobs.some(({ file }) => 'machines' in file),
  };
}

/** @throws RangeError for what is no kind */
export function deedOf(kind: string): DeedDo {
  const deed = KINDS[kind];
  if (deed === undefined) throw new RangeError(`chaos: no kind of deed '${kind}'`);
  return deed;
}
