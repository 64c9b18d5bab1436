import type { Writable } from 'node:stream';
import { createHash } from 'node:crypto';
import type { BuildCondition, BuildPod, RemoteBuild } from '../../domain/build/spec.js';
import type { CreateAnswer } from '../../domain/slice.js';
import { canonicalJson } from '../../domain/content-hash.js';
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

const sha256 = (json: unknown): string => createHash('sha256').update(canonicalJson(json)).digest('hex');

/** All inputs that decide the content of an image, wherever it is built. `context` is a folder of the repository, '' its top. */
type ImageInputs = Pick<RemoteBuild, 'commit' | 'context' | 'dockerfile' | 'target' | 'args' | 'platform'>;

/** Returns a readable tag. Builds whose inputs differ have different tags. */
export function inputsTag({ commit, context, dockerfile, target, args, platform }: ImageInputs): string {
  const folder = context === '' || context.endsWith('/') ? context : `${context}/`;
  const inputs = { commit, context: folder, dockerfile, target, args, platform };
  return `${commit.slice(0, 12)}-${sha256(inputs).slice(0, 12)}`;
}

/**
 * Returns 40 hex digits that identify one installation's build; its workflow's id and its objects' names contain them. The hash
 * must resist collisions: a job that joins a build runs the image that the build's first job asked for.
 */
export const buildHash = ({ owner, build }: OwnedBuild): string => sha256({ owner, build }).slice(0, 40);

/** Settings for the images that an installation builds in its clusters; a worker's `kubernetes.builds` (docs/build.md). */
export interface BuildSettings {
  /** An image of BuildKit with `buildctl-daemonless.sh`, git and a shell. */
  readonly image: string;
  /** True: the pod is privileged and BuildKit runs as root, for nodes without user namespaces. False: rootless. */
  readonly privileged: boolean;
  /** `host:port` of registries without TLS. */
  readonly insecureRegistries: readonly string[];
  /** Kubernetes quantities, used as request and as limit. */
  readonly cpus?: string;
  readonly memory?: string;
  /** Absent: the namespace's default account. Its token is not mounted in the pod. */
  readonly serviceAccount?: string;
  /** A build that takes longer fails. */
  readonly deadlineSeconds: number;
}

export const DEFAULT_BUILD_SETTINGS: BuildSettings = {
  image: 'docker.io/moby/buildkit:v0.20.2-rootless',
  privileged: false,
  insecureRegistries: [],
  deadlineSeconds: 2 * 3600,
};
