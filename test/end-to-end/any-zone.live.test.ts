import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { CapacityRow } from '../../quota/seen-capacity.js';
import { quotaFileText } from '../quota/quota-file-text.js';
import { TEMPORAL_START_MS } from '../temporal-server.js';
import { until } from '../until.js';
import { JobctlUser } from './jobctl-process.js';
import { cloudIsEmpty } from './nothing-left.js';
import { RehearsalAdmin } from './rehearsal-admin.js';
import { TestStack } from './test-stack.js';

const DRAINED = 'us-central1-a';
const OTHER = 'us-west4-a';
const POOL = 'anywhere';

describe('a job file with zones: any, in a pool of two zones of which the first is drained', function () {
  this.timeout(120_000);
  let stack: TestStack;
  let admin: RehearsalAdmin;
  let user: JobctlUser;

  before(async function () {
    this.timeout(TEMPORAL_START_MS);
    stack = await TestStack.start({ timings: { zonePatienceMs: 3_000 } });
    admin = new RehearsalAdmin(stack.rehearsal.endpoints.admin);
    user = JobctlUser.of(stack);
    const quotaFile = {
      name: 'quota.toml',
      text: quotaFileText({ v5litepod: 64 }, { a: { members: ['alice'], share: 1 } }),
    };
    const poolFile = { name: 'pool.toml', text: `zones = ["${DRAINED}", "${OTHER}"]\n` };
    await stack.jobs.quota(POOL).apply({ quotaFile, poolFile }, 'ann');
    await admin.post('configure', { capacity: { [`${DRAINED}/v5litepod`]: 0 } });
  });
  after(async () => {
    await stack.stop();
  });

  function fileOf(name: string, accelerator = 'v5litepod-8'): string {
    const file = join(user.home, `${name}.yaml`);
    const tpu = `{ accelerator: ${accelerator}, zones: any, allocation_mode: queued-resources }`;
    writeFileSync(file, `name: ${name}\npool: ${POOL}\nuser: alice\ntpu: ${tpu}\ncommand: { run: "true" }\n`);
    return file;
  }

  async function submit(name: string): Promise<string> {
    const { code, stdout, stderr } = await user.run('submit', fileOf(name), '--no-verdict', '-o', 'json');
    assert.equal(code, 0, stderr);
    return (JSON.parse(stdout) as { id: string }).id;
  }

  /** The zones that the job was asked for in alone, in order. */
  const askedIn = async (id: string): Promise<readonly string[]> =>
    (await stack.jobs.describe(id)).events.flatMap(({ text }) => / x \S+ in (us-\S+)$/.exec(text)?.[1] ?? []);

  const seen = async (): Promise<readonly CapacityRow[]> => {
    const { code, stdout } = await user.run('capacity', '--pool', POOL, '-o', 'json');
    return code === 0 ? (JSON.parse(stdout) as { rows: CapacityRow[] }).rows : [];
  };

  it('runs in the other one; the next job asks there first, by what the first has seen', async () => {
    const first = await submit('first');
    assert.equal((await stack.jobs.wait(first)).result, 'succeeded', stack.tail());
    assert.equal((await stack.jobs.describe(first)).slices[0]?.ref.zone, OTHER);
    assert.equal((await askedIn(first))[0], DRAINED, 'nothing was known: the pool file’s order');
    const row = await until('the pool shows what it saw', async () =>
      (await seen()).find(({ zone, got }) => zone === OTHER && got === 1),
    );
    assert.deepEqual([row.accelerator, row.pricing, row.asked], ['v5litepod-8', 'spot', 1]);
    await cloudIsEmpty(admin, 60_000);

    const second = await submit('second');
    assert.equal((await stack.jobs.wait(second)).result, 'succeeded', stack.tail());
    assert.deepEqual(await askedIn(second), [OTHER]);
    const table = await user.run('capacity', '--pool', POOL);
    assert.match(table.stdout, new RegExp(`${OTHER} +v5litepod-8 +spot +2 +2 `), table.stdout);
    assert.match(table.stdout, /seen by its jobs, .*; no promise/);
  });

  it('is refused, at submit as by validate, where no zone of the pool has the type: which have it', async () => {
    const file = fileOf('elsewhere', 'v4-8');
    const poolFile = join(user.home, 'pool.toml');
    writeFileSync(poolFile, `zones = ["${DRAINED}", "${OTHER}"]\n`);
    const want =
      /no zone of pool 'anywhere' has v4-8: its zones are us-central1-a, us-west4-a\n +v4 is in us-central2-b\n/;
    const validated = await user.run('validate', file, '--pool-file', poolFile);
    assert.equal(validated.code, 2, validated.stdout);
    assert.match(validated.stderr + validated.stdout, want);
    const submitted = await user.run('submit', file);
    assert.notEqual(submitted.code, 0);
    assert.match(submitted.stderr + submitted.stdout, want);
  });
});
