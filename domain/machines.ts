import type { JobSpec } from './job-spec.js';
import type { AskedMachines, AskedSize, MachineKind } from './machine-kinds/kind.js';
import { KINDS, type MachineRequest, type MachineTypes } from './machine-kinds/registry.js';
import type { Ownership, Pricing } from './slice.js';

export type MachineKindName = keyof MachineTypes;
export type RefOf<K extends MachineKindName> = MachineTypes[K]['ref'];
export type PlanOf<K extends MachineKindName> = MachineTypes[K]['plan'];

/** Names one slice's machines at their provider. */
export type MachineRef = RefOf<MachineKindName>;
/** One complete create request: the same plan always makes the same request. Only its kind reads more than ref and ownership. */
export type MachinePlan = PlanOf<MachineKindName> & { readonly ref: MachineRef; readonly ownership: Ownership };
/** A ref without its name: equal for the slices of one job, so that a lease book keeps it once. */
export type MachinePlace = PlaceOf<MachineRef>;
type PlaceOf<Ref> = Ref extends MachineRef ? Omit<Ref, 'name'> : never;

export const MACHINE_KINDS = Object.keys(KINDS) as readonly MachineKindName[];

/** The functions of a kind, which take refs and plans of that kind only. */
export const machineKind = (kind: MachineKindName): AnyKind => KINDS[kind];
type AnyKind = MachineKind<MachineRef, MachinePlan, MachineRequest>;

/** The kind of machines that a job asks for. Its spec has the section of exactly one kind. */
export function kindOfJob(request: MachineRequest): MachineKindName {
  const kind = MACHINE_KINDS.find((name) => machineKind(name).section.name in request);
  if (kind !== undefined) return kind;
  const sections = MACHINE_KINDS.map((name) => machineKind(name).section.name);
  throw new RangeError(`the job asks for no machines: wanted a section ${sections.join(' or ')}`);
}

/** Whether a rehearsal simulates these machines. They are real in an installation without one. */
export const isRehearsed = ({ kind, zone }: Pick<MachineRef, 'kind' | 'zone'>): boolean =>
  machineKind(kind).isRehearsed(zone);

/**
 * The installation's label for a job. Machines that are real even in a rehearsal get none.
 * @param request as the worker completed it: a job file does not tell whether own machines are rehearsed
 */
export const labelOfJob = (request: MachineRequest, label: string | undefined): string | undefined =>
  machineKind(kindOfJob(request)).isRehearsed(askedMachines(request).zones[0]) ? label : undefined;

/** The part of a spec that a pool's defaults complete. */
export function machineRequestOf(spec: JobSpec): MachineRequest {
  const { name } = machineKind(kindOfJob(spec)).section;
  return Object.fromEntries(Object.entries(spec).filter(([key]) => key === name)) as unknown as MachineRequest;
}

/** The name of a job's provider in messages, such as `Cloud TPU`. */
export const providerOf = (request: MachineRequest): string => machineKind(kindOfJob(request)).provider;

/** The slices of a request, in order. */
export const slicesOfRequest = (ref: MachineRef): readonly MachineRef[] => machineKind(ref.kind).slices(ref);

/** The name of a slice's request, which names its slice workflow. */
export const requestNameOf = ({ name, request }: MachineRef): string => request ?? name;

/** The provider's name of machines that were not made for the slice, and are given back. Undefined: they were made for it. */
export const adoptedName = (ref: MachineRef): string | undefined => ('adopts' in ref ? ref.adopts : undefined);

/** Number of requests that a job makes for its slices. */
export const requestCount = ({ slices, atomic }: Pick<JobSpec, 'slices' | 'atomic'>): number => (atomic ? 1 : slices);

// A job's request for machines, of any kind -------------------------------------------------------------------------

export const askedMachines = (spec: MachineRequest): AskedMachines => machineKind(kindOfJob(spec)).asked(spec);

export const askedSize = (spec: MachineRequest & Pick<JobSpec, 'slices'>): AskedSize =>
  machineKind(kindOfJob(spec)).size(spec);

/** See `MachineKind.sizeKey`. */
export const sizeKeyOf = (spec: MachineRequest): string => machineKind(kindOfJob(spec)).sizeKey(spec);

/** `v5litepod-16`, or `2 x v5litepod-16`. */
export function formatSlices(spec: MachineRequest & Pick<JobSpec, 'slices'>): string {
  const { accelerator } = askedMachines(spec);
  return spec.slices === 1 ? accelerator : `${spec.slices} x ${accelerator}`;
}

export const isBought = (spec: MachineRequest): boolean => machineKind(kindOfJob(spec)).isBought;

/** See `MachineKind.usdPerHour`. By default in the job's first zone and at its own pricing. */
export function usdPerHour(
  spec: MachineRequest & Pick<JobSpec, 'slices'>,
  { zone, pricing }: { readonly zone?: string; readonly pricing?: Pricing } = {},
): number | undefined {
  const asked = askedMachines(spec);
  return machineKind(kindOfJob(spec)).usdPerHour(spec, zone ?? asked.zones[0], pricing ?? asked.pricing);
}
