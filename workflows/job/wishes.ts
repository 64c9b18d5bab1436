import type { JobSpec } from '../../domain/job-spec.js';

/** What a person wants of an open job, and what is not done yet. Plain JSON. `by`: who, by the caller's own word. */
export type Wish =
  /** The command ends; the slices stay, or go (`isRelease`), until somebody says `resume`. */
  | { readonly kind: 'stop'; readonly by: string; readonly isRelease: boolean }
  /** Slices and lease go, and the job asks again. */
  | { readonly kind: 'requeue'; readonly by: string }
  /** A new attempt on the same slices. */
  | { readonly kind: 'restart'; readonly by: string };

/** Another job file for the attempts to come. It was checked: what may not change is as it was. */
export interface JobEdit {
  readonly spec: JobSpec;
  /** As plain JSON, for the next edit. */
  readonly job: unknown;
  readonly files: Readonly<Record<string, string>>;
  /** Path of a private key -> fingerprint of the submitter's file. */
  readonly identityKeys?: Readonly<Record<string, string>>;
  /** As text, for the store. */
  readonly source: string;
}

export interface WishesCarry {
  readonly wish?: Wish;
  readonly edit?: JobEdit;
}

/**
 * What people asked of the job (docs/adr/0022). Handlers only note it here; the run's loop does it when it comes by, in the order
 * of docs/job-states.md. The last word counts, with two exceptions: slices that somebody gave back are not kept by a later
 * `stop`, and a job that was requeued stays so when it is restarted.
 */
export class Wishes {
  #wish: Wish | undefined;
  #edit: JobEdit | undefined;

  constructor(carry: WishesCarry = {}) {
    this.#wish = carry.wish;
    this.#edit = carry.edit;
  }

  get current(): Wish | undefined {
    return this.#wish;
  }

  stop(by: string, isRelease: boolean): void {
    const before = this.#wish;
    const isGivenBack = before?.kind === 'requeue' || (before?.kind === 'stop' && before.isRelease);
    this.#wish = { kind: 'stop', by, isRelease: isRelease || isGivenBack };
  }

  requeue(by: string): void {
    this.#wish = { kind: 'requeue', by };
  }

  restart(by: string, edit: JobEdit | undefined): void {
    if (this.#wish?.kind !== 'requeue') this.#wish = { kind: 'restart', by };
    this.#edit = edit ?? this.#edit;
  }

  /** The stop is taken back. A command that is told to end already ends, and begins again. */
  resume(edit: JobEdit | undefined): void {
    this.#wish = undefined;
    this.#edit = edit ?? this.#edit;
  }

  /** It was done. */
  done(wish: Wish): void {
    if (this.#wish === wish) this.#wish = undefined;
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

  /** Undefined: nothing to carry. */
  carry(): WishesCarry | undefined {
    if (this.#wish === undefined && this.#edit === undefined) return undefined;
    return {
      ...(this.#wish === undefined ? {} : { wish: this.#wish }),
      ...(this.#edit === undefined ? {} : { edit: this.#edit }),
    };
  }
}
