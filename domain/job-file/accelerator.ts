import { ACCELERATOR_TYPES, findAccelerator, GENERATION_FACTS, GENERATIONS } from '../accelerators.js';
import type { AcceleratorType, Generation } from '../accelerators.js';
import { nearestWord } from '../nearest-word.js';

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
  'Google sells tpu7x (Ironwood) by GKE alone: write section kubernetes in place of tpu, see docs/kubernetes.md';

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
