import type { z } from 'zod';
import type { Choice, ChoiceLists } from '../choices.js';
import type { PoolDefaults } from '../job-file/pool-defaults.js';
import type { Report } from '../job-file/report.js';
import type { Path } from '../problem.js';
import type { Pricing, SliceHost, TierPurchase } from '../slice.js';
import type { QuotaUnits } from '../units.js';

/** Common fields of every kind's ref: enough for a lease book, a slice workflow and a list row. */
export interface AnyRef {
  readonly kind: string;
  /** Unique in the installation: it names the slice workflow. */
  readonly name: string;
  /** One of the zones that the job asked for. */
  readonly zone: string;
  /** Number of slices that the request is for, in `MachineKind.slices` order. Absent: one slice, of the same name. */
  readonly slices?: number;
  /** For one slice of such a request: the request's name. Absent: the slice has a request to itself, of the same name. */
  readonly request?: string;
}

/** The parts of a job's request that the rest of jobctl reads, for any kind of machines. */
export interface AskedMachines {
  /** For people, such as `v5litepod-16`. */
  readonly accelerator: string;
  /** In order of preference. */
  readonly zones: readonly string[];
  /** The zones are all that the pool has, and the pool decides their order. Absent: the job file lists them. */
  readonly isAnyZone?: true;
  /** Prefix of resource names. Absent: `DEFAULT_NAME_PREFIX` of identity.ts. */
  readonly name?: string;
  readonly pricing: Pricing | 'any';
  /** Machines that somebody made by hand and that the job's first slice is made of. Absent: all are created. */
  readonly adopts?: string;
  /**
   * For a kind whose provider queues requests: how many requests for the whole gang may be open at the same time, each in
   * another zone (docs/adr/0101). Absent: a request is granted or refused at once, and one zone is asked at a time.
   */
  readonly hedge?: number;
}

/** The number of slices of a job, 1 or more. */
interface Slices {
  readonly slices: number;
  /** All slices are asked for in one request, which is granted whole or not at all. Absent: one request for each. */
  readonly atomic?: true;
}

/** Times, in seconds, for which a job may hold its slices while nothing runs on them. */
export interface Holding {
  /** Absent: the job prepares its slices, and holds them until it is cancelled. */
  readonly command?: unknown;
  readonly keep?: { readonly seconds: number };
  readonly timeouts?: { readonly stop?: number };
}

/** The slices of a job, and their quota units. */
export interface AskedSize {
  readonly units: QuotaUnits;
  /** Chips of all slices: for people, never for quota. */
  readonly chips: number;
  /** Hosts of all slices, by the type's documentation. */
  readonly hosts: number;
}

/** Value for a provider at which the worker has no account. */
export const NO_ACCOUNT = '';

/** The worker's own account at each provider, used if neither the job nor its pool names one; or `NO_ACCOUNT`. */
export interface UsualAccounts {
  readonly googleProject: string;
}

/** Inputs of a plan, beside the job's spec. */
export interface SlicePlace extends UsualAccounts {
  readonly owner: string;
  readonly zone: string;
  readonly name: string;
  readonly job: string;
  readonly run: string;
  readonly generation: number;
  readonly loginUser: string;
  /** OpenSSH line of the key that connects. */
  readonly publicKey: string;
  /** No slice of the job was ready yet, so that it may adopt machines. */
  readonly mayAdopt?: true;
  /** Purchase by the tier of the job's lease. Absent: the job's own pricing counts. */
  readonly bought?: TierPurchase;
}

/** The slices of one attempt, as inputs of its command's environment. */
export interface AttemptSlices {
  readonly own: AttemptSlice;
  readonly all: readonly AttemptSlice[];
  /** Address of the first host that runs the command. */
  readonly coordinator: string;
  /** Port on that host for `jax.distributed`. */
  readonly jaxPort: number;
  /** Added to a usual port, so that jobs on parts of one machine have different ones. */
  readonly portOffset: number;
  /** Rank of this host among those that run the command, from 0. Absent if it does not run the command. */
  readonly rank?: number;
  /** Hosts that run the command. */
  readonly tasks: number;
}
export interface AttemptSlice {
  readonly index: number;
  readonly name: string;
  readonly zone: string;
  readonly hosts: readonly SliceHost[];
}

/** Devices that serve one process at a time: a command starts once no process holds them. */
export interface AcceleratorDevices {
  /** Globs of device files, without spaces. */
  readonly devices: readonly string[];
  /** Files that a process of the accelerator's library leaves behind; removed if no process holds them. Without spaces. */
  readonly lockFiles: readonly string[];
}

/** Key of a section that a command-line flag sets. */
export interface FlagKey {
  /** Below the section. */
  readonly path: Path;
  /** A key that takes several values. The flag replaces such a list. If the flag's text is `word`, it goes into this key too. */
  readonly list?: { readonly key: string; readonly word: string };
}

/** The flag is refused for machines of this kind. */
export interface NoFlagKey {
  /** A clause: why the kind has no such thing. */
  readonly why: string;
  /** The words to write instead. */
  readonly instead: string;
}

/** Command-line flags that say something about a job's machines. `--spot` is `--pricing spot`. */
export const MACHINE_FLAGS = ['tpu', 'zone', 'pricing', 'adopt'] as const;
export type MachineFlag = (typeof MACHINE_FLAGS)[number];

/**
 * The section of a job file that asks for machines of a kind.
 * @typeParam Request the section's result, under the section's own name; plain JSON, part of `JobSpec`
 */
export interface RequestSection<Request, Form extends z.ZodType = z.ZodType> {
  /** The key of `Request`. A plain text, so that the sections of all kinds fit one type. */
  readonly name: string;
  /** The keys that a job must have, for people: `accelerator and zone`. */
  readonly least: string;
  /** The form of the section. A function: docs/adr/0012. */
  form(): Form;
  /** Keys that the JSON Schema requires; the form has every key optional. */
  readonly required: readonly string[];
  /** Whether one request can ask for several slices (`atomic`). */
  readonly takesAtomic: boolean;
  /** The keys of the section that command-line flags set. */
  readonly flags: Readonly<Record<MachineFlag, FlagKey | NoFlagKey>>;
  /** The values of this kind in `machines` of `[allow]`, for people: `kubernetes/CONTEXT/NAMESPACE`. */
  readonly allowForm: string;
  /**
   * Checks the section and applies its defaults. Reports every problem; the result is used only if there are no problems.
   * @returns undefined if the type of the machines is not known
   */
  resolve(section: z.output<Form>, context: RequestContext, report: Report): ResolvedRequest<Request> | undefined;
}

/** The table of a pool file with defaults for jobs of one kind, under the name of its section (docs/pool-file.md). */
export interface PoolTable<Form extends z.ZodType = z.ZodType> {
  /** A function: docs/adr/0012. */
  form(): Form;
  /** Checks what a pool file gives to jobs of the kind. The paths of problems are those of the pool file. */
  check(file: PoolGiven<z.output<Form>>, report: Report): void;
  /** The values of the table as choices of the pool's jobs. */
  gives(table: z.output<Form>): ChoiceLists;
}

/** The parts of a pool file that jobs get. */
export interface PoolGiven<Table> {
  readonly google_project?: string | undefined;
  readonly zones?: string[] | undefined;
  readonly table: Table | undefined;
}

/** Names of a provider's zones. */
export interface ZoneNames {
  isName(text: string): boolean;
  /** Reports a text that is not a zone's name. */
  check(path: Path, text: string, report: Report): void;
}

/** Facts of the job beside its section: the number of its slices, and the defaults of its pool if they are known. */
export interface RequestContext extends Slices {
  readonly poolName: string;
  readonly pool: PoolDefaults | undefined;
  /** Even while the pool is not known, a zone that jobctl does not know is refused. */
  readonly isZoneStrict?: boolean;
}

export interface ResolvedRequest<Request> {
  readonly request: Request;
  readonly slice: SliceType;
  /** The pricing that the job's own file demands. Absent: its tier decides. */
  readonly namedPricing?: Pricing;
  /** Keys of the section that the file leaves out and a pool file may give. */
  readonly leftToPool: readonly string[];
}

/** One slice, as far as its type describes it. */
export interface SliceType {
  /** For people, such as `v5litepod-16`. */
  readonly type: string;
  readonly hosts: number;
}

/**
 * jobctl's knowledge of one kind of machines, as pure functions (docs/machines.md). The calls to its provider are in
 * `cloud/machines/KIND/`, behind the port of `cloud/machines/port.ts`.
 */
export interface MachineKind<
  Ref extends AnyRef,
  Plan extends { readonly ref: Ref },
  Request extends object,
  Form extends z.ZodType = z.ZodType,
> {
  /** The provider's name in messages, such as `Cloud TPU`. */
  readonly provider: string;
  /**
   * Forms that a ref and a plan must have when they cross a border. Functions: a worker freezes the exports of shared modules,
   * and zod writes into a schema when it is first used (contract/lease-forms.ts).
   */
  refForm(): z.ZodType<Ref>;
  planForm(): z.ZodType<Plan>;
  readonly devices: AcceleratorDevices;
  /** Label `api` of the metric of calls to its provider (docs/metrics.md). Undefined: they are not counted. */
  readonly metricsName: string | undefined;
  /** Its word for `--execution` of `jobctl launch`. Undefined: only a job file asks for such machines. */
  readonly launchWord: string | undefined;
  /** Whether a rehearsal simulates its machines in that zone. Others are real even in a rehearsal. */
  isRehearsed(zone: string | undefined): boolean;
  /** The zones that a pool file may name for it. Undefined: its machines have none. */
  readonly zoneNames: ZoneNames | undefined;
  /** The way to reach its hosts. */
  readonly reach: SliceHost['reach'];
  /** Whether its provider may take machines from a ready slice, by a preemption, an eviction or a repair. */
  readonly areTakenBack: boolean;
  /** Whether machines have a price and a pricing, which are shown. */
  readonly isBought: boolean;
  /**
   * Whether its provider takes all hosts of a slice together, so that each host's system announces it. Otherwise it takes one
   * host, and the others of its gang hear of it from jobctl (docs/adr/0130).
   */
  readonly areTakenTogether: boolean;
  /** Whether its create request carries a public key for the new hosts, so that each job can have another (docs/adr/0077). */
  readonly takesPublicKey: boolean;
  readonly section: RequestSection<Request, Form>;

  asked(spec: Request): AskedMachines;
  /** @throws RangeError for a spec that was not resolved */
  size(spec: Request & Slices): AskedSize;
  /** Key of the job file that names the machines, such as `tpu.accelerator`. If the file leaves the key out: its section. */
  sizeKey(spec: Request): string;
  /** The request for one generation of one slice, or of all slices of an atomic job. */
  plan(spec: Request & Slices & Holding, place: SlicePlace): Plan;
  /** The slices of a request, in order: the ref itself, unless it has `slices`. */
  slices(ref: Ref): readonly Ref[];
  /**
   * Estimated cost of the job's slices in USD per hour, or undefined if no price is known. Never a guess.
   * @param zone such as us-central1-a; its region's price counts
   */
  usdPerHour(spec: Request & Slices, zone: string | undefined, pricing: Pricing | 'any'): number | undefined;
  /** Choices of the job that its pool may refuse (docs/adr/0075): projects, identities, networks, disks, images, places. */
  choices(spec: Request): readonly Choice[];
  /** Values of `[allow]` of a job if neither it nor its pool chooses any. A pool without `[allow]` may allow these alone. */
  usualChoices(accounts: Partial<UsualAccounts>): ChoiceLists;
  /** Equal for requests whose hosts, in one place, are behind the same network and firewall. */
  route(spec: Request): string;
  /** Variables of the kind. The job's own `env` overrides them. */
  environment(spec: Request, slices: AttemptSlices): Readonly<Record<string, string>>;

  /** Folder in the store that lists the accounts in which our slices may be. It ends with a slash. */
  readonly accountsPrefix: string;
  /**
   * The unit by which the provider lists resources, such as a Google project.
   * @param spec absent: the account of jobs that name none
   * @returns undefined if there is no such account without a job
   */
  account(accounts: UsualAccounts, spec: Request): string;
  account(accounts: UsualAccounts, spec?: Request): string | undefined;
  /** An account that a job may lack: its name in sentences, in the section and in the worker's configuration. Undefined: none. */
  readonly accountKey:
    | { readonly what: string; readonly key: string; readonly setting: keyof UsualAccounts }
    | undefined;
  /** Variables for the command that proxies SSH to its hosts (docs/ssh-fleet.md). */
  proxyVariables(ref: Ref): Readonly<Record<string, string>>;
  /** The accelerator and pricing by which a pool compares zones. Undefined: zones of this kind are not compared. */
  compared(plan: Plan): (Pick<AskedMachines, 'accelerator'> & { readonly pricing: Pricing }) | undefined;

  // Sentences for people ---------------------------------------------------------------------------------------------

  /** `Cloud TPU of project p` */
  accountText(account: string): string;
  /** `queued resource train-x7-g1` */
  resourceText(ref: Ref): string;
  /** `us-central1-a, Google project p` */
  placeText(ref: Ref): string;
  /** The job's pricing and software, as its file asks for them. */
  requestText(spec: Request & Slices): string;
  /**
   * The same as rows of `jobctl validate`.
   * @param orPools a remark for the value of a key that the pool may give instead
   */
  requestFacts(spec: Request & Slices, orPools: (key: string) => string): readonly (readonly [string, string])[];
  /** A clause: when the provider ends a request or slice by itself, or undefined if it does not. @param orPools see above */
  endsText?(spec: Request & Slices, orPools?: (key: string) => string): string | undefined;
  /** Sentences about a request that has no chips yet: what it waits for, by its pricing, and what its user can do. */
  waitText?(spec: Request & Slices): readonly string[];
  /** `v5litepod-16, spot` */
  planText(plan: Plan): string;
  /** The same, with all details that help when hosts behave strangely. */
  planDetails(plan: Plan): string;
  /** Tells a person how to see the provider's own state: a sentence without its full stop. */
  stateHint(ref: Ref): string;
}
