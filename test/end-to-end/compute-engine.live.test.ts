import assert from 'node:assert/strict';
import type { AttemptRecord } from '../../contract/job-activities.js';
import { attemptObject } from '../../domain/store-layout.js';
import { slowness, until } from '../until.js';
import { cloudIsEmpty } from './nothing-left.js';
import type { RehearsalAdmin } from './rehearsal-admin.js';
import { storedLog } from './stored-log.js';
import type { TestStack } from './test-stack.js';
import { vmJob, ZONES } from './vm-job.js';
import { withStack } from './with-stack.js';

describe('a job on VMs of Compute Engine that are preempted, or not to be had', function () {
  this.timeout(120_000);
  let stack: TestStack;
  let admin: RehearsalAdmin;

  withStack((own, cloud) => {
    stack = own;
    admin = cloud;
  });
  afterEach(() => cloudIsEmpty(admin, 30_000));

  const attempt = async (id: string, number: number): Promise<AttemptRecord> =>
    JSON.parse(String(await stack.store.read(attemptObject(id, number)))) as AttemptRecord;

  it('a VM that is preempted is told, the other of its gang too, and it costs one attempt with the cause preemption', async () => {
    const saves = `trap 'echo saved; until [ -s $JOBCTL_NOTICE_FILE ]; do sleep 0.1; done; cat $JOBCTL_NOTICE_FILE; exit 0' TERM; echo up; sleep 300 & wait $!`;
    const run = `[ $JOBCTL_ATTEMPT = 1 ] || { echo "after $JOBCTL_PREVIOUS_ATTEMPT_END"; exit 0; }; ${saves}`;
    const { id } = await stack.jobs.submit({ job: vmJob(run) });
    const isUp = async (host: number): Promise<boolean> =>
      (await storedLog(stack.store, { id, stream: 'command', host }).catch(() => '')).includes('up');
    await until('both run', async () => (await isUp(0)) && (await isUp(1)), 60_000);
    await admin.post('preempt', { name: `jc-${id}-g1-1`, noticeMs: Math.round(4_000 * slowness()) });
    const { result, attempts } = await stack.jobs.wait(id);
    assert.deepEqual([result, attempts], ['succeeded', 2], stack.tail());
    for (const host of [0, 1]) {
      const log = await storedLog(stack.store, { id, stream: 'command', host });
      assert.match(log, /^up\nsaved\n\{.*"cause":"preemption".*\}\n$/);
    }
    assert.equal((await attempt(id, 1)).end, 'slices-lost');
    const events = (await stack.jobs.describe(id)).events.map(({ text }) => text).join('\n');
    assert.equal((await attempt(id, 1)).ended?.end, 'slices preempted');
    assert.match(
      events,
      /slice 0 was preempted by the provider: (the VM \S+-g1-1 was preempted and deleted|the metadata server of host 1 said so .*); trying again/,
    );
    assert.match(await storedLog(stack.store, { id, stream: 'command', host: 0, attempt: 2 }), /^after /);
  });

  it('goes to its second zone if somebody else has the name of one of its VMs, and leaves that one alone', async () => {
    const [zone = ''] = ZONES;
    const place = `projects/rehearsal/zones/${zone}`;
    const body = JSON.stringify({ name: 'jc-taken-g1-1', machineType: `zones/${zone}/machineTypes/n2-standard-4` });
    const url = `${stack.rehearsal.endpoints.rest}/compute/v1/${place}/instances`;
    const planted = await fetch(url, { method: 'POST', body, headers: { 'content-type': 'application/json' } });
    assert.ok(planted.ok, await planted.text());
    const { id } = await stack.jobs.submit({ job: vmJob('true'), name: 'taken' });
    const { result } = await stack.jobs.wait(id);
    assert.equal(result, 'succeeded', stack.tail());
    assert.match(
      (await stack.jobs.describe(id)).events.map(({ text }) => text).join('\n'),
      /refused slice 0 in us-central1-a: the VM jc-taken-g1-1 belongs to somebody else/,
    );
    const isLeftAlone = async (): Promise<boolean> => {
      const { vms } = await admin.status();
      return vms.length === 1 && vms[0]?.name === `${place}/instances/jc-taken-g1-1`;
    };
    await until('theirs alone is left', isLeftAlone, 30_000);
    assert.ok((await fetch(`${url}/jc-taken-g1-1`, { method: 'DELETE' })).ok);
  });

  it('goes to its second zone if the first one has VMs for a part of the gang only', async () => {
    await admin.post('capacity', { zone: ZONES[0], generation: 'n2-standard-4', chips: 1 });
    const { id } = await stack.jobs.submit({ job: vmJob('true') });
    const { result, attempts } = await stack.jobs.wait(id);
    assert.deepEqual([result, attempts], ['succeeded', 1], stack.tail());
    assert.equal((await attempt(id, 1)).zone, ZONES[1]);
    const events = (await stack.jobs.describe(id)).events.map(({ text }) => text).join('\n');
    assert.match(events, /does not have enough resources available to fulfill the request/);
    await admin.post('capacity', { zone: ZONES[0], generation: 'n2-standard-4', chips: null });
  });
});
