import type { Problem } from '../../problem.js';
import { placeOf } from './section.js';
import { type MachinesRequest, machinesText, type OwnMachine } from './words.js';

/**
 * The request, marked `isRehearsed` if the pool's machines are. A pool has machines of its own or, on a local stack, rehearsed
 * ones, never both. So a job that was accepted for one kind never gets the other, even if the pool file changes (docs/adr/0154).
 */
export const fromInventory = (request: MachinesRequest, inventory: readonly OwnMachine[]): MachinesRequest =>
  inventory.some(({ isRehearsed }) => isRehearsed) ? { ...request, isRehearsed: true } : request;

/** The request without the parts that say nothing of which machines fit. */
type Wanted = Omit<MachinesRequest, 'pool' | 'hosts'>;

/** The machines that a job may have, and the slots of shared machines, of which one host takes several. */
export function fittingMachines(
  { accelerator, labels: wanted, isRehearsed }: Wanted,
  inventory: readonly OwnMachine[],
): readonly OwnMachine[] {
  return inventory.filter(({ accelerators, labels, isShared, ...machine }) => {
    const isSameAccelerator = accelerator
      ? accelerators[accelerator.type] === (isShared ? 1 : accelerator.perHost)
      : Object.keys(accelerators).length === 0;
    const hasLabels = Object.entries(wanted).every(([key, value]) => labels[key] === value);
    return isSameAccelerator && hasLabels && machine.isRehearsed === isRehearsed;
  });
}

/** The slots of one host of a slice, by GPU; the first one's login user runs the command. A whole machine is one slot. */
export type HostSlots = readonly OwnMachine[];

/**
 * Hosts of a slice, as many as there are and `hosts` at most. Whole machines come first. A shared machine's GPUs are taken
 * where the fewest are not free, then where the fewest stay free beside them, so that large blocks stay whole for large jobs.
 * @param candidates fitting machines, in the pool file's order
 * @param isFree of a candidate; those that are not free are chosen only if a host cannot be had without them
 */
export function chooseHosts(
  { hosts, accelerator }: Pick<MachinesRequest, 'hosts' | 'accelerator'>,
  candidates: readonly OwnMachine[],
  isFree: (machine: OwnMachine) => boolean = () => true,
): readonly HostSlots[] {
  const whole = candidates.filter(({ isShared }) => !isShared);
  const chosen: HostSlots[] = [...whole.filter(isFree), ...whole.filter((each) => !isFree(each))]
    .slice(0, hosts)
    .map((machine) => [machine]);
  const perHost = accelerator?.perHost ?? 1;
  let left = candidates.filter(({ isShared }) => isShared);
  while (chosen.length < hosts) {
    const places = [...new Set(left.map(placeOf))].map((place) => left.filter((slot) => placeOf(slot) === place));
    const [best] = places.flatMap((slots) => blockOf(slots, perHost, isFree) ?? []).toSorted(byCost);
    if (best === undefined) break;
    chosen.push(best.slots);
    left = left.filter((slot) => !best.slots.includes(slot));
  }
  return chosen;
}

interface Block {
  readonly slots: HostSlots;
  /** Compared in order, the least first. */
  readonly cost: readonly number[];
}

const byCost = (a: Block, b: Block): number => {
  const at = a.cost.findIndex((cost, index) => cost !== b.cost[index]);
  return at < 0 ? 0 : (a.cost[at] ?? 0) - (b.cost[at] ?? 0);
};

/**
 * The best place for a host on one machine: the smallest aligned block of 1, 2, 4 .. GPUs, as they are wired in pairs and fours,
 * and of those the one in the fullest pair, four, eight.
 * @returns undefined if the machine has too few of these slots
 */
function blockOf(
  slots: readonly OwnMachine[],
  perHost: number,
  isFree: (machine: OwnMachine) => boolean,
): Block | undefined {
  const of = slots[0]?.slot?.of ?? 0;
  const inside = (size: number, at: number): readonly OwnMachine[] =>
    slots.filter((slot) => Math.floor(numberOf(slot) / size) === Math.floor(at / size));
  const blocks: Block[] = [];
  for (let size = 1; size < of * 2; size *= 2) {
    for (let start = 0; start < of; start += size) {
      const all = inside(size, start);
      if (all.length < perHost) continue;
      const free = all.filter(isFree);
      const taken = [...free, ...all.filter((slot) => !isFree(slot))].slice(0, perHost);
      const around: number[] = [];
      for (let wide = size; wide < of * 2; wide *= 2) around.push(inside(wide, start).filter(isFree).length);
      blocks.push({
        slots: taken.toSorted((a, b) => numberOf(a) - numberOf(b)),
        cost: [Math.max(0, perHost - free.length), size, ...around],
      });
    }
  }
  return blocks.toSorted(byCost)[0];
}

const numberOf = ({ slot }: OwnMachine): number => slot?.number ?? 0;

/**
 * The reason why the pool can never serve the request, or undefined if it can.
 * @param slices slices that run at the same time, each with machines of its own
 */
export function tooFewMachines(
  request: MachinesRequest,
  slices: number,
  inventory: readonly OwnMachine[],
): Problem | undefined {
  const hosts = slices * request.hosts;
  const fitting = chooseHosts({ ...request, hosts }, fittingMachines(request, inventory)).length;
  if (fitting >= hosts) return undefined;
  const labels = Object.keys(request.labels).length === 0 ? '' : ' with these labels';
  const has = fitting === 0 ? 'none' : `only ${fitting}`;
  const asked = `${slices === 1 ? '' : `${slices} slices of `}${machinesText(request)}${labels}`;
  const message = `the job asks for ${asked}, and pool ${request.pool} has ${has}`;
  return { path: ['machines'], message, hint: remedyOf(request, inventory) };
}

const NAME_THEM = 'name machines as [[machines]] in its pool file: docs/own-machines.md';

function remedyOf({ pool }: MachinesRequest, inventory: readonly OwnMachine[]): string {
  const rehearsed = inventory.filter(({ isRehearsed }) => isRehearsed).map(({ name }) => name);
  if (rehearsed.length > 0)
    return `it has the rehearsed machines ${rehearsed.join(', ')}, without accelerators and labels\n${NAME_THEM}`;
  if (inventory.length > 0) return `jobctl machines ls --pool ${pool} shows those that it has\n${NAME_THEM}`;
  return `${NAME_THEM}\nwithout any, a local stack rehearses some without accelerators: jobctl submit --local`;
}
