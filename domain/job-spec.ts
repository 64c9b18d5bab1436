import type { AfterSpec } from './after.js';
import type { InputsSpec } from './inputs.js';
import type { MachineRequest } from './machine-kinds/registry.js';
import type { HookSpecs } from './hooks.js';
import type { CommandSpec } from './modules/command.js';
import type { SetUpSpec } from './modules/set-up.js';
import type { NotifyRule } from './notify.js';
import type { OutputsSpec } from './outputs.js';
import type { Retries } from './recovery/budgets.js';
import type { Pricing } from './slice.js';
import type { WorkspaceSpec } from './workspace.js';

/** A job file after defaults, interpolation and checks, on which the workflow runs. Plain JSON. */
export type JobSpec = CommonSpec & MachineRequest;

/** Fields that every kind of machines takes. */
interface CommonSpec extends SetUpSpec {
  /** Base of the job's id: `name`, else `job.name`, else the type's. `^[a-z]([a-z0-9-]*[a-z0-9])?$`, 40 characters at most. */
  readonly name: string;
  /** The quota project. Absent: the user's only one, or `none`. */
  readonly project?: string;
  readonly pool: string;
  readonly user?: string;
  readonly priority: Priority;
  /** Slices of the gang, 1 or more. */
  readonly slices: number;
  /** All slices are asked for in one request, granted whole or not at all. Only with 2 or more. Absent: one request each. */
  readonly atomic?: true;
  readonly env: Readonly<Record<string, string>>;
  /** Variables of the command whose values are in the installation's secret store: variable -> name of the secret. */
  readonly secrets?: Readonly<Record<string, string>>;
  /**
   * The pricing that the job's own file demands: only tiers of that pricing serve the job. Absent: any tier serves it, and one
   * without a pricing uses `tpu.pricing` (the pool's default, else spot). Not in `tpu`, whose hash names the created resource.
   */
  readonly namedPricing?: Pricing;
  readonly remoteUser?: string;
  /** The key with which workers connect to hosts. `privateKey`: a file of the submitter, or `secret:NAME`. */
  readonly ssh?: { readonly privateKey: string; readonly publicKey?: string };
  readonly command?: CommandSpec;
  /** Its slices are for people, and `command` watches whether they use them. Absent: an ordinary job. */
  readonly workspace?: WorkspaceSpec;
  /** Seconds between SIGTERM and SIGKILL. */
  readonly graceSeconds: number;
  /** New attempts that each kind of failure may cause. */
  readonly retries: Retries;
  /** Keeps the slices for people after the command has ended, for this time at most. Absent: never. */
  readonly keep?: { readonly when: 'on-failure' | 'always'; readonly seconds: number };
  /** Every end of the command, success too, is followed by a new attempt. */
  readonly loop?: true;
  /** In seconds. A key that is absent sets no limit, except `stop`, which is then `DEFAULT_STOP_SECONDS`. */
  readonly timeouts?: JobTimeouts;
  readonly hooks?: HookSpecs;
  /** Absent: `DEFAULT_OUTPUTS`. */
  readonly outputs?: OutputsSpec;
  /** Seconds without contact from a worker after which a host itself ends the command. Absent: `DEFAULT_UNATTENDED_SECONDS`. */
  readonly maxUnattended?: number | 'never';
  /** US dollars from which on the job says that it is over its budget. It goes on. Absent: no limit. */
  readonly maxCost?: number;
  /** Jobs and groups whose ends it waits for. Absent: none. */
  readonly after?: AfterSpec;
  /** Stored outputs of others that its hosts get before the command starts, by name. Absent: none. */
  readonly inputs?: InputsSpec;
  /** Who is told of which events. Absent: nobody. */
  readonly notify?: readonly NotifyRule[];
}

/** 1 is served first. */
export type Priority = 1 | 2 | 3 | 4 | 5;

/** All in seconds. */
export interface JobTimeouts {
  /** Time for which a stopped job keeps its slices. */
  readonly stop?: number;
  /** Longest wait for the pool, each time that the job waits. */
  readonly queue?: number;
  /** Time that its slices may take to be ready, in one zone. */
  readonly provision?: number;
  /** Time that the set-up of its hosts may take, in one attempt. */
  readonly setup?: number;
  /** Longest wait of the command for accelerators that another process uses. 0: they are not looked at. Absent: a minute. */
  readonly device?: number;
  /** Longest run of the command in one attempt. */
  readonly run?: number;
  /** Longest time without output on any of its hosts, in one attempt. `LEAST_NO_OUTPUT_SECONDS` or more. */
  readonly noOutput?: number;
  /** Longest silence of a host that no evidence calls dead. Absent: `DEFAULT_UNREACHABLE_SECONDS`. */
  readonly unreachable?: number;
}

/** `timeouts.unreachable` if a job file names none. */
export const DEFAULT_UNREACHABLE_SECONDS = 6 * 3600;
