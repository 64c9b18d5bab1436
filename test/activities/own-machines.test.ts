import assert from 'node:assert/strict';
import { ApplicationFailure } from '@temporalio/common';
import { machinesActivities } from '../../activities/own-machines.js';
import { explainError } from '../../cli/terminal/explain-error.js';
import { ExitCode } from '../../cli/terminal/cli-error.js';
import { MachineNotFound, PoolRefused } from '../../client/errors.js';
import type { MachinesInput, MachineVerb } from '../../contract/machines.js';
import { FailureType } from '../../domain/errors.js';
import { unknownPool } from '../../activities/pool-source.js';

type Outside = Parameters<typeof machinesActivities>[0];

const outside = {
  pools: {
    unknown: async (pool: string) => (pool === 'lab' ? undefined : unknownPool(pool, ['lab'])),
  },
  quota: { inForce: async () => ({}) },
  machinesOperator: { release: async () => 'has no claim', look: async () => [] },
} as unknown as Outside;

const machineOf = (name: string) => {
  const number = /\.(\d)$/.exec(name)?.[1];
  const slot = number === undefined ? {} : { slot: { number: Number(number), of: 2, gpus: [] } };
  return { name, address: '10.0.0.3', port: 22, user: 'u', accelerators: {}, ...slot };
};

const release = (more: Partial<MachinesInput>, names: readonly string[] = ['rack-3']): Promise<unknown> => {
  const pools = { ...outside.pools, load: async () => ({ machines: names.map(machineOf) }) };
  return machinesActivities({ ...outside, pools } as unknown as Outside).operateMachines({
    ...{ v: 1, pool: 'lab', verb: 'release', names: ['rack-3'], by: 'ann', claim: 'c' },
    ...more,
  });
};

describe('what an operator sees of a machine', () => {
  it('has the model that was found, and what had to be ended there after a job', async () => {
    const at = Date.UTC(2026, 10, 30, 17);
    const record = {
      failures: 0,
      model: 'NVIDIA H100 80GB HBM3',
      ended: { at, job: 'train-a', text: 'process 42 (python3 serve.py) of user train' },
    };
    const looks = [{ machine: machineOf('rack-3'), record, seen: { kind: 'free' } }];
    const machinesOperator = { release: async () => undefined, look: async () => looks };
    const pools = { ...outside.pools, load: async () => ({ machines: [machineOf('rack-3')] }) };
    const { machines } = await machinesActivities({
      ...outside,
      pools,
      machinesOperator,
    } as unknown as Outside).operateMachines({
      ...{ v: 1, pool: 'lab', verb: 'release', names: ['rack-3'], by: 'ann', claim: 'c' },
    });
    assert.deepEqual(
      machines.map(({ state, model, ended }) => [state, model, ended]),
      [
        [
          ...['free', 'NVIDIA H100 80GB HBM3'],
          'ended after job train-a, 2026-11-30T17:00:00.000Z: process 42 (python3 serve.py) of user train',
        ],
      ],
    );
  });
});

describe('what an operator names of own machines, and is not there', () => {
  const cases: Record<string, { more: Partial<MachinesInput>; type: string; message: RegExp }> = {
    'a machine': {
      more: { names: ['rack-9'] },
      type: FailureType.NotFound,
      message: /^pool lab has no machine rack-9; it has rack-3$/,
    },
    'a pool': {
      more: { pool: 'lib' },
      type: FailureType.NotFound,
      message: /there is no pool 'lib'; the pools are lab/,
    },
    'a claim': { more: {}, type: FailureType.Refused, message: /^nothing was released: rack-3 has no claim$/ },
  };
  for (const [name, { more, type, message }] of Object.entries(cases))
    it(name, () =>
      assert.rejects(
        release(more),
        (error) => error instanceof ApplicationFailure && error.type === type && message.test(error.message),
      ),
    );

  const SLOTS: Record<string, { names: string[]; verb: MachineVerb; hint: string }> = {
    'a machine with slots': {
      ...{ names: ['box'], verb: 'drain' },
      hint: '\n  a machine with slots is named by these: jobctl machines drain box.0 box.1 --pool lab',
    },
    'beside another': {
      ...{ names: ['rack-3', 'box'], verb: 'check' },
      hint: '\n  a machine with slots is named by these: jobctl machines check rack-3 box.0 box.1 --pool lab',
    },
    'beside one that is not there': { names: ['box', 'rack-9'], verb: 'drain', hint: '' },
    'for a verb that takes one': { names: ['box'], verb: 'release', hint: '' },
  };
  for (const [name, { names, verb, hint }] of Object.entries(SLOTS))
    it(`${name} is answered ${hint === '' ? 'without a line' : 'with the line that names its slots'}`, () =>
      assert.rejects(release({ names, verb }, ['rack-3', 'box.0', 'box.1']), (error: Error) =>
        error.message.endsWith(`it has rack-3, box.0, box.1${hint}`),
      ));

  it('exits as docs/cli.md says: 3 for what is not there, 4 for what was refused', () => {
    const codes = [new MachineNotFound('x'), new PoolRefused('lab', 'x')].map((e) => explainError(e, false).exitCode);
    assert.deepEqual(codes, [ExitCode.NotFound, ExitCode.Refused]);
  });
});
