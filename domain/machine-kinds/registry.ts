import { cloudTpu } from './cloud-tpu/index.js';
import type { CloudTpuPlan, CloudTpuRef, CloudTpuSection } from './cloud-tpu/words.js';
import type { MachineKind } from './kind.js';

/**
 * The kinds of machines that a slice can be made of (docs/adr/0036). A new kind is a line here and a line in `KINDS`; the
 * compiler then names every other place that the kind must fill (docs/machines.md).
 */
export interface MachineTypes {
  readonly 'cloud-tpu': { readonly ref: CloudTpuRef; readonly plan: CloudTpuPlan; readonly request: CloudTpuSection };
}

type KindOf<Types extends MachineTypes[keyof MachineTypes]> = MachineKind<
  Types['ref'],
  Types['plan'],
  Types['request']
>;

export const KINDS: { readonly [K in keyof MachineTypes]: KindOf<MachineTypes[K]> } = {
  'cloud-tpu': cloudTpu,
};

/** The machines that a job asks for, under the section of the job file of their kind. */
export type MachineRequest = MachineTypes[keyof MachineTypes]['request'];
