import { quotaFileText } from '../../test/quota/quota-file-text.js';
import { GENERATION, POD_CPUS, POOL_UNITS } from './jobs.js';

/** Half of the pool is alice's and a quarter bob's; what they leave is lent to whoever comes. */
export const quotaText = (units = POOL_UNITS): string =>
  quotaFileText(
    { [GENERATION]: units, cpu: POD_CPUS },
    { a: { members: ['alice'], share: 0.5 }, b: { members: ['bob'], share: 0.25 } },
  );
