import type { z } from 'zod';
import type { Choice } from '../choices.js';
import type { PoolDefaults } from '../job-file/pool-defaults.js';
import type { Report } from '../job-file/report.js';
import type { Pricing, SliceHost, TierPurchase } from '../slice.js';
import type { QuotaUnits } from '../units.js';

/** What every kind's reference has: enough for a lease book, a slice workflow and a list row. */
export interface AnyRef {
  readonly kind: string;
  /** Unique in the installation: the slice workflow is named by it. */
  readonly name: string;
  /** One of the zones that the job asked for. */
  readonly zone: string;
  /** How many slices the request is for, in `MachineKind.slices` order. Absent: its machines are one slice, of the same name. */
  readonly slices?: number;
  /** Of one slice of such a request: the request's name. Absent: the slice has a request to itself, of the same name. */
  readonly request?: string;
}

/** What the rest of jobctl reads of a job's request, whichever kind of machines it is for. */
export interface AskedMachines {
  /** For people, such as `v5litepod-16`. */
  readonly accelerator: string;
  /** In order of preference. */
  readonly zones: readonly string[];
  /** They are all that the pool has, and the pool says in which order they are asked. Absent: the job file lists them. */
  readonly isAnyZone?: true;
  /** Prefix of resource names. Absent: `DEFAULT_NAME_PREFIX` of identity.ts. */
  readonly name?: string;
  readonly pricing: Pricing | 'any';
  /**
   * Of a kind whose provider queues requests: how many it may have at once for the whole gang, each in another zone (docs/adr/0101).
   * Absent: a request is granted or refused, and one zone is asked at a time.
   */
  readonly hedge?: number;
}

/** How many slices a job has, 1 or more. */
interface Slices {
  readonly slices: number;
  /** They are asked for in one request, which is granted whole or not at all. Absent: one request for each. */
  readonly atomic?: true;
}

/** How long a job may hold its slices while nothing runs on them; seconds. */
export interface Holding {
  /** Absent: it prepares its slices, and holds them until it is cancelled. */
  readonly command?: unknown;
  readonly keep?: { readonly seconds: number };
  readonly timeouts?: { readonly stop?: number };
}

/** The slices of a job, and what they count for in quota. */
export interface AskedSize {
  readonly units: QuotaUnits;
  /** Chips of all slices: for people, never for quota. */
  readonly chips: number;
  /** Hosts of all slices, by the type's documentation. */
  readonly hosts: number;
}

/** What a plan is made of, beside the job's spec. */
export interface SlicePlace {
  readonly owner: string;
  /** The worker's Google project, used if neither the job nor its pool names one. */
  readonly googleProject: string;
  readonly zone: string;
  readonly name: string;
  readonly job: string;
  readonly run: string;
  readonly generation: number;
  readonly loginUser: string;
  /** OpenSSH line of the key that connects. */
  readonly publicKey: string;
  /** What the tier of the job's lease buys. Absent: the job's own word counts. */
  readonly bought?: TierPurchase;
}

/** The slices of one attempt, as the environment of its command is made of them. */
export interface AttemptSlices {
  readonly own: AttemptSlice;
  readonly all: readonly AttemptSlice[];
  /** Address of the first host that runs the command. */
  readonly coordinator: string;
  /** The port on it that `jax.distributed` is told. */
  readonly jaxPort: number;
  /** Of this host among all that run the command, from 0; absent if it does not run it. */
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

/** Devices that serve one process at a time: a command starts when no process holds them. */
export interface AcceleratorDevices {
  /** Globs of device files, without spaces. */
  readonly devices: readonly string[];
  /** Files that a process of the accelerator's library leaves behind; removed if no process holds them. Without spaces. */
  readonly lockFiles: readonly string[];
}

/**
 * The section of a job file that asks for machines of a kind.
 * @typeParam Request what it resolves to, under the section's own name; plain JSON, part of `JobSpec`
 */
export interface RequestSection<Request, Form extends z.ZodType = z.ZodType> {
  /** The key of `Request`. A plain text, so that the sections of all kinds fit one type. */
  readonly name: string;
  /** The keys that a job cannot do without, for people: `accelerator and zone`. */
  readonly least: string;
  /** The form of the section. A function: docs/adr/0012. */
  form(): Form;
  /** Keys that the JSON Schema requires; the form has every key optional. */
  readonly required: readonly string[];
  /** Whether one request can be for several slices (`atomic`). */
  readonly takesAtomic: boolean;
  /**
   * Checks the section and applies its defaults. Every problem goes into the report; the result is used only if there is none.
   * @returns undefined if the type of the machines is not known
   */
  resolve(section: z.output<Form>, context: RequestContext, report: Report): ResolvedRequest<Request> | undefined;
}

/** Of the job, beside its section: how many slices it has, and the defaults of its pool if they are known. */
export interface RequestContext extends Slices {
  /** The job's pool. */
  readonly poolName: string;
  readonly pool: PoolDefaults | undefined;
  /** Also while the pool is not known, a zone that jobctl does not know is refused. */
  readonly isZoneStrict?: boolean;
}

export interface ResolvedRequest<Request> {
  readonly request: Request;
  readonly slice: SliceType;
  /** What the job's own file wants its chips bought as; absent: its tier decides. */
  readonly namedPricing?: Pricing;
  /** Keys of the section that the file does not give and a pool file may. */
  readonly leftToPool: readonly string[];
}

/** One slice, as its type alone says. */
export interface SliceType {
  /** For people, such as `v5litepod-16`. */
  readonly type: string;
  readonly hosts: number;
}

/**
 * What jobctl knows of one kind of machines, as pure functions (docs/machines.md). Its calls to the provider are in
 * `cloud/machines/KIND/`, behind the port of `cloud/machines/port.ts`.
 */
export interface MachineKind<
  Ref extends AnyRef,
  Plan extends { readonly ref: Ref },
  Request extends object,
  Form extends z.ZodType = z.ZodType,
> {
  /** The provider, as messages call it, such as `Cloud TPU`. */
  readonly provider: string;
  /**
   * What a ref and a plan must look like where they cross a border. Functions: a worker freezes what shared modules export, and
   * zod writes into a schema when it is first used (contract/lease-forms.ts).
   */
  refForm(): z.ZodType<Ref>;
  planForm(): z.ZodType<Plan>;
  readonly devices: AcceleratorDevices;
  /** How its hosts are reached. */
  readonly reach: SliceHost['reach'];
  /** Whether its provider may take machines back from a slice that is there: by a preemption, an eviction, a repair. */
  readonly areTakenBack: boolean;
  /**
   * Whether its provider takes the hosts of a slice together, so that the system of each tells it. Else one is taken, and the others of its
   * gang hear of it from jobctl (docs/adr/0130).
   */
  readonly areTakenTogether: boolean;
  /** Whether its create request carries a public key that opens the hosts it makes, so that each job can have another (docs/adr/0077). */
  readonly takesPublicKey: boolean;
  readonly section: RequestSection<Request, Form>;

  asked(spec: Request): AskedMachines;
  /** @throws RangeError for a spec that was not resolved */
  size(spec: Request & Slices): AskedSize;
  /** The request for one generation of one slice, or of all slices of an atomic job. */
  plan(spec: Request & Slices & Holding, place: SlicePlace): Plan;
  /** The slices that a request is for, in their order: the ref itself, unless it has `slices`. */
  slices(ref: Ref): readonly Ref[];
  /**
   * About what the job's slices cost in USD per hour; undefined if no price is known, never a guess.
   * @param zone such as us-central1-a; the region's price is taken
   */
  usdPerHour(spec: Request & Slices, zone: string | undefined, pricing: Pricing | 'any'): number | undefined;
  /** What the job chooses that its pool may not give to everybody (docs/adr/0075): projects, identities, networks, disks, images, places. */
  choices(spec: Request): readonly Choice[];
  /** Equal for requests whose hosts, in one place, are reached over the same network and through the same firewall. */
  route(spec: Request): string;
  /** Variables of the kind, weaker than the job's own `env`. */
  environment(spec: Request, slices: AttemptSlices): Readonly<Record<string, string>>;

  /** Folder in the store of the accounts in which slices of ours may be. It ends with a slash. */
  readonly accountsPrefix: string;
  /**
   * What the provider lists resources by, such as a Google project.
   * @param spec absent: the account of jobs that name none
   * @returns undefined if there is no such account without a job
   */
  account(settings: { readonly googleProject: string }, spec: Request): string;
  account(settings: { readonly googleProject: string }, spec?: Request): string | undefined;

  // Sentences for people ---------------------------------------------------------------------------------------------

  /** `Cloud TPU of project p` */
  accountText(account: string): string;
  /** `queued resource train-x7-g1` */
  resourceText(ref: Ref): string;
  /** `us-central1-a, Google project p` */
  placeText(ref: Ref): string;
  /** How the machines are bought and what runs on them, as a job's file asks for it. */
  requestText(spec: Request & Slices): string;
  /**
   * The same as rows of `jobctl validate`.
   * @param orPools a remark for the value of a key that the pool may give instead
   */
  requestFacts(spec: Request & Slices, orPools: (key: string) => string): readonly (readonly [string, string])[];
  /** When the provider ends a request or a slice by itself, in one clause; undefined if it does not. @param orPools as above */
  endsText?(spec: Request & Slices, orPools?: (key: string) => string): string | undefined;
  /** `v5litepod-16, spot` */
  planText(plan: Plan): string;
  /** The same with all that a person looks for when hosts behave strangely. */
  planDetails(plan: Plan): string;
  /** How a person sees the provider's own state: a sentence without its full stop. */
  stateHint(ref: Ref): string;
}
