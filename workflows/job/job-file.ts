import { pinned, withDigest } from '../../domain/build/build.js';
import type { BuildSpec } from '../../domain/build/spec.js';
import { contentHash } from '../../domain/content-hash.js';
import { POD_SECTIONS } from '../../domain/job-file/sections.js';
import { resolveJob } from '../../domain/job-file/resolve.js';
import type { JobSpec, Priority } from '../../domain/job-spec.js';
import type { JobInput } from '../../contract/job.js';

/** Another job file for the attempts to come. It was checked: keys that may not change are unchanged. */
export interface JobEdit {
  readonly spec: JobSpec;
  /** The file as plain JSON, for the next edit. */
  readonly job: unknown;
  readonly files: Readonly<Record<string, string>>;
  /** Path of a private key -> fingerprint of the submitter's file. */
  readonly identityKeys?: Readonly<Record<string, string>>;
  /** The file as text, for the store. */
  readonly source: string;
}

/** A job file that took the place of the submitted one. `attempt`: the first that runs by it. */
export interface EditedFile extends Omit<JobEdit, 'spec'> {
  readonly attempt: number;
}

/** The job file in force: the submitted one, or that of a later edit. */
export class JobFile {
  #spec: JobSpec;
  #edited: EditedFile | undefined;
  #build: { readonly of: unknown; readonly build: BuildSpec | undefined } | undefined;
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

  /** Fingerprints of the submitter's files that the job's identities name. */
  get identityKeys(): JobInput['identityKeys'] | undefined {
    return this.#edited?.identityKeys ?? this.#submitted.identityKeys ?? undefined;
  }

  /** The file's build of its image, without a digest until it has one. The file is resolved for it once, not at each question. */
  get build(): BuildSpec | undefined {
    const { job } = this;
    const known = this.#build;
    const resolved = known !== undefined && known.of === job ? known : { of: job, build: buildOf(job) };
    this.#build = resolved;
    return resolved.build;
  }

  /** Whether another file names an image that was neither built nor is being built. */
  lacksImage(job: unknown): boolean {
    const wanted = buildOf(job);
    const { digest: _, ...present } = this.build ?? {};
    return wanted !== undefined && wanted.digest === undefined && contentHash(wanted) !== contentHash(present);
  }

  /** Called when the image was built: from now on the file names its digest. @param attempt the next one */
  pin(digest: string, attempt: number): void {
    this.change({ ...this.#present, source: sourceOf(withDigest(this.job, digest)) }, attempt, digest);
  }

  /** Text of the job file of `attempt`, if it was not stored with an earlier attempt. */
  sourceOf(attempt: number): string | undefined {
    return this.#edited?.attempt === attempt ? this.#edited.source : undefined;
  }

  reprioritize(priority: Priority): void {
    this.#spec = { ...this.#spec, priority };
  }

  /**
   * Call it while nothing of the job runs. A file that was changed while its image was built has no digest yet, and gets it.
   * @param attempt the next one
   * @param digest digest of the image that the job has
   */
  change({ spec, ...edit }: JobEdit, attempt: number, digest = this.build?.digest): void {
    const build = buildOf(edit.job);
    const isPinned = build === undefined || build.digest !== undefined || digest === undefined;
    const image = isPinned ? spec : pinned(spec, { ...build, digest }, POD_SECTIONS);
    this.#spec = { ...image, priority: this.#spec.priority };
    this.#edited = { ...edit, ...(isPinned ? {} : { job: withDigest(edit.job, digest) }), attempt };
  }

  get #present(): JobEdit {
    const { job, files, identityKeys } = this;
    return { spec: this.#spec, job, files, ...(identityKeys && { identityKeys }), source: '' };
  }

  carry(): { readonly spec: JobSpec; readonly edited?: EditedFile } {
    return { spec: this.#spec, ...(this.#edited === undefined ? {} : { edited: this.#edited }) };
  }
}

function buildOf(job: unknown): BuildSpec | undefined {
  const resolved = resolveJob(job);
  return resolved.ok ? resolved.build : undefined;
}

/** Text of a job file that no person wrote. */
export const sourceOf = (job: unknown): string => `${JSON.stringify(job, undefined, 2)}\n`;
