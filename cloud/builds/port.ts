import type { Writable } from 'node:stream';
import type { BuildCondition, BuildPod } from '../../domain/build/condition.js';
import type { RemoteBuild } from '../../domain/build/remote.js';
import type { CreateAnswer } from '../../domain/slice.js';
import type { RemoveAnswer } from '../machines/port.js';

/** One build of one installation: its objects have a name of their own, made of the inputs. */
export interface OwnedBuild {
  /** The installation's random id. */
  readonly owner: string;
  readonly build: RemoteBuild;
}

/** Where a build's pod is. */
export type BuildPlace = Pick<RemoteBuild, 'cluster' | 'namespace'>;

/**
 * Images that a cluster builds. As with machines (cloud/machines/port.ts), a call that says nothing rejects with `CloudUnavailable`
 * or `CloudRefused`, so that "unknown" is never read as "gone".
 */
export interface Builds {
  /** 40 hex digits, made of the owner and all inputs. */
  hashOf(build: OwnedBuild): string;
  /** One create call. Never rejects for what the cluster said. */
  create(build: OwnedBuild): Promise<CreateAnswer>;
  /** Asks the cluster directly. */
  observe(build: OwnedBuild): Promise<BuildCondition>;
  /** Asks for the build's objects to be deleted; those of somebody else are not touched. */
  remove(build: OwnedBuild): Promise<RemoveAnswer>;
  /**
   * Writes what a pod has printed, from its beginning, and what it prints until its process has ended. Resolves at the end.
   * Rejects with `CloudUnavailable` where the connection broke off, and with `CloudRefused` for a worker that may not read logs.
   */
  follow(place: BuildPlace, pod: BuildPod, output: Writable, signal: AbortSignal): Promise<void>;
}
