import assert from 'node:assert/strict';
import { readPoolState, readWaitingLine } from '../../client/pool-state.js';
import { poolLineObject, poolStateObject } from '../../domain/store-layout.js';

/**
 * F7, as far as it holds today: what a bucket writer puts in the place of what people look at stops no verb, and is named. At
 * 19b9c1e a forged `line.json` made `jobctl list` end with `Cannot read properties of undefined`. A second bucket that submitters
 * cannot write (system, quota, run, outcome), and with it forged owners, applied files and outcomes, is not there yet.
 */
describe('F7: forged objects of a pool', () => {
  const storeOf = (name: string, text: string) => ({
    bucket: 'b',
    read: async (asked: string) => (asked === name ? Buffer.from(text) : undefined),
  });
  const forged = ['', 'x', 'null', '7', '[]', '{}', '{"v":1}', '{"v":1,"rows":7,"sentences":[]}', '{"v":1,"rows":[]}'];

  for (const text of forged)
    it(`${JSON.stringify(text)} in place of a pool's line is refused by its name`, () =>
      assert.rejects(readWaitingLine(storeOf(poolLineObject('p'), text), 'p'), {
        name: 'RangeError',
        message: /^gs:\/\/b\/quota\/p\/line\.json: is not what a worker publishes of a pool/,
      }));

  it('so is a pool’s state that is no JSON; a line that is one is read', async () => {
    await assert.rejects(
      readPoolState(storeOf(poolStateObject('p'), '{'), 'p'),
      /^RangeError: gs:\/\/b\/quota\/p\/state\.json/,
    );
    const line = { v: 1, pool: 'p', at: 1, epoch: 1, sentences: [['why']], rows: [['j', 0]] };
    assert.deepEqual(await readWaitingLine(storeOf(poolLineObject('p'), JSON.stringify(line)), 'p'), line);
    assert.equal(await readWaitingLine(storeOf('other', ''), 'p'), undefined);
  });
});
