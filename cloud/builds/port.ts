import type { Writable } from 'node:stream';
import type { BuildCondition, BuildPod } from '../../domain/build/condition.js';
import type { RemoteBuild } from '../../domain/build/remote.js';
import type { CreateAnswer } from '../../domain/slice.js';
import type { RemoveAnswer } from '../machines/port.js';

/** One build of one installation. The names of its objects are made from the owner and the inputs. */
export interface OwnedBuild {
  /** The installation's random id. */
  readonly owner: string;
  readonly build: RemoteBuild;
}

/** The cluster and namespace of a build's pod. */
export type BuildPlace = Pick<RemoteBuild, 'cluster' | 'namespace'>;

/**
 * Images that a cluster builds. Like the port of machines (cloud/machines/port.ts), a call without evidence rejects with
 * `CloudUnavailable` or `CloudRefused`, so that "unknown" is never read as "gone".
 */
export interface Builds {
  /** 40 hex digits, made of the owner and all inputs. */
  hashOf(build: OwnedBuild): string;
  /** Makes one create call. Never rejects because of the cluster's answer. */
  create(build: OwnedBuild): Promise<CreateAnswer>;
  /** Asks the cluster directly. */
  observe(build: OwnedBuild): Promise<BuildCondition>;
  /** Asks for the build's objects to be deleted. Objects of another owner are not touched. */
  remove(build: OwnedBuild): Promise<RemoveAnswer>;
  /**
   * Writes a pod's output from its beginning until its process ends, then resolves. Rejects with `CloudUnavailable` if the
   * connection broke off, and with `CloudRefused` if this worker may not read logs.
   */
  follow(place: BuildPlace, pod: BuildPod, output: Writable, signal: AbortSignal): Promise<void>;
}
