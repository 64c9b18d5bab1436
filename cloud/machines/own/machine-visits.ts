import { answerWithin } from '../../abort.js';
import { lastingUid, type SshKey, type SshTarget } from '../../hosts/port.js';
import type { Fleet } from '../../hosts/host-fleet.js';
import type { MachineVerbs } from '../../hosts/machine-verbs.js';
import type { ChosenMachine } from './pool-record.js';

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
}

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
