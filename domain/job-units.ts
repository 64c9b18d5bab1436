import { findAccelerator, quotaUnitsOf } from './accelerators.js';
import type { AcceleratorType } from './accelerators.js';
import type { JobSpec } from './job-spec.js';
import type { QuotaUnits } from './units.js';

type Asked = Pick<JobSpec, 'slices'> & { readonly tpu: Pick<JobSpec['tpu'], 'accelerator'> };

/** The job's type. @throws RangeError for a spec that was not resolved. */
export function acceleratorOf(spec: Asked): AcceleratorType {
  const type = findAccelerator(spec.tpu.accelerator);
  if (type === undefined) throw new RangeError(`tpu.accelerator: '${spec.tpu.accelerator}' is no Cloud TPU type`);
  return type;
}

/** What the job asks of its pool: all of its slices. */
export function unitsOfJob(spec: Asked): QuotaUnits {
  const type = acceleratorOf(spec);
  return { [type.generation]: quotaUnitsOf(type) * spec.slices };
}

/** Chips of all slices: for people, never for quota. */
export function chipsOfJob(spec: Asked): number {
  return acceleratorOf(spec).chips * spec.slices;
}

/** `v5litepod-16`, or `2 x v5litepod-16`. */
export function formatSlices(spec: Asked): string {
  return spec.slices === 1 ? spec.tpu.accelerator : `${spec.slices} x ${spec.tpu.accelerator}`;
}
