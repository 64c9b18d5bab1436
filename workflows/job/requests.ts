import type { CancelNote, Replaced } from '../../contract/job.js';
import type { Cause } from '../../domain/job-events/kinds.js';
import { type Asker, askerText } from '../../domain/job-state.js';
import type { EpochMs } from '../../domain/units.js';
import type { JobEdit } from './job-file.js';

/** A person's request to an open job that is not fulfilled yet. Plain JSON. */
export type Request = Asker & Wanted;
type Wanted =
  /** Ends the command. Until a person says `resume`, the slices are kept, or given back with the lease (`isRelease`). */
  | { readonly kind: 'stop'; readonly isRelease: boolean }
  /** Gives back slices and lease, and asks again, in `zone` first. */
  | { readonly kind: 'requeue'; readonly zone?: string }
  /** Begins a new attempt on the same slices, except those that `replace` names. */
  | { readonly kind: 'restart'; readonly replace?: Replaced };

export interface RequestsCarry {
  readonly request?: Request;
  readonly edit?: JobEdit;
}

/**
 * The requests of people to a job (docs/adr/0022). Updates only note them here. The job's loop fulfils them, in the order of
 * docs/job-states.md. The last request counts, with three exceptions. Slices that were given back are not kept by a later `stop`.
 * A job that was requeued stays so when it is restarted. Slices that one restart replaces are replaced by a later restart too.
 */
export class Requests {
  #request: Request | undefined;
  #edit: JobEdit | undefined;
  #cancelNote: { readonly asker: Asker; readonly at: EpochMs } | undefined;
  #cancelledAt: EpochMs | undefined;

  constructor(carry: RequestsCarry = {}) {
    this.#request = carry.request;
    this.#edit = carry.edit;
  }

  get current(): Request | undefined {
    return this.#request;
  }

  stop(asker: Asker, isRelease: boolean): void {
    const before = this.#request;
    const isGivenBack = before?.kind === 'requeue' || (before?.kind === 'stop' && before.isRelease);
    this.#request = { kind: 'stop', ...personOf(asker), isRelease: isRelease || isGivenBack };
  }

  requeue(asker: Asker, zone: string | undefined): void {
    this.#request = { kind: 'requeue', ...personOf(asker), ...(zone === undefined ? {} : { zone }) };
  }

  restart(asker: Asker, edit: JobEdit | undefined, replace: Replaced | undefined): void {
    const before = this.#request;
    if (before?.kind !== 'requeue') {
      const all = both(before?.kind === 'restart' ? before.replace : undefined, replace);
      this.#request = { kind: 'restart', ...personOf(asker), ...(all === undefined ? {} : { replace: all }) };
    }
    this.#edit = edit ?? this.#edit;
  }

  /** Withdraws the stop. A command that was already told to end does end, and is started again. */
  resume(edit: JobEdit | undefined): void {
    this.#request = undefined;
    this.#edit = edit ?? this.#edit;
  }

  /** Notes that a cancel by this person follows. */
  noteCancel(asker: Asker, now: EpochMs): void {
    // A second cancel changes nothing, so the first one's name stays.
    if (this.#cancelledAt === undefined || this.#cancelNote === undefined) this.#cancelNote = { asker, at: now };
  }

  /** Temporal's cancel request has come. The command may take longer to end than the note counts. */
  cancelled(now: EpochMs): void {
    this.#cancelledAt ??= now;
  }

  /** The person whose cancel has come, or comes at this moment. A note whose cancel never came names nobody else's. */
  canceller(now: EpochMs): Asker | undefined {
    const note = this.#cancelNote;
    const at = this.#cancelledAt ?? now;
    return note !== undefined && at - note.at <= CANCEL_FOLLOWS_MS ? note.asker : undefined;
  }

  /** Notes that this request was fulfilled. Another request that came meanwhile stays. */
  fulfilled(request: Request): void {
    if (this.#request === request) this.#request = undefined;
  }

  /** Takes the edit, to put it in force while nothing runs. */
  takeEdit(): JobEdit | undefined {
    const edit = this.#edit;
    this.#edit = undefined;
    return edit;
  }

  /** The job file of the next attempt, if another file was given. */
  get edit(): JobEdit | undefined {
    return this.#edit;
  }

  /** Undefined: there is nothing to carry. */
  carry(): RequestsCarry | undefined {
    if (this.#request === undefined && this.#edit === undefined) return undefined;
    return {
      ...(this.#request === undefined ? {} : { request: this.#request }),
      ...(this.#edit === undefined ? {} : { edit: this.#edit }),
    };
  }
}

/** Time within which a cancel belongs to a note: `JobClient.cancel` sends it right after the note. */
export const CANCEL_FOLLOWS_MS = 60_000;

/** Drops all other fields: the value came from outside and may have more. */
export const personOf = ({ by, from }: Asker): Asker => ({ by, ...(from === undefined ? {} : { from }) });

/** @param note as the caller sent it, with any further fields */
export const askerOf = ({ verb, ...note }: CancelNote): Asker => ({
  ...personOf(note),
  ...(verb === undefined ? {} : { verb }),
});

/** The reason of a cancel, with the work that it interrupted. */
export const cancelText = (doing: string, canceller: Asker | undefined): string =>
  `cancelled while ${doing}${canceller === undefined ? '' : ` by ${askerText(canceller)}`}`;

/** The cause for a request, used in the job's story, in its row, and as the reason for deleting its slices. */
export function requestCause(request: Request): Cause {
  switch (request.kind) {
    case 'stop': {
      const { kind: _, ...facts } = request;
      return { kind: 'stopped', facts };
    }
    case 'requeue': {
      const { kind: _, ...facts } = request;
      return { kind: 'requeued', facts };
    }
    case 'restart': {
      const { kind: _, ...facts } = request;
      return { kind: 'restarted', facts };
    }
  }
}

function both(one: Replaced | undefined, other: Replaced | undefined): Replaced | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  return one === 'all' || other === 'all' ? 'all' : [...new Set([...one, ...other])].toSorted((a, b) => a - b);
}
