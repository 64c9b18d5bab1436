import assert from 'node:assert/strict';
import type { AuditLine } from '../../../contract/api/callers.js';
import { randomUUID } from 'node:crypto';
import { WorkflowNotFoundError } from '@temporalio/client';
import { openSecretStore } from '../../../cloud/secrets/open-secret-store.js';
import { WorkflowType } from '../../../contract/workflow-ids.js';
import { appliedFileObject } from '../../../domain/store-layout.js';
import { SubmissionSigner } from '../../../server/services.js';
import { jobFile } from '../../end-to-end/job-files.js';
import { quotaFileText } from '../../quota/quota-file-text.js';
import { ServerStack } from '../../server/server-stack.js';
import { TEMPORAL_START_MS } from '../../temporal-server.js';
import { until } from '../../until.js';

const MALLORY = 'mallory@example.org';
/** Operator of pool default alone. */
const OLGA = 'olga@example.org';
/** Named by server and worker, without files. */
const OPEN = 'h01-open';
/** Its files are applied, by its operator mallory. */
const OTHER = 'h01-other';
const TRUSTED = 'h01-sandbox';

/** Findings H1 and H2 of the audit of 2026-11-24, by the processes that an installation has. */
describe('H1, H2: through the server, a pool that a job makes up, or that is trusted, is no way to a project', function () {
  this.timeout(180_000);
  let stack: ServerStack;
  before(async function () {
    this.timeout(TEMPORAL_START_MS);
    stack = await ServerStack.start({ serverConfig: () => ({ pools: { [OPEN]: {} } }) });
    const { verified } = stack.stack.workerConfig as { readonly verified: object };
    const trusting = { verified: { ...verified, trustedPools: [TRUSTED] }, pools: { [OPEN]: {} } };
    await stack.stack.stopWorker();
    stack.stack.workerConfig = { ...stack.stack.workerConfig, ...trusting };
    await stack.stack.startWorker();
    await openSecretStore(stack.stack.secretStore).put('vision--wandb', 'of vision');
    const text = `[access]\noperators = ["user:${MALLORY}"]\n`;
    await stack.store.write(appliedFileObject(OTHER, 'pool'), text, 'absent');
  });
  after(() => stack?.stop());

  const job = (more: object) =>
    jobFile('echo "got $X"', { priority: 1, tpu: { accelerator: 'v5litepod-1', zone: 'us-central1-a' }, ...more });
  const stolen = { project: 'vision', secrets: { X: 'vision--wandb' } };
  const submit = (more: object, who = MALLORY) => stack.call(who, 'POST', '/v1/jobs', { job: job(more) });
  /** Started past the server, with what `of` says of the input's signature. */
  const startedPast = async (
    more: object,
    of?: { readonly pool: string; readonly project: string },
  ): Promise<string> => {
    const id = `h01-${randomUUID().slice(0, 8)}`;
    const { client, taskQueue } = stack.stack;
    const input = { v: 1 as const, job: job(more), user: MALLORY };
    const signer = new SubmissionSigner('test-1', stack.signingKey);
    const signed = of && { authorization: signer.sign({ job: id, user: MALLORY, ...of }, input, Date.now()) };
    const args = [{ ...input, ...signed }];
    const handle = await client.workflow.start(WorkflowType.Job, { workflowId: id, taskQueue, args });
    return handle.result().then(
      () => 'it ran',
      (failure: Error) => (failure.cause as Error).message,
    );
  };
  const hasNothingOf = async (pool: string): Promise<void> => {
    const asked = stack.stack.client.workflow.getHandle(`quota/${pool}`).describe();
    await assert.rejects(asked, WorkflowNotFoundError, `quota/${pool} runs for ever`);
    assert.deepEqual(await stack.store.list(`quota/${pool}/`), []);
  };

  it('a made-up pool is refused by the server, with the pools that there are, and nothing of it is left', async () => {
    for (const [pool, near] of Object.entries({ zzz: undefined, Default: 'default', defualt: 'default' })) {
      for (const more of [{ pool, ...stolen }, { pool }]) {
        const { status, body, text } = await submit(more);
        assert.equal(status, 403, text);
        const detail = String(body['detail']);
        assert.ok(
          detail.startsWith(`pool: there is no pool '${pool}'; the pools are default, ${OPEN}, ${OTHER}`),
          detail,
        );
        const remedy = String(body['remedy']);
        assert.equal(/did you mean (\S+)\?/.exec(remedy)?.[1], near);
        assert.match(remedy, /ask an operator to name the pool/);
      }
      await hasNothingOf(pool);
    }
  });

  it('and by the worker alone, whatever a server has signed', async () => {
    const why = await startedPast({ pool: 'zzz', ...stolen }, { pool: 'zzz', project: 'vision' });
    assert.match(why, /there is no pool 'zzz'/);
    await hasNothingOf('zzz');
  });

  it('a pool without a quota file takes a job without a project, and nobody’s of a project', async () => {
    const { status, text } = await submit({ pool: OPEN, ...stolen });
    assert.equal(status, 403, text);
    assert.match(text, /the pool has no quota file, so 'vision' has no members/);
    const past = await startedPast({ pool: OPEN, ...stolen }, { pool: OPEN, project: 'vision' });
    assert.match(past, /the pool has no quota file, so 'vision' has no members/);
    const first = await submit({ pool: OPEN });
    assert.equal(first.status, 201, first.text);
    const wait = `/v1/jobs/${String(first.body['id'])}/wait?timeoutMs=20000`;
    const ended = await until(
      'it has ended',
      async () => {
        const { body } = await stack.call(MALLORY, 'GET', wait);
        return body['isOver'] === true && body;
      },
      90_000,
    );
    assert.equal((ended['outcome'] as Record<string, unknown>)['result'], 'succeeded');
  });

  it('a job of a trusted pool reads no secret of a project', async () => {
    const why = await startedPast({ pool: TRUSTED, ...stolen });
    assert.match(why, /secret vision--wandb is one of a project, and nobody has verified whose job this is/);
  });

  it('an operator of another pool does not make themselves a member of a project there', async () => {
    const apply = (who: string, members: Readonly<Record<string, string>>, pool = OTHER) => {
      const projects = Object.entries(members).map(([name, user]) => [name, { members: [user], share: 0.5 }] as const);
      const quotaFile = { name: 'q.toml', text: quotaFileText({ v5litepod: 8 }, Object.fromEntries(projects)) };
      return stack.call(who, 'POST', `/v1/pools/${pool}/apply`, { quotaFile });
    };
    for (const name of ['vision', 'VISION']) {
      const taken = await apply(MALLORY, { mine: MALLORY, [name]: MALLORY });
      assert.equal(taken.status, 403, taken.text);
      assert.match(
        String(taken.body['detail']),
        new RegExp(`q\\.toml: project ${name} is one of pool default too, and ${MALLORY} is no operator there`),
      );
      assert.match(String(taken.body['remedy']), /operator of both pools/);
    }
    assert.equal(await stack.store.stat(appliedFileObject(OTHER, 'quota')), undefined);
    const { body: audit } = await stack.call(MALLORY, 'GET', `/v1/audit?pool=${OTHER}&user=${MALLORY}`);
    const applied = (audit['lines'] as readonly AuditLine[]).filter(({ verb }) => verb === 'quota-apply');
    assert.deepEqual(
      applied.map(({ decision, pool }) => [decision, pool]),
      [
        ['refused', OTHER],
        ['refused', OTHER],
      ],
    );
    const own = await apply(MALLORY, { mine: MALLORY });
    assert.equal(own.status, 200, own.text);
    assert.equal((await submit({ pool: OTHER, project: 'vision' })).status, 403);
    const mine = async (): Promise<boolean> => (await submit({ pool: OTHER, project: 'mine' })).status === 201;
    await until('the server has read it', mine, 20_000);
    // The other way round: default's are configured, and who is operator of both may.
    const both = `[access]\noperators = ["user:${MALLORY}", "user:${OLGA}"]\n`;
    await stack.store.replace(appliedFileObject(OTHER, 'pool'), both);
    const shared = await until(
      'olga is operator of both',
      async () => {
        const answer = await apply(OLGA, { mine: MALLORY, vision: 'alice@example\\.org' });
        return answer.status === 200 && answer;
      },
      20_000,
    );
    assert.equal(shared.status, 200);
    // It is shared now, by somebody who may: from then on the pool's own operators keep its members.
    const keep = () => apply(MALLORY, { mine: MALLORY, vision: 'bob@example\\.org' });
    await until('the server has read it', async () => (await keep()).status === 200, 20_000);
  });
});
