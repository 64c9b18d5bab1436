import assert from 'node:assert/strict';
import type { AttemptRecord } from '../../contract/job-activities.js';
import { attemptObject } from '../../domain/store-layout.js';
import { until } from '../until.js';
import { jobFile } from './job-files.js';
import { cloudIsEmpty } from './nothing-left.js';
import type { RehearsalAdmin } from './rehearsal-admin.js';
import { storedLog } from './stored-log.js';
import type { TestStack } from './test-stack.js';
import { withStack } from './with-stack.js';

/** The shortest that is sold. */
const RUN_SECONDS = 60;

/** docs/adr/0141, on a rehearsed Cloud TPU that deletes the slice as Google does. */
describe('a job on a flex-start slice', function () {
  this.timeout(180_000);
  let stack: TestStack;
  let admin: RehearsalAdmin;
  withStack((its, admins) => {
    stack = its;
    admin = admins;
  });

  const COMMAND = [
    'echo "attempt $JOBCTL_ATTEMPT after ${JOBCTL_PREVIOUS_ATTEMPT_END:-nothing}"',
    'if [ "$JOBCTL_ATTEMPT" = 2 ]; then exit 0; fi',
    `trap 'echo "told: $(cat "$JOBCTL_NOTICE_FILE")"; sleep 2; echo saved; exit 0' TERM`,
    'while :; do sleep 0.2; done',
  ].join('\n');

  it('is told to save before its run duration is over, and goes on in the next slice without a retry', async () => {
    const { length } = await admin.journal();
    const job = jobFile(COMMAND, {
      tpu: {
        ...{ accelerator: 'v5litepod-8', pricing: 'flex-start', run_duration: `${RUN_SECONDS}s` },
        allocation_mode: undefined,
      },
      hooks: { preemption: { run: 'echo hook for $JOBCTL_HOOK_CAUSE' } },
      retries: { preemption: 0, infrastructure: 0, task: 0 },
    });
    const { id } = await stack.jobs.submit({ job, user: 'alice' });
    const { result, attempts, preemptions, cause } = await stack.jobs.wait(id);
    assert.deepEqual([result, attempts, preemptions], ['succeeded', 2, 0], `${cause?.message}\n${stack.tail()}`);

    const log = (attempt: number) => storedLog(stack.store, { id, stream: 'command', host: 0, attempt });
    const first = await log(1);
    assert.match(first, /^attempt 1 after nothing$/m);
    assert.match(first, /^told: \{"v":1,"cause":"preemption","reason":"the run duration of its slices is over/m);
    assert.match(first, /hook for preemption[^]*^saved$/m);
    assert.match(await log(2), /^attempt 2 after run-duration-over$/m);
    const record = await stack.store.read(attemptObject(id, 1));
    assert.equal((JSON.parse(record?.toString('utf8') ?? '{}') as AttemptRecord).end, 'run-duration-over');

    await cloudIsEmpty(admin, 60_000);
    const journal = (await admin.journal()).slice(length).filter(({ subject }) => subject.includes(`jc-${id}-`));
    const states = journal.flatMap(({ kind, details }) => (kind === 'queued-resource-state' ? [details.to ?? ''] : []));
    // A slice whose time is over is SUSPENDED, by Google.
    assert.equal(states.filter((state) => state === 'ACTIVE').length, 2, states.join(' '));
    const [made, gone] = ['CREATING', 'gone'].map(
      (state) => journal.find(({ kind, details }) => kind === 'node-state' && details.to === state)?.at ?? NaN,
    ) as [number, number];
    assert.ok(gone - made < RUN_SECONDS * 1000, `it was there for ${gone - made} ms`);
  });

  it('says until when its slice lives', async () => {
    const job = jobFile('sleep 300', {
      tpu: { accelerator: 'v5litepod-8', pricing: 'flex-start', run_duration: '2h', allocation_mode: undefined },
    });
    const { id } = await stack.jobs.submit({ job, user: 'alice' });
    await until('it runs', async () => (await stack.jobs.describe(id)).phase === 'running', 60_000);
    const [slice] = (await stack.jobs.describe(id)).slices;
    assert.ok(slice?.endsAt !== undefined && slice.endsAt > Date.now() + 3_600_000, JSON.stringify(slice));
    await stack.jobs.cancel(id);
    await stack.jobs.wait(id);
  });
});
