import type { MachinesRequest } from './words.js';

/** `2 machines of 8 h100`, `1 machine without an accelerator` */
export function machinesText({ hosts, accelerator }: Pick<MachinesRequest, 'hosts' | 'accelerator'>): string {
  const each = accelerator === undefined ? 'without an accelerator' : `of ${accelerator.perHost} ${accelerator.type}`;
  return `${hosts} ${hosts === 1 ? 'machine' : 'machines'} ${each}`;
}
