/**
 * The Cloud TPU types that the rehearsal offers. The table belongs to the rehearsal, which imports nothing of jobctl
 * (docs/adr/0031); test/architecture/tpu-types.test.ts holds it equal to jobctl's own.
 * `v5e` in Google's prose is `v5litepod` in the API. tpu7x is absent: it is sold on GKE and Compute Engine only.
 * Sources (2026-11): cloud.google.com/tpu/docs v5e, v6e, supported-tpu-configurations, regions-zones.
 */
export interface AcceleratorType {
  /** The name in the API, such as `v5litepod-16`. */
  readonly type: string;
  readonly generation: Generation;
  readonly chips: number;
  /** TPU VMs of one slice. */
  readonly hosts: number;
  /** Chips per axis, such as `4x4`. */
  readonly topology: string;
}

export interface GenerationFacts {
  readonly defaultRuntime: string;
  /** `AcceleratorConfig.type` in the API. */
  readonly apiEnum: string;
}

export const GENERATIONS = ['v2', 'v3', 'v4', 'v5litepod', 'v5p', 'v6e'] as const;
export type Generation = (typeof GENERATIONS)[number];

export const GENERATION_FACTS: Readonly<Record<Generation, GenerationFacts>> = {
  v2: { apiEnum: 'V2', defaultRuntime: 'tpu-ubuntu2204-base' },
  v3: { apiEnum: 'V3', defaultRuntime: 'tpu-ubuntu2204-base' },
  v4: { apiEnum: 'V4', defaultRuntime: 'tpu-ubuntu2204-base' },
  v5litepod: { apiEnum: 'V5LITE_POD', defaultRuntime: 'v2-alpha-tpuv5-lite' },
  v5p: { apiEnum: 'V5P', defaultRuntime: 'v2-alpha-tpuv5' },
  v6e: { apiEnum: 'V6E', defaultRuntime: 'v2-alpha-tpuv6e' },
};

/** Side of a v5p cube. From 64 chips on, v5p consists of cubes of 4x4x4 chips, so its type's number is a multiple of 128. */
const CUBE_SIDE = 4;
/** Numbers of cubes: up to 96 all that fit, then two more (AI-Hypercomputer/xpk system_characteristics.py, 2026-06-25). */
const V5P_CUBES = [...Array.from({ length: 96 }, (_, index) => index + 1), 108, 140];
/** Most cubes along one axis: v5p-8576 would be 4x4x268, and Google does not offer it (ibid.). */
const LONGEST_AXIS = 64;

/** The shape A <= B <= C of this many cubes whose axes have the smallest sum: Google's own shape of each size. */
function nearestToCube(cubes: number): readonly [number, number, number] {
  let best: readonly [number, number, number] = [1, 1, cubes];
  for (let a = 1; a ** 3 <= cubes; a += 1)
    for (let b = a; a * b ** 2 <= cubes; b += 1) {
      const c = cubes / (a * b);
      if (Number.isInteger(c) && a + b + c < best[0] + best[1] + best[2]) best = [a, b, c];
    }
  return best;
}

type Size = readonly [number: string, topology: string, hosts: number];

/** The number in the type's name, its topology and its hosts. The topology gives the number of chips. */
const SIZES: Readonly<Record<Generation, readonly Size[]>> = {
  v2: [
    ['8', '2x2', 1],
    ['32', '4x4', 4],
    ['128', '8x8', 16],
    ['256', '8x16', 32],
    ['512', '16x16', 64],
  ],
  v3: [
    ['8', '2x2', 1],
    ['32', '4x4', 4],
    ['64', '4x8', 8],
    ['128', '8x8', 16],
    ['256', '8x16', 32],
    ['512', '16x16', 64],
    ['1024', '16x32', 128],
    ['2048', '32x32', 256],
  ],
  v4: [
    ['8', '2x2x1', 1],
    ['16', '2x2x2', 2],
    ['32', '2x2x4', 4],
    ['64', '2x4x4', 8],
    ['128', '4x4x4', 16],
    ['256', '4x4x8', 32],
    ['512', '4x8x8', 64],
    ['1024', '8x8x8', 128],
    ['1536', '8x8x12', 192],
    ['2048', '8x8x16', 256],
    ['4096', '8x16x16', 512],
  ],
  v5litepod: [
    ['1', '1x1', 1],
    ['4', '2x2', 1],
    ['8', '2x4', 1],
    ['16', '4x4', 4],
    ['32', '4x8', 8],
    ['64', '8x8', 16],
    ['128', '8x16', 32],
    ['256', '16x16', 64],
  ],
  v5p: [
    ['8', '2x2x1', 1],
    ['16', '2x2x2', 2],
    ['32', '2x2x4', 4],
    ['64', '2x4x4', 8],
    ...V5P_CUBES.map((cubes) => ({ cubes, shape: nearestToCube(cubes) }))
      .filter(({ shape }) => shape[2] <= LONGEST_AXIS)
      .map(({ cubes, shape }): Size => [
        String(cubes * 128),
        shape.map((side) => side * CUBE_SIDE).join('x'),
        cubes * 16,
      ]),
  ],
  v6e: [
    ['1', '1x1', 1],
    ['4', '2x2', 1],
    ['8', '2x4', 1],
    ['16', '4x4', 4],
    ['32', '4x8', 8],
    ['64', '8x8', 16],
    ['128', '8x16', 32],
    ['256', '16x16', 64],
  ],
};

export const ACCELERATOR_TYPES: readonly AcceleratorType[] = GENERATIONS.flatMap((generation) =>
  SIZES[generation].map(([number, topology, hosts]) => ({
    type: `${generation}-${number}`,
    generation,
    chips: topology.split('x').reduce((chips, axis) => chips * Number(axis), 1),
    hosts,
    topology,
  })),
);

const BY_NAME = new Map(ACCELERATOR_TYPES.map((accelerator) => [accelerator.type, accelerator]));

/** Returns the type with exactly this name, or undefined. */
export const findAccelerator = (name: string): AcceleratorType | undefined => BY_NAME.get(name);
