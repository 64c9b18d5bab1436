import assert from 'node:assert/strict';
import { PoolRefused } from '../../client/errors.js';
import { quotaFileText } from '../quota/quota-file-text.js';
import { TEMPORAL_START_MS } from '../temporal-server.js';
import { until } from '../until.js';
import { jobFile } from './job-files.js';
import { poolState } from './pool-watch.js';
import { type CloudEvent, mostChipsAtOnce, RehearsalAdmin } from './rehearsal-admin.js';
import { storedLog } from './stored-log.js';
import { TestStack } from './test-stack.js';

const POOL = 'borrow';
/** Room for two v5litepod-4, one for each project. */
const QUOTA = quotaFileText(
  { v5litepod: 8 },
  { a: { members: ['alice'], share: 0.5 }, b: { members: ['bob'], share: 0.5 } },
);
const SHORT_TIMES = '[quota]\nmin_runtime = "1s"\n';
const BROKEN = QUOTA.replace('v5litepod = 8', 'v5litepod = -8').replace('["bob"]', '["("]');

const FOR_EVER = 'echo started; while :; do sleep 0.2; done';
/** Saves when it is told, here into its log; goes on from there the second time. */
const SAVES = `
if [ "$JOBCTL_ATTEMPT" -gt 1 ]; then echo "goes on after: $JOBCTL_PREVIOUS_ATTEMPT_END"; exit 0; fi
trap 'cat "$JOBCTL_NOTICE_FILE"; echo saved; exit 0' TERM
echo started
while :; do sleep 0.1; done`;

describe('lent chips, on the local stack', function () {
  this.timeout(120_000);
  let stack: TestStack;
  let admin: RehearsalAdmin;

  before(async function () {
    this.timeout(TEMPORAL_START_MS);
    stack = await TestStack.start({ pool: POOL });
    admin = new RehearsalAdmin(stack.rehearsal.endpoints.admin);
    const quotaFile = { name: 'quota.toml', text: QUOTA };
    await stack.jobs.quota(POOL).apply({ quotaFile, poolFile: { name: 'pool.toml', text: SHORT_TIMES } }, 'ann');
  });
  after(() => stack.stop());

  const submit = async (user: string, command: string): Promise<string> =>
    (await stack.jobs.submit({ job: jobFile(command, { pool: POOL, tpu: { accelerator: 'v5litepod-4' } }), user })).id;

  const log = (id: string, attempt: number): Promise<string> =>
    storedLog(stack.store, { id, stream: 'command', host: 0, attempt });
  const hasStarted = (id: string): Promise<unknown> =>
    until(`${id} runs`, async () => (await log(id, 1)).includes('started'), 60_000);

  /** Lease numbers and states of the pool, by job: what a file that is refused must not move. */
  async function leases(): Promise<readonly string[]> {
    const pool = await poolState(stack.client, POOL);
    return (pool?.leases ?? []).map(({ lease, state }) => `${lease.job} ${lease.number} ${state}`).toSorted();
  }

  /** When a job's resources first appeared in the cloud, and when its first one was gone. */
  function lifeOf(id: string, events: readonly CloudEvent[]): { readonly first: number; readonly gone: number } {
    const own = events.filter(
      ({ kind, subject }) => /^(queued-resource|node)-state$/.test(kind) && subject.includes(`jc-${id}-`),
    );
    const isGone = ({ subject, details }: CloudEvent): boolean => details.to === 'gone' && subject.endsWith('-g1');
    return { first: own[0]?.seq ?? Infinity, gone: own.filter(isGone).at(-1)?.seq ?? Infinity };
  }

  it('come back to their owner when the borrower has saved and gone, and the borrower comes back and ends well', async () => {
    const kept = await submit('alice', FOR_EVER);
    await hasStarted(kept);
    const borrower = await submit('alice', SAVES);
    await hasStarted(borrower);

    const before = await leases();
    await assert.rejects(
      stack.jobs.quota(POOL).apply({ quotaFile: { name: 'broken.toml', text: BROKEN } }, 'ann'),
      (error) => error instanceof PoolRefused && /broken\.toml/.test(error.message) && /-8/.test(error.message),
    );
    assert.deepEqual(await leases(), before, 'a refused file moved something');

    const owner = await submit('bob', 'echo started; sleep 1');
    assert.equal((await stack.jobs.wait(owner)).result, 'succeeded');
    const outcome = await stack.jobs.wait(borrower);
    assert.equal(outcome.result, 'succeeded', JSON.stringify(outcome));
    assert.deepEqual([outcome.attempts, outcome.preemptions, outcome.quotaPreemptions], [2, 0, 1]);

    const told = (await log(borrower, 1)).split('\n');
    assert.equal(told.at(-2), 'saved');
    const { cause, reason } = JSON.parse(told.at(-3) as string) as { cause: string; reason: string };
    assert.equal(cause, 'quota');
    assert.ok(reason.includes(owner) && reason.includes('project b'), reason);
    assert.equal(await log(borrower, 2), 'goes on after: revoked\n');

    const events = await admin.journal();
    assert.ok(
      lifeOf(borrower, events).gone < lifeOf(owner, events).first,
      'the owner was there before the borrower had gone',
    );
    assert.equal(mostChipsAtOnce(events), 8, 'the pool has 8 chips, and both were in use');
    const row = await stack.jobs.row(kept);
    assert.deepEqual([row.phase, row.attempts], ['running', 1], "a job on its project's own quota was touched");
    await stack.jobs.cancel(kept);
    assert.equal((await stack.jobs.wait(kept)).result, 'cancelled');
  });
});
