import assert from 'node:assert/strict';
import { exportJob, type Incident } from '../../client/export/export-job.js';
import { type Evidence, signSeen } from '../../domain/recovery/evidence.js';
import { signObject } from '../../domain/store-layout.js';
import { type Door, openDoor } from '../end-to-end/door.js';
import { jobFile } from '../end-to-end/job-files.js';
import { JobctlUser } from '../end-to-end/jobctl-process.js';
import { cloudIsEmpty } from '../end-to-end/nothing-left.js';
import { RehearsalAdmin } from '../end-to-end/rehearsal-admin.js';
import { storedLog } from '../end-to-end/stored-log.js';
import { TestStack } from '../end-to-end/test-stack.js';
import { TEMPORAL_START_MS } from '../temporal-server.js';
import { play } from '../incidents/play.js';
import { until } from '../until.js';

/** How SSH notices that a host is gone, and how soon the job is told, are as in production. The signs of life are 120 times as fast. */
const FAST = { signOfLifeMs: 1_000, signStaleMs: 5_000, unreachableLookMs: 500 };
/** docs/design.md, "Unknown is not dead". */
const SHOWN_WITHIN_MS = 120_000;
const NOT_ANSWERED = /host 3 has not answered since \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC/;

/** Ends in its second attempt, or when the door is closed. */
const command = ({ whileOpen }: Door): string => `echo begun; [ "$JOBCTL_ATTEMPT" = 1 ] || exit 0; ${whileOpen}`;
/** Hosts that do not reach the store. */
const NO_STORE = {
  setup: { modules: ['cut', 'command'] },
  modules: { cut: { setup: [{ name: 'off', run: 'echo "proxy = http://127.0.0.1:9" > ~/.curlrc' }] } },
};

interface Watched {
  readonly id: string;
  readonly node: string;
  letGo(): void;
}

describe('a host of four that does not answer, on a node that is READY', function () {
  this.timeout(8 * 60_000);
  let stack: TestStack;
  let admin: RehearsalAdmin;
  const doors: Door[] = [];

  before(async function () {
    this.timeout(TEMPORAL_START_MS);
    stack = await TestStack.start({ timings: FAST });
    admin = new RehearsalAdmin(stack.rehearsal.endpoints.admin);
  });
  after(async () => {
    for (const door of doors) door.close();
    await stack?.stop();
  });

  /** A route of its own for each: a zone. */
  async function running(zone: string, more: object = {}): Promise<Watched> {
    const door = await openDoor();
    doors.push(door);
    const { id } = await stack.jobs.submit({ job: jobFile(command(door), { tpu: { zone }, ...more }) });
    const begun = async (): Promise<boolean> => {
      const logs = await Promise.all(
        [0, 1, 2, 3].map((host) => storedLog(stack.store, { id, stream: 'command', host })),
      );
      return logs.every((log) => log.includes('begun'));
    };
    await until(`${id} runs`, begun, 120_000);
    const node = (await stack.jobs.describe(id)).slices[0]?.ref.name ?? '';
    return { id, node, letGo: () => door.close() };
  }
  const onHost = (name: string, host: number | 'all', action: string): Promise<void> =>
    admin.post('hosts', { name, host, action });
  /** What runs on it stands still, and nothing reaches it: no reset comes back. */
  async function die(name: string, host: number | 'all'): Promise<void> {
    await onHost(name, host, 'unreachable');
    await onHost(name, host, 'freeze');
  }
  async function rise(name: string, host: number | 'all'): Promise<void> {
    await onHost(name, host, 'thaw');
    await onHost(name, host, 'reachable');
  }
  /** Everywhere that people look. */
  async function isShown({ id }: Watched, text: RegExp): Promise<boolean> {
    const [row, view, details] = await Promise.all([
      stack.jobs.row(id),
      stack.jobs.describe(id),
      stack.client.workflow.getHandle(id).query<{ currentDetails?: string }>('__temporal_workflow_metadata'),
    ]);
    return text.test(row.why ?? '') && text.test(view.why ?? '') && text.test(details.currentDetails ?? '');
  }
  async function shown(job: Watched, text = NOT_ANSWERED): Promise<void> {
    await until(`${job.id} says it`, () => isShown(job, text), SHOWN_WITHIN_MS).catch(async (error: unknown) => {
      const { why } = await stack.jobs.row(job.id);
      throw new Error(`${String(error)}, and it says: ${why ?? 'nothing'}`);
    });
  }
  /** By the command line, beside `shown`. */
  async function printed({ id }: Watched): Promise<void> {
    const user = JobctlUser.of(stack);
    try {
      for (const verb of [
        ['list', '--all'],
        ['why', id],
        ['status', id],
      ]) {
        const { stdout, stderr } = await user.run(...verb);
        assert.match(stdout.replaceAll(/\s+/g, ' '), NOT_ANSWERED, `${verb.join(' ')}: ${stderr}`);
      }
    } finally {
      await user.leave();
    }
  }
  /** What an incident of this job has. */
  async function exported({ id }: Watched): Promise<Incident> {
    let text = '';
    const sources = { temporal: stack.client, server: 'Temporal', store: stack.store, version: 'test' };
    await exportJob(id, sources, async (piece) => void (text += piece));
    return JSON.parse(text) as Incident;
  }
  const facts = ({ dead }: Evidence): unknown =>
    dead?.map(({ slice, host, sign, others, node }) => ({ slice, host, sign, others, node }));
  const events = async ({ id }: Watched): Promise<string> =>
    (await stack.jobs.describe(id)).events.map(({ text }) => text).join('\n');

  /** It has shown that it may replace its sign: a younger one is no evidence. */
  const hasRenewed = ({ id }: Watched): Promise<unknown> =>
    until('host 3 renews its sign', async () => {
      const seen = signSeen((await stack.store.read(signObject(id, 1, 3)))?.toString());
      return typeof seen === 'object' && seen.signs > 1;
    });

  it('is shown, and costs its slice when its own sign of life goes stale beside others that are renewed', async () => {
    const job = await running('us-central1-a');
    await hasRenewed(job);
    await die(job.node, 3);
    await shown(job);
    const { result, attempts, preemptions, cause } = await stack.jobs.wait(job.id);
    assert.deepEqual([result, attempts, preemptions, cause], ['succeeded', 2, 0, undefined], stack.tail());
    const told = await events(job);
    assert.match(
      told,
      /host 3 of slice 0 has not answered since .*; another host on its route does; its sign of life in the store was not renewed for 5 s/,
    );
    assert.match(told, /trying again \(1 of 5\)/);
    const incident = await exported(job);
    assert.deepEqual(
      incident.attempts.map(({ evidence }) => [evidence?.by, evidence && facts(evidence)]),
      [
        ['loss', [{ slice: 0, host: 3, sign: 'stale', others: 'answer, with fresh signs', node: 'ready' }]],
        ['ends', undefined],
      ],
    );
    assert.deepEqual(
      incident.expected.attempts.map(({ end }) => end),
      ['slices failed', 'code 0'],
    );
    assert.deepEqual(play(incident), incident.expected);
    await cloudIsEmpty(admin);
  });

  it('without a way to the store is kept until timeouts.unreachable is over', async () => {
    const job = await running('us-west4-a', { ...NO_STORE, timeouts: { unreachable: 100 } });
    await die(job.node, 3);
    await shown(job);
    assert.equal((await stack.jobs.row(job.id)).attempts, 1);
    const { result, attempts } = await stack.jobs.wait(job.id);
    assert.deepEqual([result, attempts], ['succeeded', 2], stack.tail());
    assert.match(await events(job), /another host on its route does; timeouts\.unreachable is 100 s/);
    await cloudIsEmpty(admin);
  });

  it('that only its route has lost is kept as long as its sign is renewed, and all is well once it answers', async () => {
    const job = await running('us-central1-a', { timeouts: { unreachable: 1 } });
    await onHost(job.node, 3, 'unreachable');
    await shown(job);
    await printed(job);
    await anotherLook();
    await onHost(job.node, 3, 'reachable');
    await until('it answers', async () => !(await isShown(job, NOT_ANSWERED)), 60_000);
    job.letGo();
    const { result, attempts } = await stack.jobs.wait(job.id);
    assert.deepEqual([result, attempts], ['succeeded', 1], stack.tail());
    assert.doesNotMatch(await events(job), /trying again/);
    await cloudIsEmpty(admin);
  });

  it('beside three others that do not answer either is kept, and all is well once they do', async () => {
    const job = await running('us-west4-a');
    await die(job.node, 'all');
    await shown(job, /host 0, host 1, host 2, host 3 have not answered since/);
    await anotherLook();
    await stack.killWorker();
    await stack.startWorker();
    await anotherLook();
    assert.equal((await stack.jobs.row(job.id)).phase, 'running');
    await rise(job.node, 'all');
    await until('they answer', async () => !(await isShown(job, /not answered/)), 60_000);
    job.letGo();
    const { result, attempts } = await stack.jobs.wait(job.id);
    assert.deepEqual([result, attempts], ['succeeded', 1], stack.tail());
    await cloudIsEmpty(admin);
  });

  /** Long enough for signs to go stale, and for whoever believes in less to act on it. */
  const anotherLook = (): Promise<unknown> => {
    const since = Date.now();
    return until('time has passed', () => Date.now() - since > 3 * FAST.signStaleMs, 60_000);
  };
});
