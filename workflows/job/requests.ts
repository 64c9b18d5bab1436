import type { CancelNote, Replaced } from '../../contract/job.js';
import { type Asker, askerText } from '../../domain/job-state.js';
import type { EpochMs } from '../../domain/units.js';
import type { JobEdit } from './job-file.js';

/** A person's request to an open job that is not fulfilled yet. Plain JSON. */
export type Request = Asker & Wanted;
type Wanted =
  /** The command ends; the slices stay, or go (`isRelease`), until somebody says `resume`. */
  | { readonly kind: 'stop'; readonly isRelease: boolean }
  /** Slices and lease go, and the job asks again, in `zone` first. */
  | { readonly kind: 'requeue'; readonly zone?: string }
  /** A new attempt on the same slices, but those that are to be replaced. */
  | { readonly kind: 'restart'; readonly replace?: Replaced };

export interface RequestsCarry {
  readonly request?: Request;
  readonly edit?: JobEdit;
}

/**
 * The requests of people to a job (docs/adr/0022). Updates only note them here; the job's loop fulfils them, in the order of
 * docs/job-states.md. The last request counts, with three exceptions: slices that somebody gave back are not kept by a later
 * `stop`, a job that was requeued stays so when it is restarted, and what one restart is to replace, a later one replaces too.
 */
export class Requests {
  #request: Request | undefined;
  #edit: JobEdit | undefined;
  #cancelNote: { readonly asker: Asker; readonly at: EpochMs } | undefined;

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

  /** The stop is taken back. A command that is told to end already ends, and begins again. */
  resume(edit: JobEdit | undefined): void {
    this.#request = undefined;
    this.#edit = edit ?? this.#edit;
  }

  /** A cancel by this person follows. */
  noteCancel(asker: Asker, now: EpochMs): void {
    this.#cancelNote = { asker, at: now };
  }

  /** Who a cancel at this moment is by. A note whose own cancel never came does not name somebody else's. */
  canceller(now: EpochMs): Asker | undefined {
    const note = this.#cancelNote;
    return note !== undefined && now - note.at <= CANCEL_FOLLOWS_MS ? note.asker : undefined;
  }

  /** It was fulfilled. Another request that came meanwhile stays. */
  fulfilled(request: Request): void {
    if (this.#request === request) this.#request = undefined;
  }

  /** To be put in force while nothing runs. */
  takeEdit(): JobEdit | undefined {
    const edit = this.#edit;
    this.#edit = undefined;
    return edit;
  }

  /** The job file that the next attempt will run by, if another was given. */
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

/** `JobClient.cancel` sends the cancel right behind its note. */
const CANCEL_FOLLOWS_MS = 60_000;

/** Without what else crossed the border with it. */
export const personOf = ({ by, from }: Asker): Asker => ({ by, ...(from === undefined ? {} : { from }) });

/** @param note as it crossed the border, with keys of its own */
export const askerOf = ({ verb, ...note }: CancelNote): Asker => ({
  ...personOf(note),
  ...(verb === undefined ? {} : { verb }),
});

/** Why a job was cancelled in what it did then. */
export const cancelText = (doing: string, canceller: Asker | undefined): string =>
  `cancelled while ${doing}${canceller === undefined ? '' : ` by ${askerText(canceller)}`}`;

/** As people read it: in the job's story, its row, and as the reason for which its slices go. */
export function requestText(request: Request): string {
  switch (request.kind) {
    case 'stop':
      return `${askerText(request)} stopped it${request.isRelease ? ' and gives its slices back' : ''}`;
    case 'requeue':
      return `${askerText(request)} requeued it${request.zone === undefined ? '' : `, ${request.zone} first`}`;
    case 'restart':
      return `${askerText(request)} restarted it${request.replace === undefined ? '' : ` with ${replacedText(request.replace)}`}`;
  }
}

function both(one: Replaced | undefined, other: Replaced | undefined): Replaced | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  return one === 'all' || other === 'all' ? 'all' : [...new Set([...one, ...other])].toSorted((a, b) => a - b);
}

/** What is replaced, as people read it. */
export const replacedText = (replace: Replaced): string =>
  replace === 'all' ? 'other machines' : `other machines for ${replace.map((index) => `slice ${index}`).join(', ')}`;
