/** The `build` section of a job file after defaults and checks: docs/build.md, docs/adr/0072. Plain JSON. */
export interface BuildSpec {
  /** The repository that the image is pushed to, without a tag or a digest. */
  readonly image: string;
  /** Path as in the job file: relative to its folder. */
  readonly context: string;
  /** Relative to the context. */
  readonly dockerfile: string;
  readonly target?: string;
  readonly args: Readonly<Record<string, string>>;
  /** `OS/ARCHITECTURE[/VARIANT]`. */
  readonly platform: string;
  /** The repository as hosts reach it. */
  readonly pullImage: string;
  /** `sha256:..` of the image, if it was built. */
  readonly digest?: string;
  /** For a build in a cluster: docs/adr/0074. */
  readonly remote: RemoteFields;
}

/** Keys of `build` that only a build in a cluster reads. Plain JSON. */
export interface RemoteFields {
  readonly repository?: string;
  /** 40 hex digits, or 64. */
  readonly commit?: string;
  /** Context of the worker's kubeconfig. */
  readonly cluster?: string;
  readonly namespace?: string;
  readonly gitSecret?: string;
  readonly pushSecret?: string;
}
