/** What the setup modules of a job are to make on each host. Plain JSON, as JobSpec, whose fields these are. */

/** The modules that jobctl has. `command` is the job's own, not set-up; a job file may name modules of its own beside. */
export const MODULE_NAMES = [
  'ssh',
  'gcsfuse',
  'docker',
  'conda',
  'venv',
  'files',
  'bundle',
  'script',
  'command',
] as const;
export type ModuleName = (typeof MODULE_NAMES)[number];

/** A key pair that every host gets. */
export interface SshIdentity {
  /** A file of the submitter's. */
  readonly privateKey: string;
  /** Absent = the private key's path and `.pub`. */
  readonly publicKey?: string;
  /** Lines for `~/.ssh/config`; `IdentityFile` may be left out. */
  readonly configEntry?: string;
  /** The hosts of the job log in to one another with it, over all of its slices: the first JobMan's only pair. */
  readonly isBetweenHosts?: true;
}

/** Absent = gcsfuse's own default. */
export interface GcsfuseCache {
  /** On the host. */
  readonly dir?: string;
  readonly metadataTtlSecs?: number;
  readonly statCacheMaxSizeMb?: number;
  readonly typeCacheMaxSizeMb?: number;
  readonly fileCacheMaxSizeMb?: number;
  readonly cacheFileForRangeRead?: boolean;
  readonly enableParallelDownloads?: boolean;
}

export interface GcsfuseMount {
  readonly bucket: string;
  /** On the host: absolute, or `~/..`. */
  readonly path: string;
  readonly cache?: GcsfuseCache;
  /** A script that runs before the mount, such as one that makes a RAM disk for the cache. */
  readonly prefix?: string;
}

/** The command's container (facts/predecessors.md 1.1). */
export interface DockerSpec {
  /** By tag or by digest. */
  readonly image: string;
  /** Further words of `docker run`, split as a shell would. Name, removal, detaching and terminal are jobctl's, whatever they say. */
  readonly flags: readonly string[];
  /** `PATH` (the same inside) or `SOURCE:TARGET[:OPTIONS]`; `~` is the login user's home on the host. */
  readonly mounts: readonly string[];
  /** In the container. */
  readonly workdir?: string;
  /** Beside the job's own `env`; this one where both have a name. */
  readonly env: Readonly<Record<string, string>>;
}

export interface CondaSpec {
  readonly name: string;
  /** A file of the submitter's: environment.yml. */
  readonly configFile?: string;
  /** Such as `3.10`. */
  readonly python?: string;
  /** Packages for pip, or the one file of the submitter's that lists them. */
  readonly requirements?: { readonly file: string } | { readonly packages: readonly string[] };
}

/** A file or folder of the submitter's. */
export interface FileCopy {
  readonly from: string;
  /** On the host: absolute, `~/..` or relative to the home folder. */
  readonly to: string;
}

/** A folder of the submitter's, packed when the job is submitted: docs/bundles.md. The command starts in it. */
export interface BundleSpec {
  readonly dir: string;
  /** What stays behind, in the words of a .gitignore; absent = `USUAL_EXCLUDES`. */
  readonly exclude?: readonly string[];
  /** What the folder's own .gitignore files leave out goes too. */
  readonly withIgnored?: true;
  /** Runs in the bundle on every host, in the job's venv or conda environment, whenever either is new there. */
  readonly install?: string;
}

/** Where it is on a host, and in a container. Fixed, so that an editable install and what the command left there stay right. */
export const BUNDLE_PLACE = '~/bundle';
export const BUNDLE_PLACE_IN_CONTAINER = '/jobctl/bundle';

/** AXLearn's, for bundles that say nothing else. */
export const USUAL_EXCLUDES: readonly string[] = [
  'venv',
  '.venv',
  '.git',
  '.idea',
  '.cache',
  '.pytest_cache',
  '__pycache__',
  '.ruff_cache',
  '.DS_Store',
];

export interface ScriptSpec {
  readonly run: string;
  /** Ends with 0 where the script's work is there; absent = it is, once the same script has run to its end. */
  readonly check?: string;
}

/** A module that the job file itself describes. */
export interface OwnModule {
  readonly check?: string;
  readonly setup: readonly { readonly name: string; readonly run: string }[];
  readonly files: readonly FileCopy[];
}
