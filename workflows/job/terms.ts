import type { JobSpec } from '../../domain/job-spec.js';
import type { JobInput } from '../messages.js';
import type { JobEdit } from './wishes.js';

/** A job file that took the place of the submitted one. `attempt`: the first that runs by it. */
export interface EditedCarry extends Omit<JobEdit, 'spec'> {
  readonly attempt: number;
}

interface Submitted extends Pick<JobInput, 'job' | 'files'> {
  readonly identityKeys: JobInput['identityKeys'] | undefined;
}

/** What a job runs by at present: as it was submitted, or as an edit has it since. */
export class JobTerms {
  #spec: JobSpec;
  #edited: EditedCarry | undefined;
  readonly #submitted: Submitted;

  constructor(spec: JobSpec, submitted: Submitted, edited?: EditedCarry) {
    this.#spec = spec;
    this.#submitted = submitted;
    this.#edited = edited;
  }

  get spec(): JobSpec {
    return this.#spec;
  }

  /** The job file in force, as plain JSON. */
  get job(): unknown {
    return this.#edited === undefined ? this.#submitted.job : this.#edited.job;
  }

  get files(): Readonly<Record<string, string>> {
    return this.#edited?.files ?? this.#submitted.files ?? {};
  }

  /** Fingerprints of the submitter's files that identities name. */
  get identityKeys(): JobInput['identityKeys'] | undefined {
    return this.#edited?.identityKeys ?? this.#submitted.identityKeys;
  }

  /** Text of the job file of `attempt`, where it was not stored with an earlier one. */
  sourceOf(attempt: number): string | undefined {
    return this.#edited?.attempt === attempt ? this.#edited.source : undefined;
  }

  reprioritize(priority: JobSpec['priority']): void {
    this.#spec = { ...this.#spec, priority };
  }

  /** To be called while nothing of the job runs. @param attempt the next one */
  change({ spec, ...edit }: JobEdit, attempt: number): void {
    this.#spec = { ...spec, priority: this.#spec.priority };
    this.#edited = { ...edit, attempt };
  }

  carry(): { readonly spec: JobSpec; readonly edited?: EditedCarry } {
    return { spec: this.#spec, ...(this.#edited === undefined ? {} : { edited: this.#edited }) };
  }
}
