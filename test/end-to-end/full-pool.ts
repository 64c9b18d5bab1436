import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { resolveTemporalCli } from '../../cli/local/dev/temporal-server/resolve.js';
import type { Timings } from '../../domain/timings.js';
import { everybodysQuota } from '../quota/quota-file-text.js';
import { until } from '../until.js';
import { jobFile } from './job-files.js';
import { nothingIsLeft, vmInits } from './nothing-left.js';
import { poolState } from './pool-watch.js';
import { mostChipsAtOnce, RehearsalAdmin } from './rehearsal-admin.js';
import { storedLog } from './stored-log.js';
import { TestStack } from './test-stack.js';

/** One slice of so many hosts fills the pool, and a second job waits. Each host costs a job about a second of CPU time. */
const SLICES = { 1: { accelerator: 'v5litepod-8', chips: 8 }, 4: { accelerator: 'v5litepod-16', chips: 16 } } as const;
export type Hosts = keyof typeof SLICES;
/** Jobs and pools continue as new within seconds. */
const SHORT_RUNS: Partial<Timings> = { jobHistoryEvents: 40, superviseMs: 1_000, quotaHistoryEvents: 100 };
const STUBBORN = "trap '' TERM; echo started; while :; do sleep 1; done";

/** A stack whose pool one job fills: for jobs and workflows that are ended from outside, in each phase. */
export class FullPool {
  readonly stack: TestStack;
  readonly admin: RehearsalAdmin;
  readonly pool: string;
  readonly hosts: Hosts;
  readonly #cli: string;

  private constructor(stack: TestStack, pool: string, hosts: Hosts, cli: string) {
    this.stack = stack;
    this.hosts = hosts;
    this.admin = new RehearsalAdmin(stack.rehearsal.endpoints.admin);
    this.pool = pool;
    this.#cli = cli;
  }

  /** @param timings without any, runs are as long as with a worker's default limits */
  static async start(pool: string, timings: Partial<Timings> = SHORT_RUNS, hosts: Hosts = 4): Promise<FullPool> {
    const { path } = await resolveTemporalCli({ onProgress: () => undefined });
    const quota = everybodysQuota({ v5litepod: SLICES[hosts].chips });
    return new FullPool(await TestStack.start({ quota, pool, timings }), pool, hosts, path);
  }

  /** What a test has told the rehearsal to hold or to refuse ends with it. */
  async release(): Promise<void> {
    await this.admin.post('release', {});
    await this.admin.stopRefusing();
  }

  /** `temporal workflow ..`, as an operator types it. */
  temporal(...args: readonly string[]): Promise<unknown> {
    return promisify(execFile)(this.#cli, ['workflow', ...args, '--address', this.stack.server.address]);
  }

  terminate(workflowId: string): Promise<unknown> {
    return this.temporal('terminate', '--workflow-id', workflowId, '--reason', 'test');
  }

  /** Takes the whole pool. Without a command: one that prints a line and ignores SIGTERM. */
  async submit(
    command = STUBBORN,
    more: { readonly tpu?: object; readonly [key: string]: unknown } = {},
  ): Promise<string> {
    const tpu = { accelerator: SLICES[this.hosts].accelerator, ...more.tpu };
    const job = jobFile(command, { pool: this.pool, grace: 1, ...more, tpu });
    return (await this.stack.jobs.submit({ job, user: 'alice' })).id;
  }

  inPhase(id: string, phase: string): Promise<unknown> {
    return until(`${id} is ${phase}`, async () => (await this.stack.jobs.row(id)).phase === phase);
  }

  hasPrinted(id: string): Promise<unknown> {
    const { store } = this.stack;
    return until('it has printed', async () => (await store.list(`jobs/${id}/logs/a1/command/`)).length === this.hosts);
  }

  async isWaiting(id: string): Promise<boolean> {
    return (await poolState(this.stack.client, this.pool))?.waiting.some(({ lease }) => lease.job === id) === true;
  }

  /** A job that runs on all that the pool has. */
  async running(): Promise<string> {
    const id = await this.submit();
    await this.hasPrinted(id);
    return id;
  }

  async stoppedWithGrace(id: string): Promise<void> {
    for (let host = 0; host < this.hosts; host++) {
      const text = await storedLog(this.stack.store, { id, stream: 'command', host });
      assert.match(text, /^started\n(.*\n)*got TERM\n/);
    }
  }

  inits(): Promise<readonly number[]> {
    return vmInits(this.admin);
  }

  async nothingIsLeft(inits: readonly number[] = []): Promise<void> {
    await nothingIsLeft(this.stack, this.admin, inits, this.pool);
    const ofJobs = (await this.admin.journal()).filter(({ subject }) => !subject.includes('stranger'));
    assert.ok(mostChipsAtOnce(ofJobs) <= SLICES[this.hosts].chips, 'more chips existed than the pool has');
  }
}
