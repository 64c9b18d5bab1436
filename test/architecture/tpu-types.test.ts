import assert from 'node:assert/strict';
import { ACCELERATOR_TYPES, GENERATION_FACTS, GENERATIONS } from '../../domain/accelerators.js';
import * as rehearsed from '../../rehearsal/tpu/accelerators.js';

/** Two tables, so that neither package needs the other (docs/adr/0031). A type is added to both. */
describe('the TPU types of jobctl and those that the rehearsal offers', () => {
  it('are the same, with the same chips, hosts and topologies', () => {
    assert.deepEqual(rehearsed.ACCELERATOR_TYPES, ACCELERATOR_TYPES);
  });

  it('have the same default runtime and the same name in the API', () => {
    assert.deepEqual(rehearsed.GENERATIONS, GENERATIONS);
    for (const generation of GENERATIONS) {
      const { defaultRuntime, apiEnum } = GENERATION_FACTS[generation];
      assert.deepEqual(rehearsed.GENERATION_FACTS[generation], { defaultRuntime, apiEnum }, generation);
    }
  });
});
