import { quotaFileText } from '../../test/quota/quota-file-text.js';
import { GENERATION, POD_CPUS, POOL_UNITS, RACK_ACCELERATOR, RACK_SIZE, VM_GPU, VM_UNITS } from './sections.js';

/** Half of the pool is alice's and a quarter bob's; units that they do not use are lent to anybody. */
export const quotaText = (units = POOL_UNITS): string =>
  quotaFileText(
    {
      ...{ [GENERATION]: units, cpu: POD_CPUS, [VM_GPU]: VM_UNITS },
      ...{ machine: RACK_SIZE.plain, [RACK_ACCELERATOR]: RACK_SIZE[RACK_ACCELERATOR] },
    },
    { a: { members: ['alice'], share: 0.5 }, b: { members: ['bob'], share: 0.25 } },
  );
