import assert from 'node:assert/strict';
import type { Client } from '@temporalio/client';
import { NoWorkerAnswers, TemporalUnreachable } from '../../client/errors.js';
import { TemporalCalls } from '../../client/temporal-calls.js';
import { explainRefusal } from '../../cloud/temporal/explain-refusal.js';

/** As the SDK throws it. */
const answered = (code: number, details: string): Error =>
  Object.assign(new Error('Failed to query Workflow'), {
    cause: Object.assign(new Error(`${code}`), { code, details }),
  });

describe('what the answer of a Temporal server means', () => {
  const cases: Record<string, [Error, string | undefined]> = {
    'the server was killed in the middle of a call': [answered(1, 'Call cancelled'), 'unreachable'],
    'nothing listens there': [answered(14, 'connect ECONNREFUSED'), 'unreachable'],
    'no answer in time': [answered(4, 'Deadline exceeded'), 'unreachable'],
    'no rights': [answered(7, 'Request unauthorized.'), 'refused'],
    'something about the call itself': [answered(9, 'workflow is not ready'), undefined],
  };
  for (const [name, [error, kind]] of Object.entries(cases))
    it(name, () => assert.equal(explainRefusal(error, 'default')?.kind, kind));
});

it('a query for which no worker has asked for a while says so, and that Temporal is there', async () => {
  const connection = { withDeadline: (_: number, call: () => Promise<unknown>) => call() };
  const calls = new TemporalCalls({ connection, options: { namespace: 'ml' } } as unknown as Client, 'Temporal at A');
  const query = () => Promise.reject(answered(9, 'no poller seen for task queue recently, worker may be down'));
  await assert.rejects(calls.bounded(query), (error: Error) => {
    assert.ok(error instanceof NoWorkerAnswers && error.isTemporalThere);
    assert.equal(error.message, 'Temporal at A answers, and no worker does');
    return true;
  });
});

describe('a question that the server lost', () => {
  const lost = answered(4, 'Deadline exceeded');
  function asked(isThere: boolean) {
    let times = 0;
    const connection = { withDeadline: (_: number, call: () => Promise<unknown>) => call() };
    const workflowService = { getSystemInfo: () => (isThere ? Promise.resolve({}) : Promise.reject(lost)) };
    const client = { connection, workflowService, options: { namespace: 'ml' } } as unknown as Client;
    const calls = new TemporalCalls(client, 'Temporal at A');
    const answer = calls.askedAgain(() => (++times === 1 ? Promise.reject(lost) : Promise.resolve('answer')));
    return { answer, times: () => times };
  }

  it('is asked again of one that answers another call', async () => {
    const { answer, times } = asked(true);
    assert.deepEqual([await answer, times()], ['answer', 2]);
  });

  it('is not asked again of one that answers nothing', async () => {
    const { answer, times } = asked(false);
    await assert.rejects(answer, TemporalUnreachable);
    assert.equal(times(), 1);
  });
});
