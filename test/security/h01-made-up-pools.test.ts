import assert from 'node:assert/strict';
import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { WorkflowFailedError } from '@temporalio/client';
import type { JobInput } from '../../contract/job.js';
import { WorkflowType } from '../../contract/workflow-ids.js';
import { SubmissionSigner } from '../../server/services.js';
import { quotaFileText } from '../quota/quota-file-text.js';
import { TEMPORAL_START_MS } from '../temporal-server.js';
import { until } from '../until.js';
import { AcceptingWorker } from './accepting-worker.js';

const POOL = 'made-up-none';
const MALLORY = 'mallory@example.org';
const pair = generateKeyPairSync('ed25519');
const signer = new SubmissionSigner('k1', pair.privateKey);
const serverKeys = { k1: pair.publicKey.export({ type: 'spki', format: 'pem' }).toString() };
const QUOTA = quotaFileText({ v5litepod: 64 }, { vision: { members: ['alice@example\\.org'], share: 1 } });
/** Named by the configuration, without files: unlimited. */
const OPEN = 'open-none';
/** Of `verified.trustedPools`. */
const TRUSTED = 'sandbox-none';

/**
 * An outside audit of 2026-11-24 (findings H1, H2). A pool that nobody configured had no quota file, so each project was everybody's
 * there, its secrets too; and one trusted pool opened the secrets of all projects. Each worker refuses both by itself, whatever a
 * server has signed.
 */
describe('H1, H2: a pool that a job makes up, or that is trusted, is no way to a project', function () {
  this.timeout(60_000);
  let worker: AcceptingWorker;
  before(async function () {
    this.timeout(TEMPORAL_START_MS);
    const verified = { serverKeys, trustedPools: [TRUSTED] };
    const files = { quota: QUOTA, pool: 'zones = ["us-east5-a"]\n' };
    worker = await AcceptingWorker.start(POOL, files, { verified, pools: { [OPEN]: {} } });
    await worker.secrets.put('vision--wandb', 'of vision');
    await worker.secrets.put('shared', 'of nobody');
  });
  after(() => worker?.stop());

  interface Attempt {
    readonly pool: string;
    /** In the job file. */
    readonly project?: string;
    /** What the server signs for. */
    readonly signedFor?: string;
    readonly secret?: string;
  }
  const inputOf = (id: string, { pool, project, signedFor, secret }: Attempt): JobInput => {
    const job = {
      ...{ pool, priority: 1, command: { run: 'true' } },
      ...(project === undefined ? {} : { project }),
      ...(secret === undefined ? {} : { secrets: { X: secret } }),
      tpu: { accelerator: 'v5litepod-1', zone: 'us-east5-a' },
    };
    const input: JobInput = { v: 1, user: MALLORY, job };
    if (signedFor === undefined) return input;
    return { ...input, authorization: signer.sign({ job: id, pool, project: signedFor, user: MALLORY }, input, 1) };
  };
  /** @returns why it was refused; `accepted`: its id is taken */
  const submit = async (attempt: Attempt): Promise<string> => {
    const id = `made-up-${randomUUID().slice(0, 8)}`;
    const { client, taskQueue, store } = worker;
    const handle = await client.workflow.start(WorkflowType.Job, {
      ...{ taskQueue, workflowId: id, args: [inputOf(id, attempt)] },
    });
    const refused = handle.result().then(
      () => 'ended',
      (error: unknown) => (error instanceof WorkflowFailedError ? String(error.cause?.message) : String(error)),
    );
    const accepted = until('it is taken, or not', async () => {
      if ((await store.stat(`jobs/${id}/run`)) !== undefined) return 'accepted';
      return (await handle.describe()).status.name === 'RUNNING' ? undefined : refused;
    });
    const end = await Promise.race([refused, accepted]);
    if (end === 'accepted') await handle.terminate();
    return end;
  };

  it('in the pool of the quota file a project is its members’, as ever', async () => {
    const why = await submit({ pool: POOL, project: 'vision', signedFor: 'vision', secret: 'vision--wandb' });
    assert.match(why, /'mallory@example\.org' may not submit to 'vision': not a member/);
    assert.equal(await submit({ pool: POOL, signedFor: 'none' }), 'accepted');
  });

  for (const pool of ['zzz', 'Made-up-none', 'MADE-UP-NONE', 'made-up-non', '..', '.', '__proto__', 'constructor'])
    it(`pool ${pool}, which no configuration names, is refused, and leaves nothing behind`, async () => {
      for (const attempt of [
        { pool, project: 'vision', signedFor: 'vision', secret: 'vision--wandb' },
        { pool, signedFor: 'none' },
      ]) {
        const why = await submit(attempt);
        assert.ok(why.includes(`pool: there is no pool '${pool}'; the pools are ${POOL}, ${OPEN}`), why);
        if (/^made/i.test(pool)) assert.ok(why.includes(`did you mean ${POOL}?`), why);
      }
      const left = (await worker.store.list('quota/')).map(({ name }) => name.split('/')[1]);
      assert.ok(!left.includes(pool), String(left));
    });

  it('a pool with a file that was applied exists; by another case it does not; without the file it is none again', async () => {
    const object = 'quota/Applied/applied/pool';
    await worker.store.replace(object, 'zones = ["us-east5-a"]\n');
    assert.equal(await submit({ pool: 'Applied', signedFor: 'none' }), 'accepted');
    assert.match(await submit({ pool: 'applied', signedFor: 'none' }), /no pool 'applied'; the pools are [^]*Applied/);
    await worker.store.remove(object);
    const gone = await until('the file is gone', async () => {
      const why = await submit({ pool: 'Applied', signedFor: 'none' });
      return why !== 'accepted' && why;
    });
    assert.match(gone, /there is no pool 'Applied'/);
  });

  it('a named pool without a quota file takes jobs without a project, and none of a project', async () => {
    assert.equal(await submit({ pool: OPEN, signedFor: 'none' }), 'accepted');
    assert.equal(await submit({ pool: OPEN, project: 'None', signedFor: 'none' }), 'accepted');
    const why = await submit({ pool: OPEN, project: 'vision', signedFor: 'vision', secret: 'vision--wandb' });
    assert.match(why, /project: the pool has no quota file, so 'vision' has no members/);
    // A server that signs a project that the job file leaves out.
    assert.match(await submit({ pool: OPEN, signedFor: 'vision' }), /so 'vision' has no members/);
  });

  it('a trusted pool stays as it was, but for the secrets of projects', async () => {
    assert.equal(await submit({ pool: TRUSTED, project: 'vision', secret: 'shared' }), 'accepted');
    const why = await submit({ pool: TRUSTED, project: 'vision', secret: 'vision--wandb' });
    assert.match(why, /secret vision--wandb is one of a project, and nobody has verified whose job this is/);
  });
});
