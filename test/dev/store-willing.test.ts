import assert from 'node:assert/strict';
import { storeWilling } from '../../cli/local/dev/up.js';
import { StoreRefused, StoreUnavailable } from '../../cloud/store/port.js';

describe('dev up, before a store that does not answer as it should', () => {
  const failing = (errors: readonly Error[]) => {
    const calls = { made: 0 };
    const call = async (): Promise<string> => {
      const error = errors[calls.made++];
      if (error !== undefined) throw error;
      return 'provisioned';
    };
    return { calls, call };
  };

  it('tries again, and says so', async () => {
    const { call, calls } = failing([new StoreRefused('HTTP 403'), new StoreUnavailable('HTTP 503')]);
    const said: string[] = [];
    assert.equal(await storeWilling(call, (line) => said.push(line), 0), 'provisioned');
    assert.deepEqual([calls.made, said.length], [3, 2]);
    assert.match(said[0] ?? '', /HTTP 403\): trying again/);
  });

  it('gives up after a bounded number of tries, and says that no worker runs', async () => {
    const { call, calls } = failing(Array.from({ length: 100 }, () => new StoreRefused('HTTP 403')));
    await assert.rejects(
      storeWilling(call, () => undefined, 0),
      /HTTP 403\n {2}The worker is not started; `jobctl dev up` goes on from here/,
    );
    assert.equal(calls.made, 10);
  });

  it('does not repeat what is no answer of a store', async () => {
    const { call, calls } = failing([new TypeError('a bug')]);
    await assert.rejects(
      storeWilling(call, () => undefined, 0),
      TypeError,
    );
    assert.equal(calls.made, 1);
  });
});
