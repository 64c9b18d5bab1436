/**
 * The meaning of an accelerator's name in a pool file: the maker of its devices, and the name that a GPU of the model gives
 * itself. Names of TPUs: https://cloud.google.com/tpu/docs/system-architecture-tpu-vm (2026-11); of AMD's: `mi300x`, `mi250`.
 */
export type AcceleratorMaker = 'TPU' | 'AMD' | 'NVIDIA';

/** Matches whole generations, because `v100` is a GPU. */
const TPU = /^(cloud-)?(tpu-?.*|(v2|v3|v4i?|v5e|v5p|v5-?lite(-?pod)?|v6e?|v7x?)(-.*)?|trillium|ironwood)$/;
const AMD = /^(amd|instinct|radeon|mi-?\d|rx-?\d)/;

/** A name that is neither a TPU's nor AMD's counts as NVIDIA's, which has the most models. */
export function makerOf(type: string): AcceleratorMaker {
  if (TPU.test(type)) return 'TPU';
  return AMD.test(type) ? 'AMD' : 'NVIDIA';
}

/** The model in a type's name: `h100` in `nvidia-h100-80gb`, the whole of `rtx-4090`. Other names contain no model. */
const MODEL = /(?:^|-)((?:gb|gh|rtx|gtx|rtx-?a|[abhklmptv])-?\d{1,5}(?!\d{0,5}gb)(?:s(?![a-z])|ti|super|ada)?)/;

/**
 * Returns whether GPUs with these names in `nvidia-smi -L` may be of the declared type.
 * @param names such as `NVIDIA H100 80GB HBM3`, `Tesla V100-SXM2-16GB`
 */
export function isModelOf(type: string, names: readonly string[]): boolean {
  const model = MODEL.exec(type)?.[1];
  if (model === undefined || names.length === 0) return true;
  // nvidia-smi writes `rtx4090` as `RTX 4090`.
  const words = model.match(/[a-z]+|\d+/g) ?? [];
  const written = new RegExp(`(^|[^a-z0-9])${words.join('[ -]*')}(?![a-z]?\\d|s\\b)`, 'i');
  return names.some((name) => written.test(name));
}
