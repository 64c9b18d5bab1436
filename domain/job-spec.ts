import type {
  BundleSpec,
  CondaSpec,
  DockerSpec,
  FileCopy,
  GcsfuseMount,
  OwnModule,
  ScriptSpec,
  SshIdentity,
} from './setup-spec.js';
import type { AllocationMode, DataDisk, Pricing } from './slice.js';

/** A job file after defaults, interpolation and checks: what the workflow runs on. Plain JSON. */
export interface JobSpec {
  /** The base of the job's id: `name`, else `job.name`, else the accelerator's. `^[a-z]([a-z0-9-]*[a-z0-9])?$`, 40 characters at most. */
  readonly name: string;
  /** The quota project; absent = the user's only one, or `none`. */
  readonly project?: string;
  readonly pool: string;
  readonly user?: string;
  readonly priority: 1 | 2 | 3 | 4 | 5;
  /** Slices of the gang, 1 or more. */
  readonly slices: number;
  readonly env: Readonly<Record<string, string>>;
  /** Variables of the command whose values are in the installation's secret store: variable -> name of the secret. */
  readonly secrets?: Readonly<Record<string, string>>;
  readonly tpu: {
    readonly allocationMode: AllocationMode;
    readonly accelerator: string;
    /** Prefix of resource names; absent = `jc`. */
    readonly name?: string;
    /** In order of preference. None: the pool's, until the worker that accepts the job has put them in. */
    readonly zones: readonly string[];
    /** The Google Cloud project; absent = the worker's. */
    readonly project?: string;
    readonly runtimeVersion: string;
    /** Where its tier has none; `any` comes to spot. */
    readonly pricing: Pricing | 'any';
    readonly startupScript?: string;
    readonly tags: readonly string[];
    readonly metadata: Readonly<Record<string, string>>;
    readonly labels: Readonly<Record<string, string>>;
    readonly network?: string;
    readonly subnetwork?: string;
    readonly externalIps: boolean;
    readonly serviceAccount?: string;
    /** URLs. */
    readonly scopes?: readonly string[];
    readonly reservation?: string;
    /** Absent = the type's usual one. */
    readonly topology?: string;
    readonly dataDisks?: readonly DataDisk[];
  };
  /**
   * What the job's own file wants its chips bought as: it is served by tiers of that pricing alone. Absent: any tier's, and
   * `tpu.pricing` (the pool's default, else spot) where the tier says nothing. Not in `tpu`, whose hash names what was created.
   */
  readonly namedPricing?: Pricing;
  /** Modules of jobctl's (`MODULE_NAMES` of setup-spec.ts) and the job's own, in the order in which they run. */
  readonly modules: readonly string[];
  readonly remoteUser?: string;
  /** `privateKey`: a file of the submitter's, or `secret:NAME`. */
  readonly ssh?: { readonly privateKey: string; readonly publicKey?: string };
  readonly venv?: {
    /** `~/NAME` or the path given, on the host. */
    readonly path: string;
    readonly python: string;
    readonly requirementsFile?: string;
  };
  // Of modules that are named in `modules`; jobs of 0.1.0 have none of them.
  /** Keys that each host gets. */
  readonly identities?: readonly SshIdentity[];
  readonly gcsfuse?: readonly GcsfuseMount[];
  readonly docker?: DockerSpec;
  readonly conda?: CondaSpec;
  readonly files?: readonly FileCopy[];
  readonly bundle?: BundleSpec;
  readonly script?: ScriptSpec;
  readonly ownModules?: Readonly<Record<string, OwnModule>>;
  readonly command?: {
    /** For `bash -lc`; dotted references are replaced, every other `$..` is the shell's. */
    readonly run: string;
    readonly hosts: 'all' | readonly number[];
  };
  /** Seconds between SIGTERM and SIGKILL. */
  readonly graceSeconds: number;
  /** How often each kind of failure may make a new attempt. */
  readonly retries: { readonly preemption: number; readonly infrastructure: number; readonly task: number };
  /** Whether the slices stay when the command has ended, for people to look, and for how long at most. Absent: never. */
  readonly keep?: { readonly when: 'on-failure' | 'always'; readonly seconds: number };
  /** Each end of the command, success too, is followed by a new attempt. */
  readonly loop?: true;
  /** In seconds; absent: no limit, and for `stop` `DEFAULT_STOP_SECONDS`. */
  readonly timeouts?: JobTimeouts;
  /** Who is told when the job has ended; absent = nobody. */
  readonly notify?: readonly NotifyTarget[];
}

/** Seconds. */
export interface JobTimeouts {
  /** How long a stopped job keeps its slices. */
  readonly stop?: number;
  /** How long it may wait for its pool, each time that it waits. */
  readonly queue?: number;
  /** How long its slices may take to be ready, in one zone. */
  readonly provision?: number;
  /** How long its hosts may be set up in one attempt. */
  readonly setup?: number;
  /** How long the command may run in one attempt. */
  readonly run?: number;
  /** How long it may print nothing on any of its hosts, in one attempt. `LEAST_NO_OUTPUT_SECONDS` or more. */
  readonly noOutput?: number;
}

/** A workflow of the job's namespace, whichever run of the id is open, and the signal that it gets. */
export interface NotifyTarget {
  readonly workflow: { readonly id: string; readonly signal: string };
}
