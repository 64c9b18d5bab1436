import { chooseHosts, type HostSlots } from '../../../domain/machine-kinds/machines/choice.js';
import type { Declared } from '../../hosts/machine-verbs.js';
import type { MachinesPlan, OwnMachine } from '../../../domain/machine-kinds/machines/words.js';
import type { EpochMs } from '../../../domain/units.js';
import { type ChosenMachine, claimsOf, LIKE_NEW, type PoolRecord, type SliceRecord } from './pool-record.js';

/**
 * Time without a request after which a kept place is given up. A job whose request was refused asks again after 10 minutes at
 * the latest (`zoneBackoffMaxMs`).
 */
const KEEP_MS = 20 * 60_000;
/** Interval at which the time in a kept place is updated. */
const KEEP_AGAIN_MS = 60_000;

/** One create call, which chooses again after each machine that it could not claim. */
export interface Asking {
  readonly plan: MachinesPlan;
  readonly uid: string;
  /** The machines that fit, in the order of the pool file. */
  readonly fitting: readonly OwnMachine[];
  /** Whether this call has been in the record before. If it is not any more, its slice was given back meanwhile. */
  readonly hasChosen: boolean;
  /** The reasons why machines cannot be claimed, by name. */
  readonly refusals: ReadonlyMap<string, string>;
}

export interface Choice {
  /** Absent: the record stays as it is. */
  readonly next?: PoolRecord;
  /** Absent: not all hosts can be had now. */
  readonly hosts?: readonly HostSlots[];
  /** Slots that are kept for the slice until it can have them all, by name. */
  readonly kept?: readonly string[];
}

/**
 * Chooses all machines of a slice in a single step of the pool's record, so that two slices that want the same machines do not
 * each get a part of them. A slice that needs several GPUs of one shared machine and cannot have them is kept a place: no other
 * slice takes those GPUs, and it has them when the jobs that use them now have ended (docs/adr/0170).
 */
export function choose(asking: Asking, before: PoolRecord, now: EpochMs): Choice {
  const { plan, uid, fitting, hasChosen, refusals } = asking;
  const { ref, ownership, machines: asked } = plan;
  const own = before.slices[ref.name];
  if (own === undefined ? hasChosen : own.uid !== uid) return {};
  const had = (own?.machines ?? []).flatMap((host) => slotsOf(host, fitting));
  const rest = fitting.filter((machine) => !had.flat().includes(machine));
  const isFree = (machine: OwnMachine): boolean =>
    !refusals.has(machine.name) && whyNot(machine, before, { name: ref.name, now }) === undefined;
  const hosts = [...had, ...chooseHosts({ ...asked, hosts: asked.hosts - had.length }, rest.filter(isFree))];
  if (hosts.length < asked.hosts) return had.length === 0 ? keepPlace(asking, before, now, isFree) : {};
  const slice: SliceRecord = {
    ...{ uid, ownership },
    at: own?.at ?? now,
    machines: hosts.map(hostOf),
    maybe: own?.maybe ?? [],
    isWhole: false,
  };
  if (JSON.stringify(slice) === JSON.stringify(own)) return { hosts };
  return { hosts, next: withKept({ ...before, slices: { ...before.slices, [ref.name]: slice } }, ref.name, now) };
}

/** The slots of a host that the slice has already, unless the pool file has changed. */
function slotsOf(host: ChosenMachine, fitting: readonly OwnMachine[]): readonly HostSlots[] {
  const slots = claimsOf([host]).flatMap(({ name }) => fitting.find((machine) => machine.name === name) ?? []);
  return slots.length === claimsOf([host]).length ? [slots] : [];
}

function keepPlace(
  { plan, fitting, refusals }: Asking,
  before: PoolRecord,
  now: EpochMs,
  isFree: (machine: OwnMachine) => boolean,
): Choice {
  const { ref, machines: asked } = plan;
  // One GPU is free wherever the pool's quota has one left.
  if ((asked.accelerator?.perHost ?? 1) === 1) return {};
  const usable = fitting.filter(
    (machine) =>
      machine.isShared &&
      !refusals.has(machine.name) &&
      outOfUse(machine, before) === undefined &&
      keptFor(machine, before, { name: ref.name, now }) === undefined,
  );
  const had = before.kept?.[placeName(ref.name)];
  const isStanding = had?.slots.every((name) => usable.some((machine) => machine.name === name)) === true;
  const hosts = chooseHosts(asked, usable, isFree);
  const kept = isStanding ? had.slots : hosts.flat().map(({ name }) => name);
  if (!isStanding && hosts.length < asked.hosts)
    return had === undefined ? {} : { next: withKept(before, ref.name, now) };
  if (isStanding && now - had.at < KEEP_AGAIN_MS) return { kept };
  return { kept, next: withKept(before, ref.name, now, { at: now, job: plan.ownership.job, slots: kept }) };
}

/** The record with this place for the slice, or none, and without places that nobody asks for any more. */
function withKept(
  { kept = {}, ...record }: PoolRecord,
  slice: string,
  now: EpochMs,
  place?: NonNullable<PoolRecord['kept']>[string],
): PoolRecord {
  const others = Object.entries(kept).filter(([name, { at }]) => name !== placeName(slice) && now - at < KEEP_MS);
  const all = { ...Object.fromEntries(others), ...(place && { [placeName(slice)]: place }) };
  return Object.keys(all).length === 0 ? record : { ...record, kept: all };
}

/** The name that all generations of a slice have in common. */
const placeName = (slice: string): string => slice.replace(/-g\d+$/, '');

interface Asker {
  /** The slice's name. */
  readonly name: string;
  readonly now: EpochMs;
}

/** The reason why a machine cannot be chosen, or undefined if it can. */
export function whyNot(machine: Pick<OwnMachine, 'name'>, record: PoolRecord, asker: Asker): string | undefined {
  return outOfUse(machine, record) ?? holderOf(machine, record) ?? keptFor(machine, record, asker);
}

function outOfUse({ name }: Pick<OwnMachine, 'name'>, { machines }: PoolRecord): string | undefined {
  const { drained, aside } = machines[name] ?? LIKE_NEW;
  if (drained !== undefined) return `is drained by ${drained.by}${drained.reason ? `: ${drained.reason}` : ''}`;
  return aside && `is put aside: ${aside.reason}`;
}

function holderOf({ name }: Pick<OwnMachine, 'name'>, { slices }: PoolRecord): string | undefined {
  for (const [slice, { machines, maybe }] of Object.entries(slices))
    if (claimsOf([...machines, ...maybe]).some((each) => each.name === name)) return `is held by slice ${slice}`;
  return undefined;
}

function keptFor({ name }: Pick<OwnMachine, 'name'>, { kept = {} }: PoolRecord, asker: Asker): string | undefined {
  for (const [place, { at, job, slots }] of Object.entries(kept))
    if (place !== placeName(asker.name) && asker.now - at < KEEP_MS && slots.includes(name))
      return `is kept for job ${job}, which waits for ${slots.length} GPUs`;
  return undefined;
}

export function reachOf({ labels: _, check: __, maker: ___, model: ____, ...reach }: OwnMachine): ChosenMachine {
  return reach;
}

/** A host of a slice in the record: its first slot, with all GPUs, and the claims beside it. */
export function hostOf(slots: HostSlots): ChosenMachine {
  const [first, ...beside] = slots.map(reachOf);
  if (first === undefined) throw new RangeError('hosts: a host has one slot at least, got none');
  if (beside.length === 0 || first.slot === undefined) return first;
  const accelerators = Object.fromEntries(Object.keys(first.accelerators).map((type) => [type, slots.length]));
  const gpus = slots.flatMap(({ slot }) => slot?.gpus ?? []);
  return { ...first, accelerators, slot: { ...first.slot, gpus }, beside };
}

/**
 * Devices that the pool file says a host's machine has, and the GPUs of it that the host may use.
 * @param uuids those GPUs' UUIDs, if they are known
 */
export function declared(slots: HostSlots, uuids?: readonly string[]): Declared {
  const {
    accelerators = {},
    slot,
    check,
    maker,
    model,
  } = { ...slots[0], ...(slots.length > 1 && { slot: hostOf(slots).slot }) };
  const [first] = Object.entries(accelerators);
  return {
    ...(first !== undefined && {
      accelerator: {
        ...{ type: first[0], count: first[1] * (slot?.of ?? 1) },
        ...(maker && { maker }),
        ...(model !== undefined && { model }),
      },
    }),
    ...(slot && { slot, ...(uuids && { uuids }) }),
    ...(check !== undefined && { check }),
  };
}
