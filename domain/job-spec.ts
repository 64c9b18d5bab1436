import type { MachineRequest } from './machine-kinds/registry.js';
import type { HookSpecs } from './hooks.js';
import type { CommandSpec } from './modules/command.js';
import type { SetUpSpec } from './modules/set-up.js';
import type { OutputsSpec } from './outputs.js';
import type { Retries } from './recovery/budgets.js';
import type { Pricing } from './slice.js';

/** A job file after defaults, interpolation and checks: what the workflow runs on. Plain JSON. */
export type JobSpec = CommonSpec & MachineRequest;

/** What every kind of machines takes. */
interface CommonSpec extends SetUpSpec {
  /** The base of the job's id: `name`, else `job.name`, else the accelerator's. `^[a-z]([a-z0-9-]*[a-z0-9])?$`, 40 characters at most. */
  readonly name: string;
  /** The quota project; absent = the user's only one, or `none`. */
  readonly project?: string;
  readonly pool: string;
  readonly user?: string;
  readonly priority: Priority;
  /** Slices of the gang, 1 or more. */
  readonly slices: number;
  /** They are asked for in one request, which is granted whole or not at all; only with 2 or more. Absent: one request each. */
  readonly atomic?: true;
  readonly env: Readonly<Record<string, string>>;
  /** Variables of the command whose values are in the installation's secret store: variable -> name of the secret. */
  readonly secrets?: Readonly<Record<string, string>>;
  /**
   * What the job's own file wants its chips bought as: it is served by tiers of that pricing alone. Absent: any tier's, and
   * `tpu.pricing` (the pool's default, else spot) where the tier says nothing. Not in `tpu`, whose hash names what was created.
   */
  readonly namedPricing?: Pricing;
  readonly remoteUser?: string;
  /** The key that connects. `privateKey`: a file of the submitter's, or `secret:NAME`. */
  readonly ssh?: { readonly privateKey: string; readonly publicKey?: string };
  readonly command?: CommandSpec;
  /** Seconds between SIGTERM and SIGKILL. */
  readonly graceSeconds: number;
  /** How often each kind of failure may make a new attempt. */
  readonly retries: Retries;
  /** Whether the slices stay when the command has ended, for people to look, and for how long at most. Absent: never. */
  readonly keep?: { readonly when: 'on-failure' | 'always'; readonly seconds: number };
  /** Each end of the command, success too, is followed by a new attempt. */
  readonly loop?: true;
  /** In seconds; absent: no limit, and for `stop` `DEFAULT_STOP_SECONDS`. */
  readonly timeouts?: JobTimeouts;
  readonly hooks?: HookSpecs;
  /** Absent: `DEFAULT_OUTPUTS`. */
  readonly outputs?: OutputsSpec;
  /** Seconds without a word of a worker after which a host ends the command itself. Absent: `DEFAULT_UNATTENDED_SECONDS`. */
  readonly maxUnattended?: number | 'never';
  /** Who is told when the job has ended; absent = nobody. */
  readonly notify?: readonly NotifyTarget[];
}

/** 1 is served first. */
export type Priority = 1 | 2 | 3 | 4 | 5;

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
  /** How long the command waits for accelerators that another process uses; 0: they are not looked at. Absent: a minute. */
  readonly device?: number;
  /** How long the command may run in one attempt. */
  readonly run?: number;
  /** How long it may print nothing on any of its hosts, in one attempt. `LEAST_NO_OUTPUT_SECONDS` or more. */
  readonly noOutput?: number;
  /** How long a host may be silent that no evidence calls dead; without it `DEFAULT_UNREACHABLE_SECONDS`. */
  readonly unreachable?: number;
}

/** `timeouts.unreachable` where a job file names none. */
export const DEFAULT_UNREACHABLE_SECONDS = 6 * 3600;

/** A workflow of the job's namespace, whichever run of the id is open, and the signal that it gets. */
export interface NotifyTarget {
  readonly workflow: { readonly id: string; readonly signal: string };
}
