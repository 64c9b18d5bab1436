import { OWN_LABEL_PREFIX } from '../../../domain/identity.js';
import { CliError, ExitCode } from '../../terminal/cli-error.js';
import { asTyped } from '../../terminal/print.js';
import { shellQuote } from '../../../domain/shell-quote.js';

/** Responses of the rehearsal's admin interface: the fields that jobctl reads, and the lookup of slices in them. */

export interface RehearsedQueuedResource {
  /** Full name: `projects/P/locations/Z/queuedResources/Q`. */
  readonly name: string;
  readonly state: string;
  readonly chips: number;
}

export interface RehearsedNode {
  /** Full name: `projects/P/locations/Z/nodes/N`. */
  readonly name: string;
  readonly id: string;
  readonly state: string;
  readonly health?: string;
  readonly acceleratorType: string;
  readonly chips: number;
  readonly labels: Readonly<Record<string, string>>;
  readonly hosts: readonly { readonly address: string; readonly process: string }[];
}

/** A VM of Compute Engine. */
export interface RehearsedVm {
  /** Full name: `projects/P/zones/Z/instances/N`. */
  readonly name: string;
  readonly state: string;
  readonly machineType: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly address: string;
}

export interface RehearsalStatus {
  readonly journalSeq: number;
  readonly queuedResources: readonly RehearsedQueuedResource[];
  readonly nodes: readonly RehearsedNode[];
  readonly vms: readonly RehearsedVm[];
  readonly settings: Readonly<Record<string, unknown>>;
  readonly refusals: readonly Readonly<Record<string, unknown>>[];
  readonly holds: readonly Readonly<Record<string, unknown>>[];
  /** The way in which simulated VMs are confined from this computer's files; `none` if they are not. */
  readonly confinement?: string;
  readonly confinementReason?: string;
}

export interface ClockState {
  /** Milliseconds since 1970. */
  readonly now: number;
  readonly scale: number;
  readonly frozen: boolean;
}

/** The id and the zone in a resource's full name. */
export function placeOf(name: string): { readonly id: string; readonly zone: string } {
  const parts = name.split('/');
  return { id: parts.at(-1) ?? name, zone: parts[3] ?? '-' };
}

const JOB_LABEL = `${OWN_LABEL_PREFIX}job`;
const LIVE: ReadonlySet<string> = new Set(['CREATING', 'READY']);

/**
 * Resolves what a user typed to a resource: a node or queued resource by full name or id, or the live slice of a job by the job's
 * id; likewise a VM of Compute Engine, the first one that runs.
 * @throws CliError for any other word, and if the job has several live slices
 */
export function sliceNamed(word: string, { nodes, queuedResources, vms }: RehearsalStatus): string {
  const isName = (full: string): boolean => full === word || placeOf(full).id === word;
  if ([...nodes, ...queuedResources, ...vms].some(({ name }) => isName(name))) return word;
  const slices = liveSlicesOf(word, nodes);
  const running = vms.filter(({ labels, state }) => labels[JOB_LABEL] === word && state === 'RUNNING');
  const only = slices[0] ?? running[0]?.name;
  if (only === undefined) throw noSlice(word, [...nodes, ...vms]);
  if (slices.length <= 1) return only;
  throw new CliError(
    ExitCode.Usage,
    `job ${word} has ${slices.length} slices`,
    `say which: ${slices.map((name) => placeOf(name).id).join(', ')}`,
  );
}

/** Number of slice names that are shown after an unknown one. */
const SHOWN = 10;

function noSlice(word: string, all: readonly { readonly name: string }[]): CliError {
  const names = all.slice(0, SHOWN).map(({ name }) => placeOf(name).id);
  const more = all.length > SHOWN ? ` and ${all.length - SHOWN} more` : '';
  return new CliError(
    ExitCode.NotFound,
    `the simulated cloud has no slice '${word}', and none of a job of that name`,
    `there are: ${names.length === 0 ? 'none' : names.join(', ')}${more}`,
    asTyped(`a job that waits has no slice yet; the reason: jobctl why ${shellQuote(word)}`),
  );
}

/** Full names of a job's nodes that are being created or ready. */
export function liveSlicesOf(job: string, nodes: readonly RehearsedNode[]): readonly string[] {
  return nodes.filter(({ labels, state }) => labels[JOB_LABEL] === job && LIVE.has(state)).map(({ name }) => name);
}
