import assert from 'node:assert/strict';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { jobFile } from '../end-to-end/job-files.js';
import { RehearsalAdmin } from '../end-to-end/rehearsal-admin.js';
import { TestStack } from '../end-to-end/test-stack.js';
import { TEMPORAL_START_MS } from '../temporal-server.js';
import { cloudIsEmpty } from '../end-to-end/nothing-left.js';
import { until } from '../until.js';
import { externalIpOf } from '../../domain/slice.js';
import { startBrowser, WebUi } from './web-ui-page.js';

const ONE_HOST = { tpu: { accelerator: 'v5litepod-8' } };
const QUOTA = `
[toml-schema]
version = "1"
[[total_resources]]
v5litepod = 16
[project_membership]
vision = [".*"]
[project_resources.vision]
v5litepod = 1.0
`;

/** A browser, a worker, a server and a cloud share this computer. */
const SLOW_MS = 90_000;

/** The Temporal Web UI in a real browser. JOBCTL_SCREENSHOTS=docs/images makes the pictures of docs/web-ui.md anew. */
describe('the Temporal Web UI', function () {
  this.timeout(300_000);
  let stack: TestStack;
  let admin: RehearsalAdmin;
  let browser: Browser;
  let ui: WebUi;
  const submitted: string[] = [];

  before(async function () {
    this.timeout(TEMPORAL_START_MS);
    // Workers share this computer with a browser: no heartbeat may be missed for that.
    stack = await TestStack.start({ quota: QUOTA, pool: 'web-ui', timings: { heartbeatTimeoutMs: 60_000 } });
    admin = new RehearsalAdmin(stack.rehearsal.endpoints.admin);
    browser = await startBrowser();
  });
  beforeEach(async () => {
    const page = await browser.newPage({ viewport: { width: 1500, height: 1040 } });
    ui = new WebUi(page, stack.server.uiUrl, stack.server.namespace);
  });
  afterEach(async () => {
    await ui.page.close();
    // Each test has the pool for itself; a job that has ended takes no cancel.
    await Promise.all(submitted.splice(0).map((id) => stack.jobs.cancel(id).catch(() => undefined)));
    await nothingLeft();
  });
  after(async () => {
    await browser?.close();
    await stack?.stop();
  });

  async function submit(name: string, more: object = {}, user = 'alice'): Promise<string> {
    const { id } = await stack.jobs.submit({ job: jobFile('sleep 1000', { name, pool: 'web-ui', ...more }), user });
    submitted.push(id);
    return id;
  }
  async function picture(name: string): Promise<void> {
    const folder = process.env['JOBCTL_SCREENSHOTS'];
    if (folder) await ui.page.screenshot({ path: join(folder, `web-ui-${name}.png`) });
  }
  async function isIn(id: string, phase: string): Promise<void> {
    await until(`${id} is ${phase}`, async () => (await stack.jobs.row(id)).phase === phase, SLOW_MS);
  }
  const nothingLeft = (): Promise<void> => cloudIsEmpty(admin, SLOW_MS);

  it('shows phase, attempt, slices and every host of a running job, over a preemption', async () => {
    const id = await submit('train');
    await isIn(id, 'running');
    await admin.post('preempt', { name: `jc-${id}-g1` });
    await until('it runs again', async () => (await stack.jobs.describe(id)).attempt === 2, SLOW_MS);
    await isIn(id, 'running');

    const { slices } = await stack.jobs.describe(id);
    const details = await ui.details(id, (text) => text.includes('attempt 2 on 4 hosts'));
    assert.equal(await ui.summary(), 'train: v5litepod-16 for alice');
    assert.match(details, /^REHEARSAL: not on real Cloud TPUs\n/);
    assert.match(details, /running since 2\d{3}-\d\d-\d\d .* UTC: attempt 2 on 4 hosts in us-central1-a/);
    assert.match(details, /Before that: slice 0 was preempted by the provider: .*\(1 of 20\)/);
    assert.match(details, /1 of 20 preemptions by the provider/);
    assert.match(details, new RegExp(`slice 0 jc-${id}-g2 in us-central1-a: ready, 4 hosts`));
    const hosts = slices[0]?.hosts ?? [];
    assert.equal(hosts.length, 4);
    for (const { index, internalIp, ...host } of hosts) {
      const line = details.split('\n').map((text) => text.trim().split(/\s+/).join(' '));
      assert.ok(line.includes(`${index} ${internalIp} ${externalIpOf(host)}`), `host ${index} in\n${details}`);
    }
    assert.ok(details.includes(`jobctl logs ${id} -f`) && details.includes(`gs://${stack.store.bucket}/jobs/${id}/`));
    await picture('job');
  });

  it('says in words what each activity is for, in the timeline of job, slice and pool', async () => {
    const id = await submit('words');
    await isIn(id, 'running');
    await ui.open(id);
    const job = await ui.textWith('run and watch the command, attempt 1 on 4 hosts');
    for (const words of [
      'check the job against pool web-ui',
      'ask quota pool web-ui for 16 v5litepod of project vision',
      `set up command on 4 hosts of jc-${id}-g1`,
      `REHEARSAL: v5litepod-16 in us-central1-a for ${id}`,
    ])
      assert.ok(job.includes(words), `'${words}' in\n${job}`);
    await picture('timeline');
    await ui.open(`slice/jc-${id}-g1`);
    const slice = await ui.textWith(`wait until jc-${id}-g1 is ready`);
    assert.ok(slice.includes(`create queued resource jc-${id}-g1 (v5litepod-16, spot, us-central1-a)`), slice);

    const waiting = await submit('waits', {}, 'bob');
    await isIn(waiting, 'queued');
    const pool = await ui.details('quota/web-ui', (text) => text.includes(waiting));
    assert.match(pool, /16 v5litepod in use, 0 v5litepod free of 16 v5litepod; 1 lease, 1 waiting/);
    assert.match(pool, new RegExp(`1\\s+${waiting}\\s+vision\\s+bob\\s+3\\s+16 v5litepod`));
    await picture('pool');
    const queued = await ui.details(waiting, (text) => text.includes('queued'));
    assert.match(queued, /It waits for 16 v5litepod of pool web-ui\. Its place in line is .* quota\/web-ui/);
  });

  it('finds jobs by project, user, phase, accelerator and pool, and a queued one that no worker has taken', async () => {
    const running = await submit('filter', {}, 'carol');
    // It has the pool before another asks: the last test's chips may fall free in this moment.
    await isIn(running, 'running');
    const waiting = await submit('filter', { tpu: { accelerator: 'v5litepod-8' } }, 'dave');
    await isIn(waiting, 'queued');
    await ui.list(`JobPhase='running' AND JobProject='vision'`, [running]);
    await ui.list(`JobUser='dave'`, [waiting]);
    await ui.list(`JobAccelerator='v5litepod-8' AND JobPool='web-ui'`, [waiting]);
    await ui.list(`JobProject='vision' AND ExecutionStatus='Running' AND WorkflowType='job'`, [running, waiting]);
    await Promise.all([stack.jobs.cancel(waiting), stack.jobs.cancel(running)]);
    await nothingLeft();

    await stack.stopWorker();
    const untaken = await submit('untaken', { project: 'vision' }, 'erin');
    await ui.list(`JobPhase='queued' AND JobProject='vision' AND JobUser='erin'`, [untaken]);
    await stack.startWorker();
  });

  it('cancels as `jobctl cancel` does: stopped, stored, its slices gone', async () => {
    const id = await submit('click', ONE_HOST);
    await isIn(id, 'running');
    await ui.open(id);
    await ui.cancel();
    const outcome = await stack.jobs.wait(id);
    assert.deepEqual([outcome.result, outcome.cause?.by], ['cancelled', 'user']);
    await nothingLeft();
    const details = await ui.details(id, (text) => text.includes('cancelled since'));
    assert.match(details, /cancelled while running/);
    assert.match(details, /slice 0 .*: (told to go|gone)/);
  });

  it('leaves no slice behind a terminated job, and its page says so', async () => {
    const id = await submit('killed', ONE_HOST);
    await isIn(id, 'running');
    await ui.open(id);
    await ui.terminate();
    await isIn(id, 'terminated');
    await nothingLeft();
    const slice = await ui.details(`slice/jc-${id}-g1`, (text) => text.includes('gone since'));
    assert.match(slice, /nothing of it is left in the cloud/);
    const next = await submit('next', ONE_HOST);
    await isIn(next, 'running');
  });
});
