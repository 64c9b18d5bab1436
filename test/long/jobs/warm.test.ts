import assert from 'node:assert/strict';
import { setUpsOf } from '../../../cli/commands/verbs/status-timeline.js';
import { jobFile } from '../../end-to-end/job-files.js';
import { JobctlUser } from '../../end-to-end/jobctl-process.js';
import { nothingIsLeft, vmInits } from '../../end-to-end/nothing-left.js';
import { mostChipsAtOnce, RehearsalAdmin } from '../../end-to-end/rehearsal-admin.js';
import { storedLog } from '../../end-to-end/stored-log.js';
import { TestStack } from '../../end-to-end/test-stack.js';
import { auditLeaks } from '../audit-leaks.js';
import { TEMPORAL_START_MS } from '../../temporal-server.js';
import { until } from '../../until.js';

const LANES = 2;
/** Writes into its output folder and beside it: the latter is there for the next member too, and no output of that. */
const COMMAND = `
test -e ~/set-up-once || exit 9
echo "began $JOBCTL_JOB_ID a$JOBCTL_ATTEMPT on $JOBCTL_NODE_NAME"
ls ~/left 2>/dev/null; mkdir -p ~/left; echo "$JOBCTL_JOB_ID" > ~/left/"$JOBCTL_JOB_ID"
[ "$HOLD" = no ] || { while [ ! -e ~/go-on ] && [ "$JOBCTL_ATTEMPT" = 1 ] && [ "$JOBCTL_ARRAY_INDEX" = "$HOLD" ]; do sleep 0.3; done; }
sleep 1`;
const SET_UP = {
  setup: { modules: ['tools', 'command'] },
  modules: {
    tools: { check: 'test -e ~/set-up-once', setup: [{ name: 'make', run: 'sleep 2; touch ~/set-up-once' }] },
  },
  outputs: { paths: ['left/*'] },
};

describe('a sweep of six on two warm slices', function () {
  this.timeout(400_000);
  let stack: TestStack;
  let admin: RehearsalAdmin;
  let user: JobctlUser;

  before(async function () {
    this.timeout(TEMPORAL_START_MS);
    stack = await TestStack.start();
    admin = new RehearsalAdmin(stack.rehearsal.endpoints.admin);
    user = JobctlUser.of(stack, { JOBCTL_SSH_JOB_KEY_SECRET: stack.jobKeySecret() });
  });
  after(async () => {
    await user?.leave();
    await stack?.stop();
  });

  const submit = async (command: string, members: number, hold = 'no'): Promise<string> =>
    (
      await stack.jobs.submit({
        job: jobFile(command, {
          ...{ tpu: { accelerator: 'v5litepod-1' }, retries: { task: 0 }, env: { HOLD: hold }, ...SET_UP },
          array: { matrix: { i: `0..${members - 1}` }, max_parallel: LANES, warm: true },
        }),
      })
    ).id;
  const hasEnded = (id: string): Promise<unknown> =>
    until(`${id} has ended`, async () => (await stack.jobs.group(id)).endedAt !== undefined, 200_000);
  /** Requests that the cloud has taken, by its own journal. */
  const created = async (id: string): Promise<readonly string[]> => {
    const events = await admin.journal();
    const names = events
      .filter(({ kind }) => kind === 'queued-resource-state')
      .map(({ subject }) => subject.split('/').at(-1) ?? '');
    return [...new Set(names)].filter((name) => name.includes(`${id}-`));
  };
  const logOf = (id: string, attempt = 1): Promise<string> =>
    storedLog(stack.store, { id, stream: 'command', host: 0, attempt });
  const nodeOf = (log: string): string => /^began \S+ a\d+ on (\S+)$/m.exec(log)?.[1] ?? '';

  it('makes two slices and one for the member that is preempted, with its worker killed in a hand-over', async () => {
    const id = await submit(COMMAND, 6, '4');
    const inHandOver = async (): Promise<boolean> =>
      (await stack.jobs.find({ group: id, phase: 'holding' })).some(({ why = '' }) => why.includes('next member'));
    await until('a member lends its slice, and nobody uses it yet', inHandOver, 120_000);
    await stack.killWorker();
    await stack.startWorker();
    const held = `${id}-4`;
    await until('the fifth runs', async () => /began/.test(await logOf(held).catch(() => '')), 120_000);
    const node = nodeOf(await logOf(held));
    assert.ok(!node.includes(`${held}-`), `${held} runs on ${node}, which another has made`);
    const said = await user.here('exec', held, '--', 'cat ~/left/*');
    assert.equal(said.code, 0, said.stderr);
    assert.match(said.stdout, new RegExp(`^${held}$`, 'm'));
    const status = await user.here('status', held);
    assert.match(status.stdout, /runs on the slices of/);
    await admin.post('preempt', { name: node });
    await hasEnded(id);

    const rows = await stack.jobs.find({ group: id });
    assert.deepEqual(
      rows
        .toSorted((a, b) => (a.id < b.id ? -1 : 1))
        .map(({ id: job, outcome }) => [job, outcome?.result, outcome?.preemptions]),
      Array.from({ length: 6 }, (_, index) => [`${id}-${index}`, 'succeeded', index === 4 ? 1 : 0]),
    );
    const made = await created(id);
    const lodgers: string[] = [];
    for (const { id: job } of rows) {
      const log = await logOf(job);
      assert.equal(log.match(/^began/gm)?.length, 1, `${job} was started once`);
      if (nodeOf(log).includes(`${job}-`)) continue;
      lodgers.push(job);
      const [first] = await setUpsOf(stack.store, { id: job });
      const tools = first?.record.steps.filter(({ module }) => module === 'tools') ?? [];
      assert.deepEqual(
        tools.map(({ step, outcome }) => [step, outcome]),
        [['check', 'unchanged']],
        job,
      );
      // Files of earlier members lie on the host, and are no outputs of this one.
      const stored = await stack.store.list(`jobs/${job}/outputs/`);
      assert.ok(stored.length > 0);
      assert.deepEqual(await stack.jobs.row(job).then(({ outcome }) => outcome?.outputs?.files), 1, job);
    }
    // The kill may have cost one hand-over its answer.
    assert.ok(lodgers.length >= 2, lodgers.join(', '));
    assert.equal(made.length, 6 - lodgers.length + 1, made.join(', '));
    assert.equal(mostChipsAtOnce(await admin.journal()), LANES);
    await nothingIsLeft(stack, admin, []);
    await auditLeaks(stack);
  });

  it('leaves nothing when it is cancelled in the middle', async () => {
    const id = await submit(COMMAND, 8, '5');
    await until(
      'one runs on the slice of another',
      async () => /began/.test(await logOf(`${id}-5`).catch(() => '')),
      120_000,
    );
    const inits = await vmInits(admin);
    const cancelled = await user.here('cancel', id, '--yes');
    assert.equal(cancelled.code, 0, cancelled.stderr);
    await hasEnded(id);
    await nothingIsLeft(stack, admin, inits);
    await until('all workflows are closed', async () => (await stack.jobs.count({ group: id })).open === 0, 60_000);
  });
});
