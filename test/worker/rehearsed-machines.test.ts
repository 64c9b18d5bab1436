import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { TEMPORAL_START_MS, testServer } from '../temporal-server.js';
import { workerConfigOf } from '../../cli/place/stack/context.js';
import { stackHome } from '../../cli/terminal/home.js';
import type { WorkerConfig } from '../../worker/config.js';
import { jobctl } from '../cli/command-line.js';
import { until } from '../until.js';
import { AcceptingWorker } from '../security/accepting-worker.js';
import { everybodysQuota } from '../quota/quota-file-text.js';
import type { JobRow } from '../../client/job-rows.js';

const POOL = 'rehearsed-machines';
const QUOTA = everybodysQuota({ machine: 4, h100: 8 });
const LOCAL = [{ name: 'local-1', address: '127.77.1.255', port: 22, user: 'jobctl' }];
const RACK = '[[machines]]\nname = "rack"\naddress = "10.0.0.1"\nuser = "me"\n';

/** docs/adr/0154 */
describe('a worker that has rehearsed machines for its pool', function () {
  this.timeout(60_000);
  let worker: AcceptingWorker | undefined;
  const start = async (pool: string, label = true): Promise<AcceptingWorker> => {
    const rehearsed = label ? { label: 'REHEARSAL', rehearsedMachines: LOCAL } : {};
    return (worker = await AcceptingWorker.start(POOL, { quota: QUOTA, pool }, rehearsed));
  };
  const folder = mkdtempSync(join(tmpdir(), 'rehearsed-machines-'));
  afterEach(async () => {
    await worker?.stop();
    worker = undefined;
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  /** @returns its row once it was accepted, or refused */
  const submitted = async ({ jobs }: AcceptingWorker, machines: object): Promise<JobRow> => {
    const { id } = await jobs.submit({
      job: { pool: POOL, machines, command: { run: 'true' } },
      source: '',
      user: 'ann',
    });
    let row: JobRow | undefined;
    await until('the job has been judged', async () => {
      row = await jobs.row(id);
      return row.why !== undefined || row.endedAt !== undefined;
    });
    if (row === undefined) throw new Error('unreachable');
    if (row.endedAt === undefined) await jobs.cancel(id);
    return row;
  };
  const labelOf = async (host: AcceptingWorker): Promise<string | undefined> => {
    const { phase, label } = await submitted(host, {});
    assert.equal(phase, 'queued');
    return label;
  };

  it('labels a job on them, and refuses one that asks for accelerators', async function () {
    this.timeout(TEMPORAL_START_MS);
    const host = await start('');
    assert.equal(await labelOf(host), 'REHEARSAL');
    const refused = await submitted(host, { accelerator: 'h100', count: 8 });
    assert.equal(refused.phase, 'failed');
  });

  it('is told of them by a local stack, unless its cloud is real', () => {
    const ports = { temporal: 1, temporalUi: 2, tpu: 3, tpuRest: 4, store: 5, admin: 6, health: 7, metrics: 8 };
    const addresses = { ...ports, kubernetes: 9, ssh: 22, subnetOctet: 77 };
    const record = { v: 1, addresses, temporalAddress: null, quotaFile: null, parts: {} } as const;
    const home = stackHome({ JOBCTL_HOME: folder });
    const toldOf = (realCloud?: { googleProject: string; bucket: string }): readonly { readonly name: string }[] =>
      (workerConfigOf(home, { ...record, ...(realCloud && { realCloud }) }) as Partial<WorkerConfig>)
        .rehearsedMachines ?? [];
    assert.deepEqual([toldOf()[0], toldOf().length], [LOCAL[0], 4]);
    assert.deepEqual(toldOf({ googleProject: 'p', bucket: 'b' }), []);
  });

  it('offers none once the pool file names a machine: a job there is none of a rehearsal', async () => {
    assert.equal(await labelOf(await start(RACK)), undefined);
  });

  it('of a real cloud has none: submit and validate refuse the job with exit code 4 and the same words', async () => {
    const { taskQueue } = await start('', false);
    const { address, namespace } = await testServer();
    const file = join(folder, 'job.yaml');
    writeFileSync(file, `pool: ${POOL}\nmachines: {}\ncommand: { run: "true" }\n`);
    writeFileSync(join(folder, 'pool.toml'), '');
    const submit = await jobctl(['submit', file], {
      ...{ TEMPORAL_ADDRESS: address, TEMPORAL_NAMESPACE: namespace, JOBCTL_TASK_QUEUE: taskQueue },
      JOBCTL_BUCKET: pathToFileURL(folder).href,
    });
    const validate = await jobctl(['validate', file, '--pool-file', join(folder, 'pool.toml')]);
    const words = `machines: the job asks for 1 machine without an accelerator, and pool ${POOL} has none
  name machines as [[machines]] in its pool file: docs/own-machines.md
  without any, a local stack rehearses some without accelerators: jobctl submit --local
`;
    assert.deepEqual(validate, { exitCode: 4, stdout: '', stderr: `${file}:2:11: ${words}` });
    assert.equal(submit.exitCode, 4, submit.stderr);
    assert.ok(submit.stderr.includes(` was refused: ${words}`), submit.stderr);
  });
});
