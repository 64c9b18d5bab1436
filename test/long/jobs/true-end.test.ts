import assert from 'node:assert/strict';
import type { RehearsalAdmin } from '../../end-to-end/rehearsal-admin.js';
import { jobFile } from '../../end-to-end/job-files.js';
import { storedLog } from '../../end-to-end/stored-log.js';
import type { TestStack } from '../../end-to-end/test-stack.js';
import { withStack } from '../../end-to-end/with-stack.js';
import { until } from '../../until.js';

/** Saves and ends with 0 when it is told to; started again, it has nothing left to do. */
const SAVES = `if [ "$JOBCTL_ATTEMPT" -gt 1 ]; then echo again; exit 0; fi
trap 'echo saved; exit 0' TERM; echo begun; while :; do sleep 0.1; done`;
const ONE_HOST = { tpu: { accelerator: 'v5litepod-8' } };

describe('exit code 0 is a claim', function () {
  this.timeout(120_000);
  let stack: TestStack;
  let admin: RehearsalAdmin;
  withStack((its, itsAdmin) => {
    stack = its;
    admin = itsAdmin;
  });
  beforeEach(() => admin.post('configure', { guestNoticeMs: 20_000, preemptedLagMs: 0, sshAtShutdown: 'open' }));

  const log = (id: string, attempt: number, host = 0): Promise<string> =>
    storedLog(stack.store, { id, stream: 'command', host, attempt });

  async function running(more: object = ONE_HOST, command = SAVES, hosts = 1): Promise<string> {
    const { id } = await stack.jobs.submit({ job: jobFile(command, more as Record<string, unknown>) });
    for (let host = 0; host < hosts; host++)
      await until(`host ${host} to begin`, async () => (await log(id, 1, host)).includes('begun'), 60_000);
    return id;
  }

  it('of a program that saves as its VM is taken: it runs again, while the API still says READY', async () => {
    await admin.post('configure', { preemptedLagMs: 60_000 });
    const id = await running();
    await admin.post('preempt', { name: nodeOf(await admin.status(), id), mode: 'signal' });
    const { result, attempts, preemptions } = await stack.jobs.wait(id);
    assert.deepEqual([result, attempts, preemptions], ['succeeded', 2, 1], stack.tail());
    assert.match(await log(id, 1), /^begun\n(Terminated\n)?saved\n$/);
    assert.equal(await log(id, 2), 'again\n');
  });

  for (const sshAtShutdown of ['refused', 'silent']) {
    it(`of a program that saves where nobody can read it any more (SSH ${sshAtShutdown}): it runs again`, async () => {
      await admin.post('configure', { guestNoticeMs: 2_000, preemptedLagMs: 5_000, sshAtShutdown });
      const id = await running();
      await admin.post('preempt', { name: nodeOf(await admin.status(), id), mode: 'signal' });
      const { result, attempts, preemptions } = await stack.jobs.wait(id);
      assert.deepEqual([result, attempts, preemptions], ['succeeded', 2, 1], stack.tail());
    });
  }

  it('on two slices of which one is taken: both run again, and only that one is replaced', async () => {
    const id = await running({ ...ONE_HOST, slices: 2 }, SAVES, 2);
    const before = nodesOf(await admin.status(), id);
    const [, taken] = before;
    await admin.post('preempt', { name: taken, mode: 'signal' });
    const { result, attempts, preemptions } = await stack.jobs.wait(id);
    assert.deepEqual([result, attempts, preemptions], ['succeeded', 2, 1], stack.tail());
    const made = new Set(
      (await admin.journal()).flatMap(({ kind, subject, details }) =>
        kind === 'node-state' && details.to === 'CREATING' && subject.includes(id) ? [subject.split('/').at(-1)] : [],
      ),
    );
    assert.equal(made.size, 3, [...made].join());
  });

  it('is believed at once where its host bears it out, though the API does not answer', async () => {
    const id = await running(ONE_HOST, 'echo begun; sleep 5; echo "ended $(date +%s%3N)"');
    for (const method of ['GetNode', 'ListNodes', 'GetQueuedResource', 'ListQueuedResources'])
      await admin.post('refuse', { method, code: 'UNAVAILABLE' });
    try {
      const { result, attempts, endedAt } = await stack.jobs.wait(id);
      assert.deepEqual([result, attempts], ['succeeded', 1], stack.tail());
      const ended = Number(/ended (\d+)/.exec(await log(id, 1))?.[1]);
      console.log(`      from the end of the command to the outcome: ${endedAt - ended} ms`);
    } finally {
      await admin.stopRefusing();
    }
  });

  it('of a program that ends while a warning stands that then clears is its end', async () => {
    const id = await running(
      ONE_HOST,
      'echo begun; until [ -e "$JOBCTL_WARNING_FILE" ]; do sleep 0.1; done; cat "$JOBCTL_WARNING_FILE"',
    );
    await admin.post('warn', { name: nodeOf(await admin.status(), id) });
    const { result, attempts } = await stack.jobs.wait(id);
    assert.deepEqual([result, attempts], ['succeeded', 1], stack.tail());
    assert.match(await log(id, 1), /"cause":"maintenance".*UNHEALTHY_MAINTENANCE/);
  });
});

const nodesOf = ({ nodes }: Awaited<ReturnType<RehearsalAdmin['status']>>, id: string): readonly string[] =>
  nodes
    .flatMap(({ name, state }) => (name.includes(id) && state === 'READY' ? [name.split('/').at(-1) ?? name] : []))
    .sort();
const nodeOf = (status: Awaited<ReturnType<RehearsalAdmin['status']>>, id: string): string =>
  nodesOf(status, id)[0] ?? id;
