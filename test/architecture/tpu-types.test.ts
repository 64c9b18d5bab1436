import assert from 'node:assert/strict';
import { ACCELERATOR_TYPES, findAccelerator, GENERATION_FACTS, GENERATIONS } from '../../domain/accelerators.js';
import * as rehearsed from '../../rehearsal/tpu/accelerators.js';

/** Two tables, so that neither package needs the other (docs/adr/0031). A type is added to both. */
describe('the TPU types of jobctl and those that the rehearsal offers', () => {
  it('are the same, with the same chips, hosts and topologies', () => {
    assert.deepEqual(rehearsed.ACCELERATOR_TYPES, ACCELERATOR_TYPES);
  });

  /** Of Google's pages (v5p, 2026) and of xpk: the rule was not made from the first, and the others have no smaller neighbour. */
  const V5P: Readonly<Record<string, readonly [chips: number, hosts: number, topology: string]>> = {
    'v5p-128': [64, 16, '4x4x4'],
    'v5p-384': [192, 48, '4x4x12'],
    'v5p-512': [256, 64, '4x8x8'],
    'v5p-640': [320, 80, '4x4x20'],
    'v5p-768': [384, 96, '4x8x12'],
    'v5p-896': [448, 112, '4x4x28'],
    'v5p-1152': [576, 144, '4x12x12'],
    'v5p-2048': [1024, 256, '8x8x16'],
    'v5p-3072': [1536, 384, '8x12x16'],
    'v5p-4096': [2048, 512, '8x16x16'],
    'v5p-6912': [3456, 864, '12x12x24'],
    'v5p-7808': [3904, 976, '4x4x244'],
    'v5p-12288': [6144, 1536, '16x16x24'],
    'v5p-13824': [6912, 1728, '12x24x24'],
    'v5p-17920': [8960, 2240, '16x20x28'],
  };
  it('of v5p are those that the rule makes, and no others', () => {
    for (const [type, [chips, hosts, topology]] of Object.entries(V5P))
      assert.deepEqual(findAccelerator(type), { type, generation: 'v5p', chips, hosts, topology });
    for (const none of ['v5p-192', 'v5p-8576', 'v5p-9088', 'v5p-12416', 'v5p-24576'])
      assert.equal(findAccelerator(none), undefined, none);
    assert.equal(ACCELERATOR_TYPES.filter(({ generation }) => generation === 'v5p').length, 4 + 90 + 2);
  });

  it('have the same default runtime and the same name in the API', () => {
    assert.deepEqual(rehearsed.GENERATIONS, GENERATIONS);
    for (const generation of GENERATIONS) {
      const { defaultRuntime, apiEnum } = GENERATION_FACTS[generation];
      assert.deepEqual(rehearsed.GENERATION_FACTS[generation], { defaultRuntime, apiEnum }, generation);
    }
  });
});
