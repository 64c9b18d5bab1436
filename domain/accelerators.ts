import { nearestWord } from './nearest-word.js';

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

interface GenerationFacts {
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
/** Sizes of v5p slices in cubes: all up to 96, then two more (AI-Hypercomputer/xpk system_characteristics.py, 2026-06-25). */
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

/** Chips in a number of quota units, for people. Undefined for a type that is not Cloud TPU's: files may have any. */
export function chipsOfUnits(type: string, units: number): number | undefined {
  if (!Object.hasOwn(GENERATION_FACTS, type)) return undefined;
  return GENERATION_FACTS[type as Generation].nameCounts === 'cores' ? units / CORES_PER_CHIP : units;
}
const CORES_PER_CHIP = 2;

/** Names of generations that Google's prose and others use, and that the API spells otherwise. */
const GENERATION_ALIASES: Readonly<Record<string, Generation>> = { v5e: 'v5litepod', v5lite: 'v5litepod' };

/** The API's word for a generation: `v5e` is `v5litepod`. Any other word is returned as it is. */
export function canonicalGeneration(name: string): string {
  const word = name.toLowerCase();
  return Object.hasOwn(GENERATION_ALIASES, word) ? (GENERATION_ALIASES[word] ?? word) : word;
}

/** The type that a name in a job file means: `v5e-16` and `tpu-v5litepod-16` are `v5litepod-16`. */
export function acceleratorNamed(name: string): AcceleratorType | undefined {
  return findAccelerator(canonicalName(name));
}

/** The type that a generation and a topology mean together, as the API and gcloud's `--type` and `--topology` take them. */
export function acceleratorOfTopology(generation: string, topology: string): AcceleratorType | undefined {
  const name = canonicalGeneration(generation.trim());
  const types = ACCELERATOR_TYPES.filter((accelerator) => accelerator.generation === name);
  return types.find((type) => type.topology === topology) ?? types.find((type) => hasTopology(type, topology));
}

/** Generations whose larger slices come in several shapes (cloud.google.com/tpu/docs/types-topologies, v5e, 2026). */
const SHAPED: readonly Generation[] = ['v4', 'v5p'];
/** Edge of the cube, in chips, that such slices are made of. */
const CUBE = 4;

/**
 * Returns whether slices of `type` can have that topology: the usual one, or for v4 and v5p another AxBxC of cubes with the same
 * number of chips and A <= B <= C, which may end in _twisted or _untwisted.
 */
export function hasTopology(type: AcceleratorType, topology: string): boolean {
  const [shape = '', variant] = topology.split('_');
  const isVariant = variant === 'twisted' || variant === 'untwisted';
  if (variant === undefined && shape === type.topology) return true;
  if (!SHAPED.includes(type.generation) || !/^\d+x\d+x\d+$/.test(shape)) return false;
  const axes = shape.split('x').map(Number);
  const isOfCubes = axes.every((axis, index) => axis > 0 && axis % CUBE === 0 && axis >= (axes[index - 1] ?? 0));
  const chips = axes.reduce((product, axis) => product * axis, 1);
  return isOfCubes && chips === type.chips && (variant === undefined || isVariant);
}

const MOST_SHOWN = 16;

/** The usual topologies of a generation, for a message. */
export function topologiesOf(generation: string): string {
  const name = canonicalGeneration(generation.trim());
  const types = ACCELERATOR_TYPES.filter((type) => type.generation === name);
  const shown = types.slice(0, MOST_SHOWN).map(({ type, topology }) => `${topology} (${type})`);
  return `usual: ${shown.join(', ')}${types.length > MOST_SHOWN ? ' ..' : ''}`;
}

/** Hint for a topology that slices of `type` do not have. */
export function topologyHint({ type, generation, chips, topology }: AcceleratorType): string {
  const usual = `${type} has ${chips} chips: ${topology} is the usual one`;
  if (!SHAPED.includes(generation) || chips < CUBE ** 3) return `${usual}, and the only one`;
  return `${usual}, others are AxBxC, multiples of ${CUBE}, A <= B <= C`;
}

function canonicalName(name: string): string {
  const word = name.trim().toLowerCase().replace(/^tpu-/, '');
  const dash = word.lastIndexOf('-');
  return dash === -1 ? word : `${canonicalGeneration(word.slice(0, dash))}${word.slice(dash)}`;
}

/** docs.cloud.google.com/tpu/docs/queued-resources (2026): "For Ironwood (TPU7x), you must use Google Kubernetes Engine". */
const BY_GKE =
  'Google sells tpu7x (Ironwood) by GKE alone, and jobctl knows none of its sizes yet: take another generation';

/** The generation has some ninety sizes (domain/accelerators.ts). */
const V5P_SIZES =
  'v5p-8, v5p-16, v5p-32, v5p-64, multiples of 128 (v5p-128, v5p-256 ..) up to v5p-12288, v5p-13824, v5p-17920';

/** Hint for a name that is not a type: the nearest types with their hosts, and all of the generation. */
export function acceleratorHint(name: string): string {
  const word = canonicalName(name);
  const generation = nearestGeneration(word);
  const all = `allowed: ${GENERATIONS.join(', ')}, each with its sizes, such as v5litepod-16`;
  if (/^(tpu)?-?v?7x/.test(word)) return `${BY_GKE}\n${all}`;
  if (generation === undefined) return all;
  const types = ACCELERATOR_TYPES.filter((accelerator) => accelerator.generation === generation);
  const size = Number(/-(\d+)$/.exec(word)?.[1] ?? NaN);
  const lines = [`allowed: ${generation === 'v5p' ? V5P_SIZES : types.map(({ type }) => type).join(', ')}`];
  const nearest = [types.findLast((type) => sizeOf(type) <= size), types.find((type) => sizeOf(type) >= size)];
  const shown = [...new Set(nearest.filter((type) => type !== undefined))].map(withHosts);
  if (shown.length > 0) lines.unshift(`the nearest ${shown.length === 1 ? 'is' : 'are'} ${shown.join(' and ')}`);
  const { nameCounts } = GENERATION_FACTS[generation];
  if (nameCounts === 'cores') lines.push(`the number counts TensorCores: two a chip`);
  return lines.join('\n');
}

function nearestGeneration(word: string): Generation | undefined {
  const stem = word.replace(/-\d*$/, '');
  if (/^v\d+x/.test(stem)) return undefined;
  const nearest = nearestWord(stem, [...GENERATIONS.filter((generation) => generation.length > 2), 'v5e']);
  const found = GENERATIONS.find((generation) => generation === stem) ?? (nearest && canonicalGeneration(nearest));
  return GENERATIONS.find((generation) => generation === found);
}

const sizeOf = ({ type }: AcceleratorType): number => Number(type.slice(type.lastIndexOf('-') + 1));
const withHosts = ({ type, hosts }: AcceleratorType): string => `${type} (${hosts} ${hosts === 1 ? 'host' : 'hosts'})`;
