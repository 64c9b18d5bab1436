import { placeOf } from '../../../domain/machine-kinds/machines/section.js';
import { machineFindings } from '../../../domain/machine-kinds/machines/findings.js';
import type { MachineRecord, OwnMachine } from '../../../domain/machine-kinds/machines/words.js';
import type { MachineVerbs } from '../../hosts/machine-verbs.js';
import { reachOf } from './choosing.js';
import {
  claimsOf,
  type Ended,
  failedOnce,
  inspectedWell,
  isOurs,
  readClaim,
  LIKE_NEW,
  type PoolRecord,
  type PoolRecords,
  takenText,
  withEnded,
} from './pool-record.js';
import { problemOf } from './claiming.js';
import { type Inspected, inspectHost } from './gpu-uuids.js';
import type { MachineVisits, Visited } from './machine-visits.js';
import type { Examined, MachineLook, MachinesOperator } from '../port.js';

const LOOK_MS = 10_000;
const CHECK_MS = 70_000;
const GRACE_MS = 5_000;
/** Limit of other machines that a check connects to: at two ports each, all at the same time. */
const MOST_PEERS = 16;
const REACH = 'is it on, its address right, and the public key of the worker in ~/.ssh/authorized_keys of its user?';

export class OwnMachinesOperator implements MachinesOperator {
  readonly #records: PoolRecords;
  readonly #visits: MachineVisits;
  /** The owner id of this installation. */
  readonly #owner: string;

  constructor(parts: { readonly records: PoolRecords; readonly visits: MachineVisits; readonly owner: string }) {
    this.#records = parts.records;
    this.#visits = parts.visits;
    this.#owner = parts.owner;
  }

  async look(pool: string, machines: readonly OwnMachine[]): Promise<readonly MachineLook[]> {
    const record = await this.#records.read(pool);
    return Promise.all(
      machines.map(async (machine): Promise<MachineLook> => {
        const held = sliceOn(record, machine);
        const visited = await this.#visits.visit(pool, reachOf(machine), LOOK_MS, (verbs) =>
          verbs.holder(held?.uid ?? '-'),
        );
        return {
          machine,
          record: record.machines[machine.name] ?? LIKE_NEW,
          ...(held !== undefined && { slice: { name: held.name, job: held.job } }),
          seen: seenOf(visited, held?.uid),
        };
      }),
    );
  }

  async check(pool: string, machines: readonly OwnMachine[], inventory = machines): Promise<void> {
    const record = await this.#records.read(pool);
    const ended: Ended = new Map();
    const free = machines.filter((machine) => sliceOn(record, machine) === undefined);
    const found = await Promise.all(
      free.map(async (machine) => {
        const visited = await this.#visits.visit(pool, reachOf(machine), CHECK_MS, (verbs) =>
          this.#inspect(pool, machine, { verbs, known: { inventory, record } }, ended),
        );
        const inspected: Inspected =
          visited.kind === 'done'
            ? visited.value
            : { problems: [`cannot be reached: ${visited.message}`], warnings: [] };
        return { machine, inspected };
      }),
    );
    const at = Date.now();
    if (ended.size > 0) await this.#records.update(pool, (before) => withEnded(before, ended, at));
    await this.#change(pool, free, (before, { name }) => {
      const inspected = found.find(({ machine }) => machine.name === name)?.inspected;
      const problem = inspected && problemOf(inspected);
      if (problem !== undefined && inspected?.problems.length !== 0) return failedOnce(before, problem, at);
      const { aside: _, forgotten: __, ...rest } = before;
      return inspectedWell(rest, inspected, at);
    });
  }

  async examine(pool: string, machines: readonly OwnMachine[]): Promise<readonly Examined[]> {
    const whole = machines.filter(
      (machine, index) => machines.findIndex((each) => placeOf(each) === placeOf(machine)) === index,
    );
    return Promise.all(
      whole.map(async (machine): Promise<Examined> => {
        const others = whole.map(({ address }) => address).filter((address) => address !== machine.address);
        const peers = [...new Set(others)].slice(0, MOST_PEERS);
        const visited = await this.#visits.visit(pool, reachOf(machine), CHECK_MS, (verbs) => verbs.examine(peers));
        if (visited.kind === 'done') return { machine, findings: machineFindings(machine, visited.value) };
        return { machine, findings: [{ check: 'reach', state: 'failed', what: visited.message, remedy: REACH }] };
      }),
    );
  }

  async #inspect(
    pool: string,
    machine: OwnMachine,
    { verbs, known }: { readonly verbs: MachineVerbs; readonly known: Parameters<typeof inspectHost>[2] },
    ended: Ended,
  ): Promise<Inspected> {
    const { claim } = await verbs.holder('-');
    if (claim !== undefined) {
      const stale = readClaim(claim);
      if (!isOurs(stale, this.#owner, pool)) return { problems: [takenText(claim)], warnings: [] };
      const on = { machine: reachOf(machine), verbs };
      const stands = await this.#visits.giveBack(pool, on, { ...stale, job: stale.ownership.job }, GRACE_MS, ended);
      if (stands !== undefined) return { problems: [stands], warnings: [] };
    }
    const inspected = await inspectHost([machine], verbs, known);
    return inspected.get(machine.name) ?? { problems: [], warnings: [] };
  }

  drain(pool: string, machines: readonly OwnMachine[], by: string, reason?: string): Promise<void> {
    const drained = { at: Date.now(), by, ...(reason !== undefined && { reason }) };
    return this.#change(pool, machines, (before) => ({ ...before, drained: before.drained ?? drained }));
  }

  undrain(pool: string, machines: readonly OwnMachine[]): Promise<void> {
    return this.#change(pool, machines, ({ drained: _, ...rest }) => rest);
  }

  forget(pool: string, machines: readonly OwnMachine[], by: string): Promise<void> {
    const at = Date.now();
    const aside = { at, reason: `${by} said that it is off; check it once it is back` };
    return this.#change(pool, machines, (before) => ({ ...before, forgotten: { at, by }, aside }));
  }

  async release(pool: string, machine: OwnMachine, claim: string): Promise<string | undefined> {
    const { slices } = await this.#records.read(pool);
    const held = Object.entries(slices).find(([, { uid }]) => uid === claim);
    if (held !== undefined) {
      const [slice, { ownership }] = held;
      return `is held by slice ${slice} of job ${ownership.job}: jobctl cancel ${ownership.job} ends it`;
    }
    const ended: Ended = new Map();
    const at = Date.now();
    const visited = await this.#visits.visit(pool, reachOf(machine), CHECK_MS, async (verbs) => {
      const { claim: text } = await verbs.holder('-');
      const uid = text?.split('\n', 1)[0];
      if (uid !== claim) return text === undefined ? 'has no claim' : takenText(text);
      const { first, ownership } = readClaim(text ?? '') ?? {};
      const left = { uid: claim, job: ownership?.job ?? 'no known job', ...(first && { first }) };
      return this.#visits.giveBack(pool, { machine: reachOf(machine), verbs }, left, GRACE_MS, ended);
    });
    if (ended.size > 0) await this.#records.update(pool, (before) => withEnded(before, ended, at));
    return visited.kind === 'done' ? visited.value : `cannot be reached: ${visited.message}`;
  }

  async #change(
    pool: string,
    machines: readonly OwnMachine[],
    change: (before: MachineRecord, machine: OwnMachine) => MachineRecord,
  ): Promise<void> {
    if (machines.length === 0) return;
    await this.#records.update(pool, (before) => {
      const next = machines.map((each) => [each.name, change(before.machines[each.name] ?? LIKE_NEW, each)] as const);
      return { ...before, machines: { ...before.machines, ...Object.fromEntries(next) } };
    });
  }
}

function sliceOn({ slices }: PoolRecord, { name }: OwnMachine) {
  for (const [slice, { uid, ownership, machines, maybe }] of Object.entries(slices))
    if (claimsOf([...machines, ...maybe]).some((each) => each.name === name))
      return { name: slice, uid, job: ownership.job };
  return undefined;
}

function seenOf(visited: Visited<{ readonly claim?: string }>, uid: string | undefined): MachineLook['seen'] {
  if (visited.kind === 'silent') return { kind: 'silent', message: visited.message };
  const { claim } = visited.value;
  if (claim === undefined) return { kind: 'free' };
  return readClaim(claim)?.uid === uid ? { kind: 'held' } : { kind: 'foreign', message: takenText(claim) };
}
