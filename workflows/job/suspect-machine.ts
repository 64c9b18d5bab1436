import { isMachineAtFault, type Suspect, suspectAfter, suspicion } from '../../domain/recovery/broken-machine.js';
import type { HostPlace } from '../../domain/recovery/host-ends.js';
import type { AttemptResult } from './attempt.js';
import type { Slices } from './slices.js';

/** The machine on which the command failed last, if the way in which it did makes the machine suspect. State only. */
export class SuspectMachine {
  #last: Suspect | undefined;
  readonly #slices: Slices;

  constructor(slices: Slices, carry?: Suspect) {
    this.#slices = slices;
    this.#last = carry;
  }

  /** Whether the machine is to be replaced after this end of an attempt. */
  isAtFault(result: AttemptResult): boolean {
    return result.kind === 'exited' && isMachineAtFault(result, this.#machineOf(result.at), this.#last);
  }

  /** Why it is, of one that is at fault. */
  text(result: AttemptResult): string {
    const { text = '', isProof } = (result.kind === 'exited' && suspicion(result)) || {};
    return `it ${text}${isProof ? '' : ', twice in a row on the same machine'}; its slice is replaced`;
  }

  /** @param isReplaced its slice goes */
  remember(result: AttemptResult, isReplaced: boolean): void {
    if (result.kind === 'unwatched') return;
    const isExited = result.kind === 'exited';
    const machine = isExited ? this.#machineOf(result.at) : '';
    this.#last = isExited ? suspectAfter(result, { machine, isReplaced }, this.#last) : undefined;
  }

  carry(): Suspect | undefined {
    return this.#last;
  }

  /** Another generation of a slice is of other machines. */
  #machineOf({ slice, host }: HostPlace): string {
    const { uid, ref } = this.#slices.ready.find(({ index }) => index === slice) ?? {};
    return `${ref?.name ?? ''}/${uid ?? ''}/${host}`;
  }
}
