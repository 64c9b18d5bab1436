import assert from 'node:assert/strict';
import type { JanitorReport } from '../../../contract/janitor.js';
import { jobFile } from '../../end-to-end/job-files.js';
import { cloudIsEmpty, nothingIsLeft } from '../../end-to-end/nothing-left.js';
import type { CloudEvent, RehearsalAdmin } from '../../end-to-end/rehearsal-admin.js';
import { storedLog } from '../../end-to-end/stored-log.js';
import type { TestStack } from '../../end-to-end/test-stack.js';
import { withStack } from '../../end-to-end/with-stack.js';
import { until } from '../../until.js';
import { auditLeaks } from '../audit-leaks.js';

/** Two slices of v4-16 have two hosts each. */
const TWO = { slices: 2, atomic: true, tpu: { accelerator: 'v4-16', zone: 'us-central2-b' } };
const SAYS = `echo "$JOBCTL_SLICE_INDEX/$JOBCTL_NUM_SLICES $JOBCTL_HOST_INDEX/$JOBCTL_NUM_HOSTS $JOBCTL_NODE_NAME $MEGASCALE_SLICE_ID/$MEGASCALE_NUM_SLICES $MEGASCALE_COORDINATOR_ADDRESS"`;
const GRACE_SECONDS = 90;
const HOSTS = [0, 1, 2, 3];

describe('an atomic job of two slices', function () {
  this.timeout(180_000);
  let stack: TestStack;
  let admin: RehearsalAdmin;
  withStack((its, itsAdmin) => {
    stack = its;
    admin = itsAdmin;
  });

  const said = async (id: string, attempt: number): Promise<readonly (readonly string[])[]> => {
    const logs = await Promise.all(
      HOSTS.map((host) => storedLog(stack.store, { id, stream: 'command', host, attempt })),
    );
    return logs.map((log) => log.split('\n')[0]?.split(' ') ?? []);
  };

  for (const othersOnPreemption of ['kept', 'preempted'])
    it(`is one request; one node that is taken (the other is ${othersOnPreemption}) costs it whole, and it runs again`, async () => {
      await admin.post('configure', { othersOnPreemption });
      const command = `${SAYS}; [ "$JOBCTL_ATTEMPT" -gt 1 ] && exit 0; trap 'exit 1' TERM; while :; do sleep 0.1; done`;
      const { id } = await stack.jobs.submit({ job: jobFile(command, { ...TWO, grace: GRACE_SECONDS }) });
      await until('all hosts speak', async () => (await said(id, 1)).every(({ length }) => length > 1), 90_000);

      const { slices } = await stack.jobs.describe(id);
      const nodes = [0, 1].map((slice) => `jc-${id}-g1-${slice}`);
      assert.deepEqual(
        slices.map(({ index, ref, state, hosts }) => [index, ref.name, state, hosts.length]),
        nodes.map((name, index) => [index, name, 'ready', 2]),
      );
      assert.equal(new Set(slices.map(({ uid }) => uid)).size, 2);
      const [first] = slices[0]?.hosts ?? [];
      assert.deepEqual(
        await said(id, 1),
        HOSTS.map((host) => {
          const slice = Math.floor(host / 2);
          return [`${slice}/2`, `${host % 2}/2`, nodes[slice], `${slice}/2`, `${first?.internalIp}:8080`];
        }),
      );
      assert.deepEqual((await admin.status()).queuedResources.map(nameOf), [`jc-${id}-g1`]);

      const inits = (await admin.status()).nodes.flatMap(({ hosts }) => hosts.flatMap(({ init }) => init ?? []));
      await admin.post('preempt', { name: nodes[1], mode: 'preempted' });
      const { result, attempts, preemptions } = await stack.jobs.wait(id);
      assert.deepEqual([result, attempts, preemptions], ['succeeded', 2, 1], stack.tail());
      assert.deepEqual(
        (await said(id, 2)).map(([place, , node]) => [place, node]),
        [0, 0, 1, 1].map((slice) => [`${slice}/2`, `jc-${id}-g2-${slice}`]),
      );
      await nothingIsLeft(stack, admin, inits);

      const events = await admin.journal();
      assert.deepEqual(made(events, 'queued-resource-state', id), [`jc-${id}-g1`, `jc-${id}-g2`]);
      assert.equal(mostRequestsAtOnce(events, id), 1, 'the second is asked for when the first is gone');
      const at = (name: string, state: string): number =>
        events.find(({ subject, details }) => subject.endsWith(`/${name}`) && details.to === state)?.at ?? Number.NaN;
      const waitedMs = at(`jc-${id}-g2`, 'CREATING') - at(`jc-${id}-g1-1`, 'PREEMPTED');
      assert.ok(waitedMs < GRACE_SECONDS * 1000, `${waitedMs} ms: hosts that are taken too are not waited for`);
      assert.deepEqual(
        made(events, 'node-state', id).toSorted(),
        ['g1-0', 'g1-1', 'g2-0', 'g2-1'].map((end) => `jc-${id}-${end}`),
      );
    });

  it('waits as one request while its zone has chips for one slice alone, and holds none of them', async () => {
    await admin.post('capacity', { zone: 'us-central2-b', generation: 'v4', chips: 8 });
    const { id } = await stack.jobs.submit({ job: jobFile(SAYS, TWO) });
    const isAsked = async (): Promise<boolean> =>
      (await admin.status()).queuedResources.some(({ state }) => state === 'WAITING_FOR_RESOURCES');
    await until('it waits', isAsked, 60_000);
    const { queuedResources, nodes } = await admin.status();
    assert.deepEqual([queuedResources.map(nameOf), nodes], [[`jc-${id}-g1`], []]);
    await admin.post('capacity', { zone: 'us-central2-b', generation: 'v4', chips: 16 });
    assert.equal((await stack.jobs.wait(id)).result, 'succeeded', stack.tail());
    await nothingIsLeft(stack, admin, []);
  });

  it('that nobody looks after any more: the audit and the janitor find the nodes that outlived their request', async () => {
    await admin.post('configure', { othersOnPreemption: 'kept' });
    const { id } = await stack.jobs.submit({ job: jobFile('sleep 600', TWO) });
    await until('it runs', async () => (await stack.jobs.row(id)).phase === 'running', 60_000);
    // A call of theirs that is under way would start the pool again, which would give the nodes back.
    await stack.killWorker();
    for (const workflow of ['quota/default', `slice/jc-${id}-g1`, id])
      await stack.client.workflow.getHandle(workflow).terminate('test');
    await stack.startWorker();
    const request = `projects/rehearsal/locations/us-central2-b/queuedResources/jc-${id}-g1`;
    const left = async (): Promise<readonly string[]> => {
      const { queuedResources, nodes } = await admin.status();
      return [...queuedResources, ...nodes].map(({ name, state }) => `${nameOf({ name })} ${state}`).toSorted();
    };
    await admin.post('preempt', { name: `jc-${id}-g1-1`, mode: 'preempted' });
    await until('it is SUSPENDED', async () => (await left())[0] === `jc-${id}-g1 SUSPENDED`);
    const deleted = await fetch(`${stack.rehearsal.endpoints.rest}/v2/${request}`, { method: 'DELETE' });
    assert.equal(deleted.status, 200, await deleted.text());
    await until('its nodes are left', async () => (await left()).length === 2);
    assert.deepEqual(await left(), [`jc-${id}-g1-0 READY`, `jc-${id}-g1-1 PREEMPTED`]);

    const audited = await auditLeaks(stack).then(
      (text) => `no leak: ${text}`,
      ({ stdout }: { readonly stdout: string }) => stdout,
    );
    for (const node of [0, 1]) assert.match(audited, new RegExp(`jc-${id}-g1-${node}`));
    const sweep = (): Promise<JanitorReport> =>
      stack.client.workflow.execute('janitor', {
        workflowId: `sweep-${id}`,
        taskQueue: stack.taskQueue,
        args: [{ v: 1 }],
      });
    assert.deepEqual((await sweep()).reclaimed, [`jc-${id}-g1`]);
    await cloudIsEmpty(admin, 60_000);
  });
});

const nameOf = ({ name }: { readonly name: string }): string => name.split('/').at(-1) as string;

/** Names of what was made for a job, in their order. */
function made(events: readonly CloudEvent[], kind: string, id: string): readonly string[] {
  const names = events
    .filter((event) => event.kind === kind && event.subject.includes(id))
    .map(({ subject }) => nameOf({ name: subject }));
  return [...new Set(names)];
}

function mostRequestsAtOnce(events: readonly CloudEvent[], id: string): number {
  const alive = new Set<string>();
  let most = 0;
  for (const { kind, subject, details } of events) {
    if (kind !== 'queued-resource-state' || !subject.includes(id)) continue;
    if (details.to === 'gone') alive.delete(subject);
    else alive.add(subject);
    most = Math.max(most, alive.size);
  }
  return most;
}
