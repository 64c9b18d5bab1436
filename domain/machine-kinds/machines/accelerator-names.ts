/**
 * What the name of an accelerator in a pool file says: whose devices they are, and how a GPU of that model calls itself.
 * Names of TPUs: https://cloud.google.com/tpu/docs/system-architecture-tpu-vm (2026-11); of AMD's: `mi300x`, `mi250`.
 */
export type AcceleratorMaker = 'TPU' | 'AMD' | 'NVIDIA';

/** Each generation whole: `v100` is a GPU. */
const TPU = /^(cloud-)?(tpu-?.*|(v2|v3|v4i?|v5e|v5p|v5-?lite(-?pod)?|v6e?|v7x?)(-.*)?|trillium|ironwood)$/;
const AMD = /^(amd|instinct|radeon|mi-?\d|rx-?\d)/;

/** A name that is no TPU's and none of AMD's is NVIDIA's: of its models there are the most. */
export function makerOf(type: string): AcceleratorMaker {
  if (TPU.test(type)) return 'TPU';
  return AMD.test(type) ? 'AMD' : 'NVIDIA';
}

/** The model in a type's name: `h100` in `nvidia-h100-80gb`, `rtx-4090` whole. A type that is named otherwise says no model. */
const MODEL = /(?:^|-)((?:gb|gh|rtx|gtx|rtx-?a|[abhklmptv])-?\d{1,5}(?!\d{0,5}gb)(?:s(?![a-z])|ti|super|ada)?)/;

/**
 * Whether GPUs that `nvidia-smi -L` calls so may be of the declared type.
 * @param names such as `NVIDIA H100 80GB HBM3`, `Tesla V100-SXM2-16GB`
 */
export function isModelOf(type: string, names: readonly string[]): boolean {
  const model = MODEL.exec(type)?.[1];
  if (model === undefined || names.length === 0) return true;
  // `rtx4090` is `RTX 4090` there.
  const words = model.match(/[a-z]+|\d+/g) ?? [];
  const written = new RegExp(`(^|[^a-z0-9])${words.join('[ -]*')}(?![a-z]?\\d|s\\b)`, 'i');
  return names.some((name) => written.test(name));
}
