import type { z } from 'zod';
import { section, text, textMap } from '../job-file/fields.js';
import type { RefusalScope } from '../slice.js';

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

const schema = section({
  image: text().nullish().describe('Repository that the image is pushed to, without a tag or a digest.'),
  context: text().nullish().describe("Folder that COPY reads from; the job file's folder without it."),
  dockerfile: text().nullish().describe('Path in the context; Dockerfile without it.'),
  target: text().nullish().describe('Stage of the Dockerfile; the last one without it.'),
  args: textMap().nullish().describe('Build arguments (ARG). They can be read in the image: no secrets.'),
  platform: text().nullish().describe('Of the image, such as linux/arm64; linux/amd64 without it.'),
  pull_image: text().nullish().describe('The same repository as hosts reach it, if they use another address.'),
  digest: text().nullish().describe('Of an image that was built and pushed: it is used, and nothing is built.'),
  repository: text().nullish().describe("URL that a cluster fetches the commit from; submit adds the remote's."),
  commit: text().nullish().describe('Commit that the cluster builds; submit adds the one that is checked out.'),
  cluster: text()
    .nullish()
    .describe("Context of the worker's kubeconfig whose cluster builds; that of the job's pods."),
  namespace: text().nullish().describe("Namespace in which the cluster builds; that of the job's pods, else default."),
  git_secret: text().nullish().describe('Secret of that namespace with the login for the repository.'),
  push_secret: text().nullish().describe('Secret of that namespace with the login for the registry.'),
});

/** The form of `build` in a job file. A function: docs/adr/0012. */
export const buildForm = (): typeof schema => schema;

export type BuildForm = z.infer<typeof schema>;

/** Result of one look at a build in a cluster. A failed call is not a result: the port throws instead. */
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
