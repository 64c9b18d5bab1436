/**
 * The Cloud TPU types: chips and hosts of a slice, the unit that the number in its name counts, and its default runtime.
 * `v5e` in Google's prose is `v5litepod` in the API and here. tpu7x is left out: it is sold on GKE and Compute Engine only.
 * Sources (gathered 2026-11): cloud.google.com/tpu/docs v5e, v6e, supported-tpu-configurations, regions-zones;
 * AI-Hypercomputer/xpk system_characteristics.py (2026-06-25); dstack's runtime versions (2026).
 */
export interface AcceleratorType {
  /** The API's name, such as `v5litepod-16`. */
  readonly type: string;
  readonly generation: Generation;
  readonly chips: number;
  /** TPU VMs of one slice, for people and the rehearsal. At run time only the node's networkEndpoints count. */
  readonly hosts: number;
  /** Chips per axis, such as `4x4`. */
  readonly topology: string;
}

export interface GenerationFacts {
  /** Unit of the number in a type's name: TensorCores (two a chip) or chips. Quota counts the same unit. */
  readonly nameCounts: 'cores' | 'chips';
  readonly defaultRuntime: string;
  /** `AcceleratorConfig.type` in the API. */
  readonly apiEnum: string;
}

export const GENERATIONS = ['v2', 'v3', 'v4', 'v5litepod', 'v5p', 'v6e'] as const;
export type Generation = (typeof GENERATIONS)[number];

export const GENERATION_FACTS: Readonly<Record<Generation, GenerationFacts>> = {
  v2: { nameCounts: 'cores', defaultRuntime: 'tpu-ubuntu2204-base', apiEnum: 'V2' },
  v3: { nameCounts: 'cores', defaultRuntime: 'tpu-ubuntu2204-base', apiEnum: 'V3' },
  v4: { nameCounts: 'cores', defaultRuntime: 'tpu-ubuntu2204-base', apiEnum: 'V4' },
  v5litepod: { nameCounts: 'chips', defaultRuntime: 'v2-alpha-tpuv5-lite', apiEnum: 'V5LITE_POD' },
  v5p: { nameCounts: 'cores', defaultRuntime: 'v2-alpha-tpuv5', apiEnum: 'V5P' },
  v6e: { nameCounts: 'chips', defaultRuntime: 'v2-alpha-tpuv6e', apiEnum: 'V6E' },
};

/** From 64 chips on, a v5p slice is made of cubes of 4x4x4 chips, so its type's number is a multiple of 128. */
const CUBE_SIDE = 4;
/** In cubes. Up to 96 all that fit, then two more (AI-Hypercomputer/xpk system_characteristics.py, 2026-06-25). */
const V5P_CUBES = [...Array.from({ length: 96 }, (_, index) => index + 1), 108, 140];
/** Most cubes along one axis: v5p-8576 would be 4x4x268, which Google does not have (ibid.). */
const LONGEST_AXIS = 64;

/** The shape of this many cubes with A <= B <= C and the smallest sum of axes: Google's shape for each size. */
function nearestToCube(cubes: number): readonly [number, number, number] {
  let best: readonly [number, number, number] = [1, 1, cubes];
  for (let a = 1; a ** 3 <= cubes; a += 1)
    for (let b = a; a * b ** 2 <= cubes; b += 1) {
      const c = cubes / (a * b);
      if (Number.isInteger(c) && a + b + c < best[0] + best[1] + best[2]) best = [a, b, c];
    }
  return best;
}

/** [type, chips, hosts, topology], by generation and size. */
const SIZES: Readonly<Record<Generation, readonly (readonly [string, number, number, string])[]>> = {
  v2: [
    ['v2-8', 4, 1, '2x2'],
    ['v2-32', 16, 4, '4x4'],
    ['v2-128', 64, 16, '8x8'],
    ['v2-256', 128, 32, '8x16'],
    ['v2-512', 256, 64, '16x16'],
  ],
  v3: [
    ['v3-8', 4, 1, '2x2'],
    ['v3-32', 16, 4, '4x4'],
    ['v3-64', 32, 8, '4x8'],
    ['v3-128', 64, 16, '8x8'],
    ['v3-256', 128, 32, '8x16'],
    ['v3-512', 256, 64, '16x16'],
    ['v3-1024', 512, 128, '16x32'],
    ['v3-2048', 1024, 256, '32x32'],
  ],
  v4: [
    ['v4-8', 4, 1, '2x2x1'],
    ['v4-16', 8, 2, '2x2x2'],
    ['v4-32', 16, 4, '2x2x4'],
    ['v4-64', 32, 8, '2x4x4'],
    ['v4-128', 64, 16, '4x4x4'],
    ['v4-256', 128, 32, '4x4x8'],
    ['v4-512', 256, 64, '4x8x8'],
    ['v4-1024', 512, 128, '8x8x8'],
    ['v4-1536', 768, 192, '8x8x12'],
    ['v4-2048', 1024, 256, '8x8x16'],
    ['v4-4096', 2048, 512, '8x16x16'],
  ],
  v5litepod: [
    ['v5litepod-1', 1, 1, '1x1'],
    ['v5litepod-4', 4, 1, '2x2'],
    ['v5litepod-8', 8, 1, '2x4'],
    ['v5litepod-16', 16, 4, '4x4'],
    ['v5litepod-32', 32, 8, '4x8'],
    ['v5litepod-64', 64, 16, '8x8'],
    ['v5litepod-128', 128, 32, '8x16'],
    ['v5litepod-256', 256, 64, '16x16'],
  ],
  v5p: [
    ['v5p-8', 4, 1, '2x2x1'],
    ['v5p-16', 8, 2, '2x2x2'],
    ['v5p-32', 16, 4, '2x2x4'],
    ['v5p-64', 32, 8, '2x4x4'],
    ...V5P_CUBES.map((cubes) => ({ cubes, shape: nearestToCube(cubes) }))
      .filter(({ shape }) => shape[2] <= LONGEST_AXIS)
      .map(({ cubes, shape }): readonly [string, number, number, string] => [
        `v5p-${cubes * 128}`,
        cubes * 64,
        cubes * 16,
        shape.map((side) => side * CUBE_SIDE).join('x'),
      ]),
  ],
  v6e: [
    ['v6e-1', 1, 1, '1x1'],
    ['v6e-4', 4, 1, '2x2'],
    ['v6e-8', 8, 1, '2x4'],
    ['v6e-16', 16, 4, '4x4'],
    ['v6e-32', 32, 8, '4x8'],
    ['v6e-64', 64, 16, '8x8'],
    ['v6e-128', 128, 32, '8x16'],
    ['v6e-256', 256, 64, '16x16'],
  ],
};

export const ACCELERATOR_TYPES: readonly AcceleratorType[] = GENERATIONS.flatMap((generation) =>
  SIZES[generation].map(([type, chips, hosts, topology]) => ({ type, generation, chips, hosts, topology })),
);

const BY_NAME = new Map(ACCELERATOR_TYPES.map((accelerator) => [accelerator.type, accelerator]));

/** The type with exactly this name, or undefined. */
export function findAccelerator(name: string): AcceleratorType | undefined {
  return BY_NAME.get(name);
}

/** Chips of `v5litepod-16` or `2 x v5litepod-16` (see `formatSlices`), or undefined for a type that is not Cloud TPU's. */
export function chipsOfSlices(slices: string): number | undefined {
  const [, count = '1', type = ''] = /^(?:(\d+) x )?(.+)$/.exec(slices) ?? [];
  const chips = findAccelerator(type)?.chips;
  return chips === undefined ? undefined : Number(count) * chips;
}

/** The number in a type's name, which quota counts (docs/design.md, "Units"): `v4-8` is 8 (cores), `v5litepod-16` 16 (chips). */
export function quotaUnitsOf(accelerator: AcceleratorType): number {
  return Number(accelerator.type.slice(accelerator.type.lastIndexOf('-') + 1));
}

/** Chips in so many quota units of a type, for people. Undefined for a type that is not Cloud TPU's: files may have any. */
export function chipsOfUnits(type: string, units: number): number | undefined {
  if (!Object.hasOwn(GENERATION_FACTS, type)) return undefined;
  return GENERATION_FACTS[type as Generation].nameCounts === 'cores' ? units / CORES_PER_CHIP : units;
}
const CORES_PER_CHIP = 2;
