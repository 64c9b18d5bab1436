import { findAccelerator, quotaUnitsOf } from './accelerators.js';
import type { JobSpec } from './job-spec.js';
import type { QuotaUnits } from './units.js';

/** What the whole gang asks of its pool. @throws RangeError for a type that `resolveJob` would have refused. */
export function demandUnits({ tpu, slices }: Pick<JobSpec, 'tpu' | 'slices'>): QuotaUnits {
  const accelerator = findAccelerator(tpu.accelerator);
  if (!accelerator) throw new RangeError(`accelerator: '${tpu.accelerator}' is no Cloud TPU type`);
  return { [accelerator.generation]: quotaUnitsOf(accelerator) * slices };
}
