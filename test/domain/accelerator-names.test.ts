import assert from 'node:assert/strict';
import { isModelOf, makerOf } from '../../domain/machine-kinds/machines/words.js';

const TYPES = {
  TPU: 'v2 v3 v4 v4i v5e v5p v5litepod v5lite v5-lite v6e v7x v7 tpu7x tpu-v6e cloud-tpu v4-8 v5litepod-16 trillium',
  NVIDIA:
    'v100 v100s v100-32gb a100 a100-80gb h100 h200 b200 b300 l4 l40s t4 p100 p4 k80 m60 rtx4090 rtx-a6000 gtx1080ti gb200 gh200 titan v8 v56 v20 gpu nvidia-tesla-v100 tesla-v100',
  AMD: 'mi50 mi100 mi250x mi300x mi325x amd-mi300x instinct-mi250 radeon-vii rx7900xtx',
};

describe('names of accelerators', () => {
  for (const [maker, types] of Object.entries(TYPES))
    for (const type of types.split(' ')) it(`${type} is ${maker}'s`, () => assert.equal(makerOf(type), maker));

  const models: readonly [string, string, boolean][] = [
    ['h100', 'NVIDIA H100 80GB HBM3', true],
    ['nvidia-h100-80gb', 'NVIDIA H100 NVL', true],
    ['a100', 'NVIDIA H100 80GB HBM3', false],
    ['a100-80gb', 'NVIDIA A100-SXM4-80GB', true],
    ['a10', 'NVIDIA A100-SXM4-80GB', false],
    ['a10g', 'NVIDIA A10G', true],
    ['v100', 'Tesla V100-SXM2-16GB', true],
    ['k80', 'Tesla K80', true],
    ['t4', 'Tesla T4', true],
    ['l4', 'NVIDIA L40S', false],
    ['l40s', 'NVIDIA L40S', true],
    ['rtx4090', 'NVIDIA GeForce RTX 4090', true],
    ['rtx-4090', 'NVIDIA GeForce RTX 3090', false],
    ['a6000', 'NVIDIA RTX A6000', true],
    ['b200', 'NVIDIA GB200', false],
    ['gb200', 'NVIDIA GB200', true],
    ['titan', 'NVIDIA TITAN RTX', true],
    ['fast', 'NVIDIA H100 80GB HBM3', true],
  ];
  for (const [type, name, want] of models)
    it(`${name} ${want ? 'may be' : 'is no'} ${type}`, () => assert.equal(isModelOf(type, [name]), want));
});
