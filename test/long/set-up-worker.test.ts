import assert from 'node:assert/strict';
import { DEFAULT_TIMINGS } from '../../domain/timings.js';
import { jobFile } from '../end-to-end/job-files.js';
import { storedLog } from '../end-to-end/stored-log.js';
import { TestStack } from '../end-to-end/test-stack.js';
import { TEMPORAL_START_MS } from '../temporal-server.js';
import { until } from '../until.js';

/** Sets up for longer than a worker may be missed, and only once it is past the gate. */
const GATED = {
  setup: { modules: ['gate', 'command'] },
  modules: {
    gate: { setup: [{ name: 'wait', run: 'echo waiting; while [ ! -e ~/gate ]; do touch ~/gate-$$; sleep 1; done' }] },
  },
};

describe('a worker that is killed in the middle of a set-up', function () {
  this.timeout(240_000);
  let stack: TestStack;

  before(async function () {
    this.timeout(TEMPORAL_START_MS);
    const { heartbeatTimeoutMs, claimTimeoutMs } = DEFAULT_TIMINGS;
    stack = await TestStack.start({ timings: { heartbeatTimeoutMs, claimTimeoutMs } });
  });
  after(() => stack.stop());

  it('is followed by another within 90 s, which ends what the first one had under way and sets up anew', async () => {
    const { id } = await stack.jobs.submit({
      job: jobFile('echo ran', { ...GATED, tpu: { accelerator: 'v5litepod-8' } }),
    });
    const lines = (): Promise<string> => storedLog(stack.store, { id, stream: 'gate', host: 0 });
    await until('the set-up is under way', async () => (await lines()).includes('waiting'), 60_000);
    await stack.killWorker();
    const killedAt = Date.now();
    await stack.startWorker();
    await until('another worker goes on', async () => (await lines()).split('waiting').length > 2, 90_000);
    const seconds = Math.round((Date.now() - killedAt) / 1000);
    await stack.jobs.restart(id, 'alice', { set: [{ path: ['setup', 'modules'], value: ['command'] }] });
    const outcome = await stack.jobs.wait(id);
    assert.deepEqual([outcome.result, outcome.attempts], ['succeeded', 2], stack.tail());
    process.stdout.write(`      another worker went on ${seconds} s after the first was killed\n`);
  });
});
