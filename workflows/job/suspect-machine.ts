import type { BrokenMachine } from '../../contract/slice.js';
import { isMachineAtFault, type Suspect, suspectAfter, suspicion } from '../../domain/recovery/broken-machine.js';
import type { HostPlace } from '../../domain/recovery/host-ends.js';
import { ownHostOf } from '../../domain/slice.js';
import type { AttemptResult } from './attempt.js';
import type { Slices } from './slices.js';

/** The machine on which the command failed last, if that failure makes the machine suspect. State only. */
export class SuspectMachine {
  #last: Suspect | undefined;
  readonly #slices: Slices;

  constructor(slices: Slices, carry?: Suspect) {
    this.#slices = slices;
    this.#last = carry;
  }

  /** Whether the machine must be replaced after this end of an attempt. */
  isAtFault(result: AttemptResult): boolean {
    return result.kind === 'exited' && isMachineAtFault(result, this.#machineOf(result.at), this.#last);
  }

  /** The reason why the machine is at fault, and what is done about it. */
  facts(result: AttemptResult): { readonly sign: string; readonly putAside?: string } {
    const own = this.ownMachine(result);
    return { sign: why(result), ...(own && { putAside: own.name }) };
  }

  /** The machine, if it is the pool's own and would be used again; undefined for a provider's. @param job id for operators */
  ownMachine(result: AttemptResult, job = ''): (BrokenMachine & { readonly name: string }) | undefined {
    if (result.kind !== 'exited') return undefined;
    const { slice, host } = this.#hostOf(result.at);
    const own = ownHostOf(host);
    if (slice?.uid === undefined || host === undefined || own === undefined) return undefined;
    const reason = `the command of job ${job} failed: ${why(result)}`;
    return { ref: slice.ref, uid: slice.uid, host: host.index, name: own.name, reason };
  }

  /** @param isReplaced whether its slice is deleted */
  remember(result: AttemptResult, isReplaced: boolean): void {
    if (result.kind === 'unwatched') return;
    const isExited = result.kind === 'exited';
    const machine = isExited ? this.#machineOf(result.at) : '';
    this.#last = isExited ? suspectAfter(result, { machine, isReplaced }, this.#last) : undefined;
  }

  carry(): Suspect | undefined {
    return this.#last;
  }

  /** Another generation of a slice has other machines, unless they are the pool's own. */
  #machineOf(at: HostPlace): string {
    const { slice, host } = this.#hostOf(at);
    const own = ownHostOf(host);
    if (own !== undefined) return `${own.pool}/${own.name}`;
    return `${slice?.ref.name ?? ''}/${slice?.uid ?? ''}/${at.host}`;
  }

  #hostOf(at: HostPlace) {
    const slice = this.#slices.ready.find(({ index }) => index === at.slice);
    return { slice, host: slice?.hosts.find(({ index }) => index === at.host) };
  }
}

function why(result: AttemptResult): string {
  const { text = '', isProof } = (result.kind === 'exited' && suspicion(result)) || {};
  return `it ${text}${isProof ? '' : ', twice in a row on the same machine'}`;
}
