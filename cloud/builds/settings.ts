/** How an installation builds images in its clusters; a worker's `kubernetes.builds` (docs/build.md). */
export interface BuildSettings {
  /** Of BuildKit, with `buildctl-daemonless.sh`, git and a shell. */
  readonly image: string;
  /** The pod is privileged, and BuildKit runs as root: for nodes without user namespaces. Else it is rootless. */
  readonly privileged: boolean;
  /** `host:port` of registries without TLS. */
  readonly insecureRegistries: readonly string[];
  /** Kubernetes quantities; request and limit. */
  readonly cpus?: string;
  readonly memory?: string;
  /** Absent: the namespace's default one. Its token is not in the pod. */
  readonly serviceAccount?: string;
  /** A build that takes longer has failed. */
  readonly deadlineSeconds: number;
}

export const DEFAULT_BUILD_SETTINGS: BuildSettings = {
  image: 'docker.io/moby/buildkit:v0.20.2-rootless',
  privileged: false,
  insecureRegistries: [],
  deadlineSeconds: 2 * 3600,
};
