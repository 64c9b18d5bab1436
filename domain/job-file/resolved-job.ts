import type { JobArray } from '../array/array.js';
import type { BuildSpec } from '../build/spec.js';
import type { JobSpec } from '../job-spec.js';
import type { Problem } from '../problem.js';
import type { Environment } from './interpolation.js';
import type { PoolDefaults } from './pool-defaults.js';

export type ResolvedJob =
  | {
      readonly ok: true;
      /** The job file as plain JSON with the submitter's environment put in: the input of a workflow. */
      readonly raw: unknown;
      /** For a file with an array: the spec of its first member. */
      readonly spec: JobSpec;
      /** Only for a file with an array. */
      readonly array?: JobArray;
      /** Warnings for the user. The file is right. */
      readonly warnings: readonly string[];
      /** Keys of the machines' section that the file leaves out and a pool file may give. Empty once its defaults are in. */
      readonly leftToPool: readonly string[];
      /** The job's image, if its file has a section `build`. */
      readonly build?: BuildSpec;
    }
  | { readonly ok: false; /** In file order. */ readonly problems: readonly Problem[] };

export interface ResolveOptions {
  /** The submitter's environment, for `${oc.env:X}`. Absent in a workflow, where such a reference is a problem. */
  readonly env?: Environment;
  /** The defaults of the job's pool: the spec is then complete. Absent: the pool may give values that the file leaves out. */
  readonly pool?: PoolDefaults;
  /** The caller builds images, so `build` needs no digest yet. */
  readonly mayBuild?: true;
  /** The caller starts groups, so the file may have an `array`. */
  readonly mayBeArray?: true;
  /** See `RequestContext`. */
  readonly isZoneStrict?: true;
}
