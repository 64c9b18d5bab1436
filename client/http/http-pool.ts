import type { messageSchema } from '../../contract/api/changes.js';
import type { z } from 'zod';
import { JobNotFound, PoolNotFound, PoolRefused, ServerRefused } from '../errors.js';
import type { MachinesClient } from '../machines-client.js';
import type { Admission, AppliedFiles, PoolClient } from '../pool-client.js';
import type { Meanings } from './problems.js';
import type { ServerCalls } from './server-calls.js';

type Message = z.infer<typeof messageSchema>;

/** A pool by `jobctl serve`. Each call may be repeated. */
export class HttpPool implements PoolClient {
  readonly pool: string;
  readonly #calls: ServerCalls;

  constructor(pool: string, calls: ServerCalls) {
    this.pool = pool;
    this.#calls = calls;
  }

  apply(files: AppliedFiles): Promise<string> {
    return this.#tell(`v1/pools/${encodeURIComponent(this.pool)}/apply`, files);
  }

  setAdmission(admission: Admission, _by: string, reason?: string): Promise<string> {
    const body = { admission, ...(reason === undefined ? {} : { reason }) };
    return this.#tell(`v1/pools/${encodeURIComponent(this.pool)}/admission`, body);
  }

  /** The server knows the job's pool. */
  setPriority(job: string, priority: number): Promise<string> {
    const notFound = (): Error => new JobNotFound(job, `on ${this.#calls.address}`);
    return this.#tell(`v1/jobs/${encodeURIComponent(job)}/priority`, { priority }, { 'not-found': notFound });
  }

  release(job: string, because: string): Promise<string> {
    return this.#tell(`v1/pools/${encodeURIComponent(this.pool)}/release`, { job, because });
  }

  async #tell(path: string, body: object, meanings: Meanings = {}): Promise<string> {
    const own: Meanings = {
      refused: (why) => new PoolRefused(this.pool, why),
      invalid: (why) => new PoolRefused(this.pool, why),
      'not-found': () => new PoolNotFound(this.pool, `on ${this.#calls.address}`),
    };
    const ask = { method: 'POST', path, body, isRepeatable: true, meanings: { ...own, ...meanings } } as const;
    return (await this.#calls.json<Message>(ask)).message;
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
