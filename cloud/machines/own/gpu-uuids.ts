import type { HostSlots } from '../../../domain/machine-kinds/machines/choice.js';
import { placeOf } from '../../../domain/machine-kinds/machines/section.js';
import type { OwnMachine } from '../../../domain/machine-kinds/machines/words.js';
import type { Inspection, MachineVerbs } from '../../hosts/machine-verbs.js';
import { declared } from './choosing.js';
import { type ChosenMachine, claimsOf, type PoolRecord } from './pool-record.js';

/** The inspection of a machine, or of the host that a slot is a part of. */
export interface Inspected extends Inspection {
  /** UUIDs of the GPUs of this slot or whole machine. Absent: they are not known. */
  readonly uuids?: readonly string[];
}

interface Known {
  readonly inventory: readonly OwnMachine[];
  readonly record: PoolRecord;
}

/**
 * Inspects a host, whose GPUs are known by their UUIDs once its driver has told them (docs/adr/0177).
 * @returns by the name of each of its slots
 */
export async function inspectHost(
  slots: HostSlots,
  verbs: Pick<MachineVerbs, 'inspect'>,
  known: Known,
): Promise<ReadonlyMap<string, Inspected>> {
  const had = slots.flatMap(({ name }) => known.record.machines[name]?.uuids ?? []);
  const count = slots.flatMap(({ slot }) => slot?.gpus ?? []).length;
  const asked = had.length === count ? had : undefined;
  let inspected: Inspected = await verbs.inspect(declared(slots, asked));
  const { listed } = inspected;
  if (listed === undefined) return new Map(slots.map(({ name }) => [name, inspected]));
  if (slots[0]?.slot === undefined) return new Map(slots.map(({ name }) => [name, { ...inspected, uuids: listed }]));
  const now = gpusOfSlots(slots[0], listed, known);
  const wanted = slots.flatMap(({ name }) => now.get(name) ?? []);
  const looked = asked ?? slots.flatMap(({ slot }) => slot?.gpus ?? []).map((index) => listed[index]);
  if (wanted.length === count && wanted.join() !== looked.join())
    inspected = await verbs.inspect(declared(slots, wanted));
  else if (wanted.length < count) inspected = { ...inspected, busy: inspected.busy ?? TAKEN };
  return new Map(
    slots.map(({ name }) => {
      const uuids = now.get(name);
      return [name, { ...inspected, ...(uuids && { uuids }) }];
    }),
  );
}

const TAKEN = 'its GPU is gone, and the others are of other slots, or of jobs that began before the pool file changed';

/**
 * The GPUs of a machine's slots. A slot keeps those that it has had, whatever their indexes are now: an index is another GPU's
 * when one is missing after a reboot. A slot without any, at its first use or after a card was replaced, gets the GPU of its
 * own index, or else the first that is no other slot's and that no slice has.
 * @param listed UUIDs of all GPUs of the machine, in the driver's order
 * @returns UUIDs by the slot's name, without slots for which too few are left
 */
export function gpusOfSlots(
  machine: Pick<OwnMachine, 'address' | 'port'>,
  listed: readonly string[],
  { inventory, record: { machines, slices } }: Known,
): ReadonlyMap<string, readonly string[]> {
  const isHere = (each: Pick<OwnMachine, 'address' | 'port'>): boolean => placeOf(each) === placeOf(machine);
  const slots = inventory.filter((each) => each.slot !== undefined && isHere(each));
  const found = new Map(
    slots.map(({ name }) => [name, (machines[name]?.uuids ?? []).filter((uuid) => listed.includes(uuid))]),
  );
  const held = Object.values(slices).flatMap((slice) => slice.machines.filter(isHere));
  const taken = new Set([...[...found.values()].flat(), ...held.flatMap(({ uuids = [] }) => uuids)]);
  const give = (candidates: (gpus: readonly number[]) => readonly (string | undefined)[]): void => {
    for (const { name, slot } of slots) {
      const own = found.get(name) ?? [];
      const free = candidates(slot?.gpus ?? []).filter((uuid) => uuid !== undefined && !taken.has(uuid));
      for (const uuid of free.slice(0, (slot?.gpus.length ?? 0) - own.length) as string[]) {
        own.push(uuid);
        taken.add(uuid);
      }
    }
  };
  give((gpus) => gpus.map((index) => listed[index]));
  give(() => listed);
  const isWhole = ({ name, slot }: OwnMachine): boolean => found.get(name)?.length === slot?.gpus.length;
  return new Map(slots.filter(isWhole).map(({ name }) => [name, found.get(name) ?? []]));
}

/** A host of a slice with the UUIDs of all its GPUs, if they are known. */
export function withUuids(host: ChosenMachine, inspected: ReadonlyMap<string, Inspected>): ChosenMachine {
  const uuids = claimsOf([host]).flatMap(({ name }) => inspected.get(name)?.uuids ?? []);
  return uuids.length === 0 ? host : { ...host, uuids };
}

/** Says which GPU of these hosts another slice has. Undefined: none. */
export function gpuOfAnother(
  hosts: readonly ChosenMachine[],
  name: string,
  { slices }: PoolRecord,
): string | undefined {
  for (const [other, slice] of Object.entries(slices))
    for (const theirs of other === name ? [] : slice.machines)
      for (const host of hosts.filter((each) => placeOf(each) === placeOf(theirs))) {
        const twice = host.uuids?.find((uuid) => theirs.uuids?.includes(uuid));
        if (twice !== undefined) return `GPU ${twice} of ${host.name} is held by slice ${other}`;
      }
  return undefined;
}
