import type { MachinesAnswer, MachineVerb } from '../../contract/machines.js';
import { GroupNotFound, JobNotFound, MachineNotFound, PoolNotFound, PoolRefused, ServerRefused } from '../errors.js';
import type { Admission, AppliedFiles, MachinesCall, MachinesClient, PoolClient } from '../pool-client.js';
import type { Ask, Meanings, ServerCalls } from './server-calls.js';

type Told = 'quotaApply' | 'admission' | 'priority' | 'groupPriority' | 'quotaRelease';

/** A pool through `jobctl serve`. Each call may be repeated. */
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

  /** The pool is not sent, since the server knows the job's. */
  setPriority(job: string, priority: number): Promise<string> {
    const notFound = (): Error => new JobNotFound(job, `on ${this.#calls.address}`);
    return this.#tell('priority', { params: { id: job }, body: { priority }, meanings: { 'not-found': notFound } });
  }

  setGroupPriority(group: string, priority: number): Promise<string> {
    const notFound = (): Error => new GroupNotFound(group, `on ${this.#calls.address}`);
    const meanings = { 'not-found': notFound };
    return this.#tell('groupPriority', { params: { id: group }, body: { priority }, meanings });
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

/**
 * Verbs that `jobctl serve` has no call for: one returns a long report, and the others are statements of a person who can see
 * the machine.
 */
const ELSEWHERE: ReadonlySet<MachineVerb> = new Set(['examine', 'forget', 'release']);

/** The machines of a pool through `jobctl serve`. Each call may be repeated. */
export class HttpMachines implements MachinesClient {
  readonly pool: string;
  readonly #calls: ServerCalls;

  constructor(pool: string, calls: ServerCalls) {
    this.pool = pool;
    this.#calls = calls;
  }

  async call({ verb, names, reason }: MachinesCall): Promise<MachinesAnswer> {
    if (ELSEWHERE.has(verb))
      throw new ServerRefused(
        `jobctl serve at ${this.#calls.address} has no call for machines ${verb}`,
        'ask by Temporal: a client or context that names its address',
      );
    const params = { pool: this.pool };
    const meanings: Meanings = {
      'not-found': (why) => new MachineNotFound(why),
      refused: (why) => new PoolRefused(this.pool, why),
    };
    const body = {
      verb: verb as 'drain' | 'undrain' | 'check',
      names: [...names],
      ...(reason !== undefined && { reason }),
    };
    const answer =
      verb === 'ls'
        ? await this.#calls.json('machines', { params, meanings })
        : await this.#calls.json('changeMachines', { params, body, meanings });
    const { machines } = answer as unknown as MachinesAnswer;
    if (verb !== 'ls' || names.length === 0) return { machines };
    const unknown = names.filter((name) => !machines.some((machine) => machine.name === name));
    if (unknown.length > 0) throw new MachineNotFound(`pool ${this.pool} has no machine ${unknown.join(', ')}`);
    return { machines: machines.filter(({ name }) => names.includes(name)) };
  }
}
