import type { z } from 'zod';
import { section, text, textMap, given } from '../job-file/fields.js';
import type { RefusalScope } from '../slice.js';
import type { Report } from '../job-file/report.js';
import { DNS_LABEL, DNS_LABEL_RULE, OBJECT_NAME, OBJECT_NAME_RULE } from '../machine-kinds/kubernetes/words.js';

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
interface RemoteFields {
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

/** All inputs of a build in a cluster, and its place. Builds of equal inputs are one build. Plain JSON. */
export interface RemoteBuild {
  readonly repository: string;
  readonly commit: string;
  /** A folder of the repository. '' is its top. */
  readonly context: string;
  /** Path relative to the context, inside it. */
  readonly dockerfile: string;
  readonly target?: string;
  readonly args: Readonly<Record<string, string>>;
  readonly platform: string;
  /** Repository of a registry, to which the image is pushed. */
  readonly image: string;
  /** Absent: the worker's default cluster. */
  readonly cluster?: string;
  readonly namespace: string;
  readonly gitSecret?: string;
  readonly pushSecret?: string;
}

/** The cluster and namespace of a job's pods. */
interface JobPods {
  readonly context?: string;
  readonly namespace?: string;
}

/** The namespace of a job that has no pods. */
const DEFAULT_NAMESPACE = 'default';

const COMMIT = /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/;
/** `https://host/path`, `ssh://[user@]host/path`, `git://host/path`. */
const URL_FORM = /^(https?|ssh|git):\/\/(?:([^/@\s]+)@)?[\w.-]+(?::\d+)?\/[^\s#?]+$/;
/** `user@host:path`, the form of git and OpenSSH. */
const SCP_FORM = /^[\w.-]+@[\w.-]+:(?!\/\/)[^\s#?]+$/;
const FETCHED = 'https://host/path.git, ssh://git@host/path.git or git@host:path.git';

/** Returns why a cluster cannot fetch from a URL, or undefined if the URL's form is right. */
export function whyUnfetchable(url: string): string | undefined {
  const [, scheme, login] = URL_FORM.exec(url) ?? [];
  if (scheme === undefined) return SCP_FORM.test(url) ? undefined : `no URL that a cluster can fetch from: ${FETCHED}`;
  const isSecret = scheme === 'ssh' ? login?.includes(':') === true : login !== undefined;
  return isSecret
    ? 'a URL with a login, which would be kept with the job: name a Secret in build.git_secret'
    : undefined;
}

/** Returns whether git logs in with a key, which always needs a Secret. */
export const isByKey = (url: string): boolean => SCP_FORM.test(url) || url.startsWith('ssh://');

export function resolveRemote(form: BuildForm, report: Report): RemoteFields {
  const fields: { -readonly [Key in keyof RemoteFields]: string } = {};
  const repository = given(form.repository);
  const why = repository === undefined ? undefined : whyUnfetchable(repository);
  if (why === undefined && repository !== undefined) fields.repository = repository;
  // The value is not shown: it may hold a password.
  if (why !== undefined) report.problem(['build', 'repository'], undefined, `is ${why}`);
  const commit = given(form.commit);
  if (commit !== undefined && !COMMIT.test(commit))
    report.wrong(['build', 'commit'], commit, 'no commit', '40 hex digits, as `git rev-parse HEAD` prints them');
  else if (commit !== undefined) fields.commit = commit;
  const cluster = given(form.cluster);
  if (cluster !== undefined) fields.cluster = cluster;
  const namespace = given(form.namespace);
  if (namespace !== undefined && !DNS_LABEL.test(namespace))
    report.wrong(['build', 'namespace'], namespace, 'no namespace', DNS_LABEL_RULE);
  else if (namespace !== undefined) fields.namespace = namespace;
  for (const [key, name] of [
    ['git_secret', 'gitSecret'],
    ['push_secret', 'pushSecret'],
  ] as const) {
    const secret = given(form[key]);
    if (secret !== undefined && !OBJECT_NAME.test(secret))
      report.wrong(['build', key], secret, 'no name of a Secret', OBJECT_NAME_RULE);
    else if (secret !== undefined) fields[name] = secret;
  }
  return fields;
}

const INSIDE = "of the repository, without '..' and without / at its beginning";

/** Reports the problems of a build whose commit a cluster fetches. */
export function refuseUnfetched({ context, dockerfile, remote }: BuildSpec, report: Report): void {
  if (remote.repository === undefined && !report.wasDropped(['build', 'repository']))
    report.missing(['build', 'repository'], `the URL that build.commit is fetched from: ${FETCHED}`);
  if (folderOf(context) === undefined)
    report.wrong(['build', 'context'], context, 'no folder of build.repository', `a folder ${INSIDE}`);
  if (folderOf(dockerfile) === undefined)
    report.wrong(['build', 'dockerfile'], dockerfile, 'not in build.context', `a file of the context ${INSIDE}`);
}

/** Returns the path without `.` and doubled slashes, or undefined if it leads out of the repository. */
function folderOf(path: string): string | undefined {
  const parts = path.split('/').filter((part) => part !== '' && part !== '.');
  return path.startsWith('/') || path.startsWith('~') || parts.includes('..') ? undefined : parts.join('/');
}

/**
 * Returns the build that a cluster must make for a job, or undefined if the image exists or is not built there.
 * @param pods the place of the job's own pods, if it has some
 */
export function remoteBuildOf(
  { digest, remote, context, dockerfile, target, args, platform, image }: BuildSpec,
  pods: JobPods = {},
): RemoteBuild | undefined {
  const { repository, commit, gitSecret, pushSecret } = remote;
  if (digest !== undefined || repository === undefined || commit === undefined) return undefined;
  const cluster = remote.cluster ?? pods.context;
  return {
    ...{ repository, commit, context: folderOf(context) ?? '', dockerfile: folderOf(dockerfile) ?? '' },
    ...(target === undefined ? {} : { target }),
    ...{ args, platform, image },
    ...(cluster === undefined ? {} : { cluster }),
    namespace: remote.namespace ?? pods.namespace ?? DEFAULT_NAMESPACE,
    ...(gitSecret === undefined ? {} : { gitSecret }),
    ...(pushSecret === undefined ? {} : { pushSecret }),
  };
}

/** The place of a job's own pods. Empty if it has none. @param podSections the names of sections whose machines are pods */
export function podsOf(spec: object, podSections: readonly string[]): JobPods {
  const section = Object.entries(spec).find(([name]) => podSections.includes(name))?.[1] as JobPods | undefined;
  return section ?? {};
}

/** For lists and logs: `ghcr.io/team/train of commit 3f2a9c1d0b7e`. */
export const buildText = ({ image, commit }: Pick<RemoteBuild, 'image' | 'commit'>): string =>
  `${image} of commit ${commit.slice(0, 12)}`;
