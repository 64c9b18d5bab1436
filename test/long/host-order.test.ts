import assert from 'node:assert/strict';
import { jobFile } from '../end-to-end/job-files.js';
import { cloudIsEmpty } from '../end-to-end/nothing-left.js';
import type { RehearsalAdmin } from '../end-to-end/rehearsal-admin.js';
import { storedLog } from '../end-to-end/stored-log.js';
import type { TestStack } from '../end-to-end/test-stack.js';
import { withStack } from '../end-to-end/with-stack.js';

const COMMAND = 'echo "host $JOBCTL_HOST_INDEX is $(hostname), all are $JOBCTL_HOST_IPS"';

describe('a cloud that lists the hosts of a slice in its own way', function () {
  this.timeout(4 * 60_000);
  let stack: TestStack;
  let admin: RehearsalAdmin;

  withStack((...own) => {
    [stack, admin] = own;
  });
  const logOf = (id: string, host: number, stream = 'command'): Promise<string> =>
    storedLog(stack.store, { id, stream, host });

  for (const forbidden of [false, true])
    it(`in another order than that of its workers: the job runs by worker, ${forbidden ? 'without' : 'with'} guest attributes`, async () => {
      await admin.post('configure', {
        endpointOrders: [{ order: [2, 0, 3, 1] }],
        guestAttributes: forbidden ? [{ forbidden }] : [],
      });
      const job = jobFile(COMMAND, {
        setup: { modules: ['who', 'command'] },
        modules: { who: { setup: [{ name: 'say', run: 'echo "set up on $(hostname)"' }] } },
      });
      const { id } = await stack.jobs.submit({ job });
      const { result, attempts } = await stack.jobs.wait(id);
      assert.deepEqual([result, attempts], ['succeeded', 1], stack.tail());
      const { hosts = [] } = (await stack.jobs.describe(id)).slices[0] ?? {};
      assert.deepEqual(
        hosts.map(({ index }) => index),
        [0, 1, 2, 3],
      );
      for (const { index } of hosts) {
        assert.match(
          await logOf(id, index),
          new RegExp(
            `^host ${index} is \\S+-w-${index}, all are ${hosts.map(({ internalIp }) => internalIp).join(',')}\n$`,
          ),
        );
        assert.match(await logOf(id, index, 'who'), new RegExp(`-w-${index}\n$`));
      }
      await cloudIsEmpty(admin);
    });

  for (const keepsPlace of [false, true])
    it(`${keepsPlace ? 'with a gap' : 'without one'} of them: the job waits, then takes another slice, and never runs on fewer`, async () => {
      const missingWorkers = [{ nameMatches: '-g1$', workers: [1], keepsPlace }];
      await admin.post('configure', { endpointOrders: [], guestAttributes: [], missingWorkers });
      const { id } = await stack.jobs.submit({ job: jobFile(COMMAND, { timeouts: { provision: 10 } }) });
      const { result, attempts } = await stack.jobs.wait(id);
      assert.deepEqual([result, attempts], ['succeeded', 1], stack.tail());
      assert.equal((await stack.jobs.describe(id)).slices[0]?.generation, 2);
      assert.match(await logOf(id, 3), /^host 3 /);
      await cloudIsEmpty(admin);
    });
});
