import { answerWithin } from '../../abort.js';
import { lastingUid, type SshKey, type SshTarget } from '../../hosts/port.js';
import type { Fleet } from '../../hosts/host-fleet.js';
import type { MachineVerbs } from '../../hosts/machine-verbs.js';
import type { ChosenMachine, Ended, MachineClaim } from './pool-record.js';

export interface VisitOptions {
  readonly fleet: Pick<Fleet<SshTarget>, 'connect'>;
  /** The installation's key; the fleet uses another one if the machine names it. */
  readonly key: SshKey;
}

export type Visited<T> =
  | { readonly kind: 'done'; readonly value: T }
  /** `mayHaveBegun`: the machine was reached, but its answer is missing. */
  | { readonly kind: 'silent'; readonly mayHaveBegun: boolean; readonly message: string };

/** Visits machines over SSH, for code that looks after their claims. Keeps one connection to each machine. */
export class MachineVisits {
  readonly #options: VisitOptions;

  constructor(options: VisitOptions) {
    this.#options = options;
  }

  /** Never rejects: an unreachable machine is a result too. */
  async visit<T>(
    pool: string,
    machine: ChosenMachine,
    timeoutMs: number,
    work: (verbs: MachineVerbs) => Promise<T>,
  ): Promise<Visited<T>> {
    let mayHaveBegun = false;
    const go = async (late: AbortSignal): Promise<T> => {
      const { fleet, key } = this.#options;
      const connection = await fleet.connect(targetOf(pool, machine), key, late);
      try {
        late.throwIfAborted();
        mayHaveBegun = true;
        return await work(connection.machine);
      } finally {
        connection.close();
      }
    };
    try {
      return { kind: 'done', value: await answerWithin(timeoutMs, go) };
    } catch (error) {
      return { kind: 'silent', mayHaveBegun, message: (error as Error).message };
    }
  }

  /**
   * Gives back a claim that no record knows. Of a claim beside another slot, what runs under it runs as that slot's user, so that
   * slot is given back first.
   * @param verbs of the machine
   * @param ended gets what was ended, by the name of the slot
   * @returns undefined, or the reason why the claim stands
   */
  async giveBack(
    pool: string,
    { machine, verbs }: { readonly machine: ChosenMachine; readonly verbs: MachineVerbs },
    { uid, first, job }: Pick<MachineClaim, 'uid' | 'first'> & { readonly job: string },
    graceMs: number,
    ended: Ended = new Map(),
  ): Promise<string | undefined> {
    if (first !== undefined) {
      const visited = await this.visit(pool, { ...machine, ...first }, FIRST_MS, (runs) => runs.vacate(uid, graceMs));
      if (visited.kind === 'silent')
        return `is held for ${first.name}, whose user ${first.user} cannot be reached: ${visited.message}`;
      noteEnded(ended, first.name, job, visited.value);
    }
    noteEnded(ended, machine.name, job, await verbs.vacate(uid, graceMs));
    return undefined;
  }
}

export function noteEnded(ended: Ended, machine: string, job: string, processes: readonly string[]): void {
  if (processes.length > 0) ended.set(machine, { job, text: processes.join(', ') });
}

const FIRST_MS = 45_000;

function targetOf(pool: string, { name, address, port, user, hostKey, key }: ChosenMachine): SshTarget {
  const uid = lastingUid({ pool, name });
  const own = {
    name,
    port,
    lastingUid: uid,
    ...(hostKey !== undefined && { hostKey }),
    ...(key !== undefined && { key }),
  };
  return { reach: 'ssh', uid, slice: 0, index: 0, address, user, own };
}
