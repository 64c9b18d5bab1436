import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import type { JanitorReport } from '../../../contract/janitor.js';
import type { DevContext } from '../../../cli/place/stack/context.js';
import { identify } from '../../../cli/place/stack/process-identity.js';
import { JobClient } from '../../../client/job-client.js';
import { JobLogReader } from '../../../client/job-logs.js';
import type { StoreReader } from '../../../cloud/store/port.js';
import { createStoreReader } from '../../../cloud/store/reader.js';
import { JANITOR_SCHEDULE_ID, WorkflowType } from '../../../contract/workflow-ids.js';
import { type Finished, JobctlUser } from '../../end-to-end/jobctl-process.js';
import type { RehearsalAdmin } from '../../end-to-end/rehearsal-admin.js';
import { tpuClient } from '../../../rehearsal/test/cloud-under-test.js';
import { until } from '../../until.js';
import { StartLedger } from './start-ledger.js';
import { type PostgresTemporal, startPostgresTemporal } from './temporal-on-postgres.js';

const ZONE = 'us-central1-a';
const PRINT_MS = 120_000;

/** A local stack on the real server and PostgreSQL whose database a test puts back, as an operator does it. */
export class RestoredStack {
  readonly user = new JobctlUser();
  readonly #directory: string;
  #ledger: StartLedger | undefined;
  #temporal: PostgresTemporal | undefined;
  #connection: Connection | undefined;
  #jobs: JobClient | undefined;

  /** For the database and its logs. */
  constructor(directory: string) {
    this.#directory = directory;
  }

  async start(poolChips: number): Promise<void> {
    this.#ledger = await StartLedger.start();
    this.#temporal = await startPostgresTemporal({ directory: this.#directory });
    this.writeQuota(poolChips);
    const { address, namespace } = this.temporal;
    const up = await this.user.run('dev', 'up', '--temporal-address', address, '--quota', this.#quotaFile);
    assert.equal(up.code, 0, up.stderr);
    this.#connection = await Connection.connect({ address });
    this.#jobs = await JobClient.connect({ temporal: { address, namespace } });
  }

  async leave(): Promise<void> {
    await this.#jobs?.close();
    await this.#connection?.close();
    await this.user.leave();
    await this.#temporal?.stop();
    await this.#ledger?.stop();
  }

  get ledger(): StartLedger {
    return this.#ledger as StartLedger;
  }

  get temporal(): PostgresTemporal {
    return this.#temporal as PostgresTemporal;
  }

  get jobs(): JobClient {
    return this.#jobs as JobClient;
  }

  get client(): Client {
    return new Client({ connection: this.#connection as Connection, namespace: this.temporal.namespace });
  }

  get admin(): RehearsalAdmin {
    return this.user.admin();
  }

  get store(): StoreReader {
    return createStoreReader(this.#context.store);
  }

  /** One host; runs until `gate` is opened. */
  async submit(gate: string): Promise<string> {
    const file = join(this.user.home, `${gate}.yaml`);
    const tpu = { accelerator: 'v5litepod-8', allocation_mode: 'queued-resources', pricing: 'spot', zone: ZONE };
    // YAML holds JSON.
    writeFileSync(file, JSON.stringify({ name: gate, tpu, command: { run: this.ledger.commandUntil(gate) } }));
    const { code, stdout, stderr } = await this.user.run('submit', file);
    assert.equal(code, 0, stderr);
    return stdout.trim();
  }

  async terminate(job: string): Promise<void> {
    await this.client.workflow.getHandle(job).terminate('test');
  }

  writeQuota(chips: number): void {
    writeFileSync(
      this.#quotaFile,
      `[toml-schema]
version = "1"
[[total_resources]]
v5litepod = ${chips}
[project_membership]
all = [".*"]
[project_resources.all]
v5litepod = 1.0
`,
    );
  }

  /** SIGTERM, as systemd sends it; returns when it has ended. */
  async stopWorker(): Promise<void> {
    const pid = this.user.pid('worker');
    process.kill(pid, 'SIGTERM');
    await until('the worker has ended', () => identify(pid) === undefined, 60_000);
  }

  async startWorker(): Promise<void> {
    const up = await this.user.run('dev', 'up');
    assert.equal(up.code, 0, up.stderr);
  }

  audit(): Promise<Finished> {
    return this.user.run('audit', 'leaks', '--grace', '0', '--output', 'json');
  }

  /** What the janitor's next sweep reports. */
  async sweep(): Promise<JanitorReport> {
    const since = new Date();
    await this.client.schedule.getHandle(JANITOR_SCHEDULE_ID).trigger();
    const query = `WorkflowType = '${WorkflowType.Janitor}' AND StartTime >= '${since.toISOString()}'`;
    const sweep = await until('it sweeps', async () => {
      for await (const found of this.client.workflow.list({ query })) return found;
      return undefined;
    });
    return (await this.client.workflow.getHandle(sweep.workflowId, sweep.runId).result()) as JanitorReport;
  }

  /** The call that `gcloud compute tpus queued-resources delete NAME --force` makes; returns when Google has taken it. */
  async deleteByHand(name: string): Promise<void> {
    const { cloud, googleProject } = this.#context;
    const google = tpuClient({ tpu: cloud.tpuEndpoint ?? '' }, cloud.accessTokenFile);
    try {
      const path = `projects/${googleProject}/locations/${ZONE}/queuedResources/${name}`;
      await google.deleteQueuedResource({ name: path, force: true });
    } finally {
      await google.close();
    }
  }

  /** What the command itself said, of all attempts. */
  starts(job: string): number {
    return this.ledger.entries().filter((entry) => entry.what === 'start' && entry.job === job).length;
  }

  /** Of its one host, as far as the store has it. */
  async log(job: string, attempt: number): Promise<string> {
    let text = '';
    const reader = new JobLogReader(this.store, job, { attempt, stream: 'command' });
    for await (const { bytes } of reader.unread()) text += bytes.toString();
    return text;
  }

  async untilPrinting(job: string, attempt: number): Promise<void> {
    await until(`${job} prints`, async () => (await this.log(job, attempt)).includes('line 3'), PRINT_MS);
  }

  get #quotaFile(): string {
    return join(this.user.home, 'quota.toml');
  }

  get #context(): DevContext {
    return JSON.parse(readFileSync(join(this.user.home, 'context.json'), 'utf8')) as DevContext;
  }
}
