import type { RunStatus } from '../../cloud/hosts/port.js';
import type { AttemptInput } from '../../contract/job-activities.js';
import { attemptTroubleSignal } from '../../contract/job.js';
import type { AttemptHost } from './attempt-hosts.js';
import { jobTeller } from './activity-end.js';

/** Hosts whose command waits for an accelerator in use by another process. The job is told, so that `list` and `why` say it. */
export class AcceleratorWaits {
  readonly #waiting = new Map<AttemptHost, string>();
  readonly #tell: (what: string | undefined) => void;
  #told: string | undefined;

  constructor(tell: (what: string | undefined) => void) {
    this.#tell = tell;
  }

  /** @param ask called until the status that it returns is no wait for an accelerator @returns that status */
  async through<Status extends RunStatus | { readonly kind: 'fenced' }>(
    host: AttemptHost,
    first: Status,
    ask: () => Promise<RunStatus>,
  ): Promise<Status | RunStatus> {
    let status: Status | RunStatus = first;
    try {
      while (status.kind === 'starting' && status.waitsFor !== undefined) {
        this.#waiting.set(host, status.waitsFor);
        this.#news();
        status = await ask();
      }
      return status;
    } finally {
      if (this.#waiting.delete(host)) this.#news();
    }
  }

  #news(): void {
    const [first] = this.#waiting;
    const others = this.#waiting.size - 1;
    const where = first !== undefined && first[0].number > 0 ? ` of host ${first[0].number}` : '';
    const what =
      first &&
      `waits for the accelerator${where}: ${first[1]}${others > 0 ? `, and ${others} more ${others === 1 ? 'host' : 'hosts'}` : ''}`;
    if (what === this.#told) return;
    this.#told = what;
    this.#tell(what);
  }
}

/** The waits of one attempt. Its job is told of them. */
export function acceleratorWaits(input: Pick<AttemptInput, 'job' | 'attempt'>): AcceleratorWaits {
  const tell = jobTeller(input, attemptTroubleSignal, 'that its command waits for an accelerator');
  return new AcceleratorWaits((what) =>
    tell({ v: 1, attempt: input.attempt, of: 'accelerator', ...(what !== undefined && { what }) }),
  );
}
