import type { JobEdit } from './job-file.js';

/** A person's request to an open job that is not fulfilled yet. Plain JSON. `by`: who, by the caller's own word. */
export type Request =
  /** The command ends; the slices stay, or go (`isRelease`), until somebody says `resume`. */
  | { readonly kind: 'stop'; readonly by: string; readonly isRelease: boolean }
  /** Slices and lease go, and the job asks again. */
  | { readonly kind: 'requeue'; readonly by: string }
  /** A new attempt on the same slices. */
  | { readonly kind: 'restart'; readonly by: string };

export interface RequestsCarry {
  readonly request?: Request;
  readonly edit?: JobEdit;
}

/**
 * The requests of people to a job (docs/adr/0022). Updates only note them here; the job's loop fulfils them, in the order of
 * docs/job-states.md. The last request counts, with two exceptions: slices that somebody gave back are not kept by a later
 * `stop`, and a job that was requeued stays so when it is restarted.
 */
export class Requests {
  #request: Request | undefined;
  #edit: JobEdit | undefined;

  constructor(carry: RequestsCarry = {}) {
    this.#request = carry.request;
    this.#edit = carry.edit;
  }

  get current(): Request | undefined {
    return this.#request;
  }

  stop(by: string, isRelease: boolean): void {
    const before = this.#request;
    const isGivenBack = before?.kind === 'requeue' || (before?.kind === 'stop' && before.isRelease);
    this.#request = { kind: 'stop', by, isRelease: isRelease || isGivenBack };
  }

  requeue(by: string): void {
    this.#request = { kind: 'requeue', by };
  }

  restart(by: string, edit: JobEdit | undefined): void {
    if (this.#request?.kind !== 'requeue') this.#request = { kind: 'restart', by };
    this.#edit = edit ?? this.#edit;
  }

  /** The stop is taken back. A command that is told to end already ends, and begins again. */
  resume(edit: JobEdit | undefined): void {
    this.#request = undefined;
    this.#edit = edit ?? this.#edit;
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

/** As people read it: in the job's story, its row, and as the reason for which its slices go. */
export function requestText(request: Request): string {
  switch (request.kind) {
    case 'stop':
      return `${request.by} stopped it${request.isRelease ? ' and gives its slices back' : ''}`;
    case 'requeue':
      return `${request.by} requeued it`;
    case 'restart':
      return `${request.by} restarted it`;
  }
}
