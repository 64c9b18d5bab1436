import type { StopNotice } from '../../activities/contract.js';
import type { Preemption } from '../../quota/quota-config.js';

/** The pool's word that a lease has to come back (docs/adr/0021). Plain JSON. */
export interface Revocation {
  /** One sentence of the pool: for whom, or why. */
  readonly reason: string;
  readonly cause: Preemption['cause'];
}

/** As people read it: in the job's story, its row, and as the reason for which its slices go. */
export function revocationText({ cause, reason }: Revocation): string {
  switch (cause) {
    case 'quota':
      return `preempted by quota: ${reason}`;
    case 'asking':
      return `its lease goes back to the pool: ${reason}`;
    case 'parked':
      return `its lease was taken: ${reason}`;
  }
}

/** What its command finds in `$JOBCTL_NOTICE_FILE`. */
export const revocationNotice = ({ reason }: Revocation): StopNotice => ({ cause: 'quota', reason });

/** Whether it counts as a preemption by quota: nobody took anything from a job that never got its chips. */
export const isPreemptionByQuota = ({ cause }: Revocation): boolean => cause !== 'asking';
