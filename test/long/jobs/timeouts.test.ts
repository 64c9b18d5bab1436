import assert from 'node:assert/strict';
import { attemptObject, logPrefix } from '../../../domain/store-layout.js';
import { until } from '../../until.js';
import { openDoor } from '../../end-to-end/door.js';
import { jobFile, SLOW_SET_UP } from '../../end-to-end/job-files.js';
import { cloudIsEmpty } from '../../end-to-end/nothing-left.js';
import type { RehearsalAdmin } from '../../end-to-end/rehearsal-admin.js';
import type { TestStack } from '../../end-to-end/test-stack.js';
import { withStack } from '../../end-to-end/with-stack.js';

describe('a job that gives its parts a time', function () {
  this.timeout(90_000);
  let stack: TestStack;
  let admin: RehearsalAdmin;

  withStack((...own) => {
    [stack, admin] = own;
  });

  const submit = async (command: string, more: object): Promise<string> =>
    (await stack.jobs.submit({ job: jobFile(command, { tpu: { accelerator: 'v5litepod-8' }, ...more }) })).id;
  const nothingLeft = (): Promise<void> => cloudIsEmpty(admin);

  it('fails when that of its set-up is over, with the set-up ended, the attempt recorded so, and nothing left', async () => {
    const id = await submit('echo never', { ...SLOW_SET_UP, timeouts: { setup: 3 } });
    const outcome = await stack.jobs.wait(id);
    assert.deepEqual([outcome.result, outcome.cause?.by, outcome.attempts], ['failed', 'task', 1], stack.tail());
    assert.match(
      outcome.cause?.message ?? '',
      /^its hosts were not set up within 3 s \(timeouts\.setup\): host 0 was at slow, step sleep, for \d s$/,
    );
    assert.equal(outcome.startedAt, undefined, 'its command never began');
    const events = (await stack.jobs.describe(id)).events.map(({ text }) => text).join('\n');
    assert.match(events, /its hosts are not set up after 3 s \(timeouts\.setup\); its set-up is ended/);
    assert.doesNotMatch(events, /could not be ended/);
    const record = JSON.parse(String(await stack.store.read(attemptObject(id, 1)))) as { readonly end: string };
    assert.equal(record.end, 'set-up-timed-out');
    assert.equal((await stack.store.list(logPrefix(id, 1, 'command'))).length, 0);
    await nothingLeft();
  });

  it('names the host that was slow, its module and its step, and counts those that were ready', async () => {
    const run = 'case $HOSTNAME in *-w-3) sleep 300 ;; esac';
    const modules = { mark: { setup: [{ name: 'make', run: 'true' }] }, env: { setup: [{ name: 'install', run }] } };
    const setup = { modules: ['mark', 'env', 'command'] };
    const tpu = { accelerator: 'v5litepod-16' };
    const id = await submit('echo never', { tpu, setup, modules, timeouts: { setup: 6 } });
    const { cause } = await stack.jobs.wait(id);
    assert.match(
      cause?.message ?? '',
      /\(timeouts\.setup\): host 3 was at env, step install, for \d s; 3 of 4 hosts were ready$/,
    );
    await nothingLeft();
  });

  it('spends none of it on a set-up that a person has asked for before', async () => {
    const door = await openDoor();
    const run = `test ! -e ~/made || ${door.whileOpen}; touch ~/made`;
    const modules = { mark: { check: 'true', setup: [{ name: 'make', run }] } };
    const setup = { modules: ['mark', 'command'] };
    const command = 'test "$JOBCTL_ATTEMPT" = 2 || sleep 1000';
    const id = await submit(command, { setup, modules, timeouts: { setup: 5 } });
    await until('it runs', async () => (await stack.jobs.row(id)).phase === 'running', 30_000);
    await stack.jobs.setUp(id, 'ann', { force: true });
    await stack.jobs.restart(id, 'ann');
    const events = async (): Promise<string> =>
      (await stack.jobs.describe(id)).events.map(({ text }) => text).join('\n');
    await until('it waits for that set-up', async () => (await events()).includes('waits for the end of the set-up'));
    const since = Date.now();
    await until('that has lasted for longer than timeouts.setup', () => Date.now() - since > 6_000);
    door.close();
    const { result, attempts, cause } = await stack.jobs.wait(id);
    assert.deepEqual([result, attempts], ['succeeded', 2], `${cause?.message}\n${stack.tail()}`);
    assert.match(await events(), /waits for the end of the set-up that was asked for\n(.*\n)*?.*is done on all hosts/);
    await nothingLeft();
  });

  it('asks for slices that do not become ready in the next zone, as often as it takes, and it costs no retry', async () => {
    const zones = ['us-central1-a', 'us-west4-a'];
    await admin.post('hold', { state: 'CREATING' });
    const tpu = { accelerator: 'v5litepod-8', allocation_mode: 'tpu-vm', zone: null, zones, hedge: 1 };
    const id = await submit('true', { tpu, timeouts: { provision: 2 }, retries: { infrastructure: 0 } });
    const told = async (): Promise<string> => (await stack.jobs.describe(id)).events.map(({ text }) => text).join('\n');
    await until(
      'its first zone is given up',
      async () => (await told()).includes('is not ready in us-central1-a'),
      20_000,
    );
    await admin.post('release', { state: 'CREATING' });
    assert.equal((await stack.jobs.wait(id)).result, 'succeeded', stack.tail());
    assert.match(await told(), /slice 0 is not ready in us-central1-a: .+, after 2 s$/m);
    const [slice] = (await stack.jobs.describe(id)).slices;
    assert.deepEqual([slice?.ref.zone, slice?.generation], ['us-west4-a', 2]);
    await nothingLeft();
  });

  it('has the time of its set-up in each attempt, and none of it while the command runs', async () => {
    const id = await submit('echo "round $JOBCTL_ATTEMPT"; sleep 5; exit $((2 - JOBCTL_ATTEMPT))', {
      timeouts: { setup: 4 },
      retries: { task: 1 },
    });
    const { result, attempts } = await stack.jobs.wait(id);
    assert.deepEqual([result, attempts], ['succeeded', 2], stack.tail());
    await nothingLeft();
  });
});
