import type { JobSpec, Priority } from '../../domain/job-spec.js';
import type { JobInput } from '../../contract/job.js';

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

/** A job file that took the place of the submitted one. `attempt`: the first that runs by it. */
export interface EditedFile extends Omit<JobEdit, 'spec'> {
  readonly attempt: number;
}

/** The job file in force: as it was submitted, or as an edit has it since. */
export class JobFile {
  #spec: JobSpec;
  #edited: EditedFile | undefined;
  readonly #submitted: JobInput;

  constructor(spec: JobSpec, submitted: JobInput, edited?: EditedFile) {
    this.#spec = spec;
    this.#submitted = submitted;
    this.#edited = edited;
  }

  get spec(): JobSpec {
    return this.#spec;
  }

  /** The file as plain JSON. */
  get job(): unknown {
    return this.#edited === undefined ? this.#submitted.job : this.#edited.job;
  }

  get files(): Readonly<Record<string, string>> {
    return this.#edited?.files ?? this.#submitted.files ?? {};
  }

  /** Fingerprints of the submitter's files that identities name. */
  get identityKeys(): JobInput['identityKeys'] | undefined {
    return this.#edited?.identityKeys ?? this.#submitted.identityKeys ?? undefined;
  }

  /** Text of the job file of `attempt`, if it was not stored with an earlier attempt. */
  sourceOf(attempt: number): string | undefined {
    return this.#edited?.attempt === attempt ? this.#edited.source : undefined;
  }

  reprioritize(priority: Priority): void {
    this.#spec = { ...this.#spec, priority };
  }

  /** To be called while nothing of the job runs. @param attempt the next one */
  change({ spec, ...edit }: JobEdit, attempt: number): void {
    this.#spec = { ...spec, priority: this.#spec.priority };
    this.#edited = { ...edit, attempt };
  }

  carry(): { readonly spec: JobSpec; readonly edited?: EditedFile } {
    return { spec: this.#spec, ...(this.#edited === undefined ? {} : { edited: this.#edited }) };
  }
}
