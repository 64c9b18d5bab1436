import type { RefusalScope } from '../slice.js';

/** The meaning of a look at a build in a cluster. A failed call is not an answer: the port throws instead. */
export type BuildCondition =
  /** Its pod has not started. `detail` says why, in Kubernetes' words. */
  | { readonly kind: 'waiting'; readonly detail: string }
  | { readonly kind: 'running'; readonly pod: BuildPod }
  | BuildEnd
  | { readonly kind: 'deleting' };

/** A pod whose process has begun. Its log can be read. */
export interface BuildPod {
  readonly name: string;
  readonly uid: string;
}

/** The end of one try. `pod`: its pod, if that still exists. */
export type BuildEnd = { readonly pod?: BuildPod } & (
  | { readonly kind: 'built'; readonly digest: string }
  /** BuildKit itself says that the image cannot be built or pushed. Another try would fail alike. */
  | { readonly kind: 'failed'; readonly message: string; readonly lines: readonly string[] }
  /** The cluster does not let the pod run, and waiting changes nothing. */
  | { readonly kind: 'refused'; readonly scope: RefusalScope; readonly message: string }
  /** The pod ended without a result, through no fault of the job. `lines`: the last ones of BuildKit, if there are any. */
  | { readonly kind: 'lost'; readonly message: string; readonly lines?: readonly string[] }
  | { readonly kind: 'missing' }
  | { readonly kind: 'foreign'; readonly message: string }
);

/** The party at fault if there is no image. */
export type BuildFault = 'task' | 'infrastructure';
