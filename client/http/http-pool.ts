import { JobNotFound, PoolNotFound, PoolRefused, ServerRefused } from '../errors.js';
import type { MachinesClient } from '../machines-client.js';
import type { Admission, AppliedFiles, PoolClient } from '../pool-client.js';
import type { Meanings } from './problems.js';
import type { Ask, ServerCalls } from './server-calls.js';

type Told = 'quotaApply' | 'admission' | 'priority' | 'quotaRelease';

/** A pool by `jobctl serve`. Each call may be repeated. */
export class HttpPool implements PoolClient {
  readonly pool: string;
  readonly #calls: ServerCalls;

  constructor(pool: string, calls: ServerCalls) {
    this.pool = pool;
    this.#calls = calls;
  }

  apply(files: AppliedFiles): Promise<string> {
    return this.#tell('quotaApply', { params: { pool: this.pool }, body: files });
  }

  setAdmission(admission: Admission, _by: string, reason?: string): Promise<string> {
    const body = { admission, ...(reason === undefined ? {} : { reason }) };
    return this.#tell('admission', { params: { pool: this.pool }, body });
  }

  /** The server knows the job's pool. */
  setPriority(job: string, priority: number): Promise<string> {
    const notFound = (): Error => new JobNotFound(job, `on ${this.#calls.address}`);
    return this.#tell('priority', { params: { id: job }, body: { priority }, meanings: { 'not-found': notFound } });
  }

  release(job: string, because: string): Promise<string> {
    return this.#tell('quotaRelease', { params: { pool: this.pool }, body: { job, because } });
  }

  async #tell<Name extends Told>(name: Name, ask: Ask<Name>): Promise<string> {
    const own: Meanings = {
      refused: (why) => new PoolRefused(this.pool, why),
      invalid: (why) => new PoolRefused(this.pool, why),
      'not-found': () => new PoolNotFound(this.pool, `on ${this.#calls.address}`),
    };
    return (await this.#calls.json<Told>(name, { ...ask, meanings: { ...own, ...ask.meanings } } as Ask<Told>)).message;
  }
}

/** Machines of a pool are a matter for operators, who have access to Temporal. */
export const noMachines = (pool: string, { address }: ServerCalls): MachinesClient => ({
  pool,
  call: () =>
    Promise.reject(
      new ServerRefused(
        `jobctl serve at ${address} has no calls for machines of a pool`,
        'ask by Temporal: a client or context that names its address',
      ),
    ),
});
