import assert from 'node:assert/strict';
import type { ActivateInput } from '@temporalio/workflow';
import { EARLY_QUERY, inItsTurn } from '../../contract/early-query.js';
import { interceptors } from '../../workflows/early-query.js';

/** An activation: its jobs, the length of the history that it knows, and what came with the event that began its task. */
type Step = readonly [jobs: readonly string[], length: number, task: { readonly at: number; readonly bytes: number }];

/** How many of the activations reach the workflow. */
function given(steps: readonly Step[]): number {
  const [{ activate } = {}] = interceptors().internals ?? [];
  let passed = 0;
  for (const [variants, historyLength, { at, bytes }] of steps) {
    const jobs = variants.map((variant) => ({ variant, [variant]: {} }));
    const timestamp = { seconds: BigInt(Math.floor(at)), nanos: Math.round((at % 1) * 1e9) };
    const activation = { jobs, historyLength, timestamp, historySizeBytes: BigInt(bytes) };
    try {
      activate?.({ activation, batchIndex: 0 } as unknown as ActivateInput, () => void (passed += 1));
    } catch (error) {
      assert.equal((error as Error).message, EARLY_QUERY);
      return passed;
    }
  }
  return passed;
}

describe('an activation for which no workflow task has begun', () => {
  const FIRST: Step = [['initializeWorkflow'], 3, { at: 10.5, bytes: 900 }];
  const EARLY: Readonly<Record<string, readonly Step[]>> = {
    'a signal behind the last task': [FIRST, [['signalWorkflow'], 6, { at: 10.5, bytes: 900 }]],
    'a timer behind the last task': [FIRST, [['fireTimer'], 7, { at: 10.5, bytes: 900 }]],
    'also after a query of its own': [
      FIRST,
      [['queryWorkflow'], 3, { at: 10.5, bytes: 900 }],
      [['signalWorkflow'], 6, { at: 10.5, bytes: 900 }],
    ],
  };
  for (const [name, steps] of Object.entries(EARLY))
    it(`is refused: ${name}`, () => assert.equal(given(steps), steps.length - 1));

  const IN_TURN: Readonly<Record<string, readonly Step[]>> = {
    'the next task': [FIRST, [['signalWorkflow'], 7, { at: 10.6, bytes: 1200 }]],
    'the next task, after the clock of the server went back': [
      FIRST,
      [['signalWorkflow'], 7, { at: 10.5, bytes: 1200 }],
    ],
    'what follows in the same task, as a cancelled activity does': [
      FIRST,
      [['resolveActivity'], 3, { at: 10.5, bytes: 900 }],
    ],
    'a task of a server that skips time and tells no size': [
      [['initializeWorkflow'], 3, { at: 10, bytes: 0 }],
      [['fireTimer'], 7, { at: 10, bytes: 0 }],
    ],
    'queries, however often': [
      FIRST,
      [['queryWorkflow'], 6, { at: 10.5, bytes: 900 }],
      [['queryWorkflow'], 9, { at: 10.5, bytes: 900 }],
    ],
  };
  for (const [name, steps] of Object.entries(IN_TURN))
    it(`is not ${name}`, () => assert.equal(given(steps), steps.length));
});

describe('a query that came before its turn', () => {
  const atOnce = async (): Promise<void> => {};
  const failing = (errors: Error[]) => async (): Promise<string> => {
    const error = errors.shift();
    if (error !== undefined) throw error;
    return 'answer';
  };
  it('is made again, whatever the SDK wraps its failure in', async () => {
    const wrapped = new Error('Failed to query Workflow', { cause: new Error(`3 INVALID_ARGUMENT: ${EARLY_QUERY}`) });
    assert.equal(await inItsTurn(failing([wrapped, new Error(EARLY_QUERY)]), atOnce), 'answer');
  });
  it('is not made again for another failure', () =>
    assert.rejects(inItsTurn(failing([new Error('no such query')]), atOnce), /no such query/));
  it('fails in the end', () =>
    assert.rejects(
      inItsTurn(failing(Array.from({ length: 9 }, () => new Error(EARLY_QUERY))), atOnce),
      new RegExp(EARLY_QUERY),
    ));
});
