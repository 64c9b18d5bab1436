import type { AccessObject } from '../../domain/access/table.js';
import type { Outcome } from '../../domain/job-state.js';
import { toldWithoutOutput } from '../../domain/output-lines.js';
import type { Caller } from '../identity/verifier.js';
import { ApiError } from '../problem.js';
import type { Gate } from './gate.js';

/** What everybody is told of a job. */
interface Told {
  readonly why?: string;
  readonly outcome?: Outcome;
}

/**
 * As `caller` may see it. Lines of output stand in the words of some failures, and they are part of the job's logs: who may not read
 * those is told the rest. The gate is asked for such rows alone.
 */
export async function toldTo<T extends Told>(gate: Gate, caller: Caller, object: AccessObject, told: T): Promise<T> {
  const cut = toldWithoutOutput(told);
  return cut === told || (await mayReadLogs(gate, caller, object)) ? told : cut;
}

/** Of a row, which names its job's owner, project and pool. */
export const rowTo = <T extends Told & RowOf>(gate: Gate, caller: Caller, row: T): Promise<T> => {
  const { id: job, user: owner, project, pool } = row;
  return toldTo(gate, caller, { job, owner, project, pool }, row);
};

interface RowOf {
  readonly id: string;
  readonly user: string;
  readonly project: string;
  readonly pool: string;
}

async function mayReadLogs(gate: Gate, caller: Caller, object: AccessObject): Promise<boolean> {
  try {
    return (await gate.ask(caller, 'logs', object)).isAllowed;
  } catch (error) {
    // While it is not known who may, nobody may; the list is answered all the same.
    if (error instanceof ApiError && error.code === 'unavailable') return false;
    throw error;
  }
}
