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
