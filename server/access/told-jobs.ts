import type { AccessObject } from '../../domain/access/table.js';
import type { Outcome } from '../../domain/job-state.js';
import { toldWithoutOutput } from '../../domain/output-lines.js';
import type { Caller } from '../identity/verifier.js';
import { ApiError } from '../problem.js';
import type { Gate } from './gate.js';

/** The facts of a job that every caller may see. */
interface Told {
  readonly why?: string;
  readonly outcome?: Outcome;
}

/**
 * Returns the facts as `caller` may see them. The texts of some failures contain lines of output, which belong to the job's logs:
 * a caller without a right to the logs gets the rest. The gate is asked only for such jobs.
 */
export async function toldTo<T extends Told>(gate: Gate, caller: Caller, object: AccessObject, told: T): Promise<T> {
  const cut = toldWithoutOutput(told);
  return cut === told || (await mayReadLogs(gate, caller, object)) ? told : cut;
}

/** The same for a row, which names its job's owner, project and pool. */
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
    // While the rules are unknown, the lines are left out for everyone, and the list is still answered.
    if (error instanceof ApiError && error.code === 'unavailable') return false;
    throw error;
  }
}
