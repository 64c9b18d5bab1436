import type { RefusalScope } from '../slice.js';

/** What a look at a build in a cluster amounts to. A failed call is no answer: the port throws instead. */
export type BuildCondition =
  /** Its pod has not started. `detail` says why, in Kubernetes' words. */
  | { readonly kind: 'waiting'; readonly detail: string }
  | { readonly kind: 'running'; readonly pod: BuildPod }
  | BuildEnd
  | { readonly kind: 'deleting' };

/** A pod whose process has begun; its log is there to be read. */
export interface BuildPod {
  readonly name: string;
  readonly uid: string;
}

/** How one try ended. `pod`: the one that tells of it, if it is there still. */
export type BuildEnd = { readonly pod?: BuildPod } & (
  | { readonly kind: 'built'; readonly digest: string }
  /** BuildKit itself says that it cannot be built or pushed; another try would say so again. */
  | { readonly kind: 'failed'; readonly message: string; readonly lines: readonly string[] }
  /** The cluster does not let the pod run, and waiting changes nothing. */
  | { readonly kind: 'refused'; readonly scope: RefusalScope; readonly message: string }
  /** The pod came to nothing, and nobody can be blamed for it. `lines`: the last ones of BuildKit, if there are any. */
  | { readonly kind: 'lost'; readonly message: string; readonly lines?: readonly string[] }
  | { readonly kind: 'missing' }
  | { readonly kind: 'foreign'; readonly message: string }
);

/** Whose fault it is that there is no image. */
export type BuildFault = 'task' | 'infrastructure';
