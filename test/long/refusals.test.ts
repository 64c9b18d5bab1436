import assert from 'node:assert/strict';
import { until } from '../until.js';
import { GOOGLE_REFUSALS } from '../cloud/google-refusals.js';
import { jobFile } from '../end-to-end/job-files.js';
import { cloudIsEmpty } from '../end-to-end/nothing-left.js';
import type { RehearsalAdmin } from '../end-to-end/rehearsal-admin.js';
import type { TestStack } from '../end-to-end/test-stack.js';
import { withStack } from '../end-to-end/with-stack.js';

const [A, B] = ['us-central1-a', 'us-west4-a'];

describe('a job that Cloud TPU refuses slices', function () {
  this.timeout(90_000);
  let stack: TestStack;
  let admin: RehearsalAdmin;

  withStack((...own) => {
    [stack, admin] = own;
  });
  afterEach(() => admin.stopRefusing());

  const submit = async (zones: readonly string[], more: object = {}, mode = 'queued-resources'): Promise<string> => {
    const tpu = { accelerator: 'v5litepod-8', allocation_mode: mode, zone: null, zones };
    return (await stack.jobs.submit({ job: jobFile('echo ran', { tpu, ...more }) })).id;
  };
  const placeOf = async (id: string): Promise<string | undefined> =>
    (await stack.jobs.describe(id)).slices[0]?.ref.zone;

  /** Each text that somebody got; of the first one each of the answers that brought it. */
  for (const [name, { from, code, message, reason }] of Object.entries(GOOGLE_REFUSALS)) {
    for (const way of name === 'no capacity' ? from : from.slice(0, 1)) {
      it(`runs in its second zone, free: ${name}, from ${way}`, async () => {
        const mode = way === 'operation' ? 'tpu-vm' : 'queued-resources';
        const method = mode === 'tpu-vm' ? 'CreateNode' : 'CreateQueuedResource';
        const as = way === 'call' ? {} : { as: way };
        await admin.post('refuse', { method, code, message, zone: A, ...as, ...(reason && { reason }) });
        const id = await submit([A, B], {}, mode);
        const { result, cause } = await stack.jobs.wait(id);
        assert.equal(result, 'succeeded', `${cause?.message}\n${stack.tail()}`);
        assert.equal(await placeOf(id), B);
        await cloudIsEmpty(admin);
      });
    }
  }

  it('waits, and says for what, where its only zone has no quota; then runs', async () => {
    const { code, message } = GOOGLE_REFUSALS['there is no quota'] ?? assert.fail();
    await admin.post('refuse', { method: 'CreateQueuedResource', code, message });
    const id = await submit([A], { retries: { infrastructure: 0 } });
    await until('it says so in lists', async () => {
      const { phase, why } = await stack.jobs.row(id);
      return phase === 'provisioning' && why?.includes(message) === true;
    });
    assert.match((await stack.jobs.row(id)).why ?? '', /is asked again at/);
    await admin.stopRefusing();
    assert.equal((await stack.jobs.wait(id)).result, 'succeeded', stack.tail());
    await cloudIsEmpty(admin);
  });

  it('waits for rights that a person has to give', async () => {
    const message = "Permission 'tpu.nodes.create' denied on resource '//tpu.googleapis.com/projects/rehearsal'";
    await admin.post('refuse', { method: 'CreateQueuedResource', code: 7, message });
    const id = await submit([A, B], { retries: { infrastructure: 0 } });
    await until(
      'it says so in lists',
      async () => (await stack.jobs.row(id)).why?.includes('tpu.nodes.create') === true,
    );
    await admin.stopRefusing();
    assert.equal((await stack.jobs.wait(id)).result, 'succeeded', stack.tail());
    assert.equal(await placeOf(id), A, 'rights are not a matter of zones');
    await cloudIsEmpty(admin);
  });

  it('fails with Google’s own text where every zone refuses its request, and nothing ever ran', async () => {
    const message = 'Cloud TPU received an invalid argument. The field "runtimeVersion" cannot be "nonsense".';
    await admin.post('refuse', { method: 'CreateQueuedResource', code: 3, message });
    const { result, cause } = await stack.jobs.wait(await submit([A, B]));
    assert.equal(result, 'failed');
    assert.match(cause?.message ?? '', new RegExp(`^Cloud TPU refused slice 0 in ${B}: .*runtimeVersion`));
    await cloudIsEmpty(admin);
  });

  it('that ran before and is refused everywhere after a preemption waits, whatever its budgets are', async () => {
    const command = 'echo "attempt $JOBCTL_ATTEMPT"; [ $JOBCTL_ATTEMPT = 2 ] || sleep 300';
    const tpu = { accelerator: 'v5litepod-8', zone: A };
    const { id } = await stack.jobs.submit({ job: jobFile(command, { tpu, retries: { infrastructure: 0 } }) });
    await until('it runs', async () => (await stack.jobs.row(id)).phase === 'running', 30_000);
    const message = 'The moon is in the wrong house';
    await admin.post('refuse', { method: 'CreateQueuedResource', code: 3, message });
    const [node] = (await admin.status()).nodes;
    await admin.post('preempt', { name: node?.name });
    await until('it says why it waits', async () => (await stack.jobs.row(id)).why?.includes(message) === true, 30_000);
    await admin.stopRefusing();
    const { result, preemptions } = await stack.jobs.wait(id);
    assert.deepEqual([result, preemptions], ['succeeded', 1], stack.tail());
    await cloudIsEmpty(admin);
  });
});
