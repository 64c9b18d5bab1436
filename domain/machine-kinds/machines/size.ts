import type { AskedSize } from '../kind.js';
import { MACHINE, type MachinesRequest } from './words.js';

/** Quota units of a job: its accelerators under their type. Machines without any count one each under `machine`. */
export function sizeOf(
  { hosts, accelerator }: Pick<MachinesRequest, 'hosts' | 'accelerator'>,
  slices: number,
): AskedSize {
  const all = hosts * slices;
  if (accelerator === undefined) return { units: { [MACHINE]: all }, chips: 0, hosts: all };
  const units = accelerator.perHost * all;
  return { units: { [accelerator.type]: units }, chips: units, hosts: all };
}

/** Type of the slice: `h100-16` (all accelerators of the slice), `machine-2`. */
export function machinesType(request: Pick<MachinesRequest, 'hosts' | 'accelerator'>): string {
  const [[type, count] = [MACHINE, 0]] = Object.entries(sizeOf(request, 1).units);
  return `${type}-${count}`;
}
