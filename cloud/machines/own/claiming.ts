import { randomUUID } from 'node:crypto';
import { fittingMachines, type HostSlots, tooFewMachines } from '../../../domain/machine-kinds/machines/choice.js';
import { type MachinesPlan, type OwnMachine, machinesText } from '../../../domain/machine-kinds/machines/words.js';
import type { CreateAnswer } from '../../../domain/slice.js';
import type { Inspection, MachineVerbs } from '../../hosts/machine-verbs.js';
import { type Choice, choose, declared, reachOf, whyNot } from './choosing.js';
import {
  claimsOf,
  EMPTY_RECORD,
  claimText,
  type Ended,
  failedOnce,
  inspectedWell,
  isOurs,
  readClaim,
  type ChosenMachine,
  type PoolRecord,
  type PoolRecords,
  type SliceRecord,
  takenText,
  withEnded,
  withoutSlice,
} from './pool-record.js';
import { gpuOfAnother, type Inspected, inspectHost, withUuids } from './gpu-uuids.js';
import type { MachineVisits } from './machine-visits.js';

/** Time limit for one of the two visits that claim a host. Both must fit into the 60 s of a create call. */
const CLAIM_FOR_MS = 30_000;
const VISIT_MS = 15_000;

/** The reason why a machine was not taken. */
interface Refusal {
  readonly machine: OwnMachine;
  readonly problem: string;
  /** Set if the machine itself is at fault, which is counted; its use by others is not. */
  readonly isSick: boolean;
}

/** A host that could not be taken. */
interface HostFailure {
  readonly slots: HostSlots;
  readonly refusals: readonly Refusal[];
  /** Those that may have a claim of this slice. */
  readonly maybe: readonly OwnMachine[];
}

/** One create call. It chooses machines in the pool's record, then claims and inspects each machine. */
export class Claiming {
  readonly #plan: MachinesPlan;
  readonly #inventory: readonly OwnMachine[];
  readonly #records: PoolRecords;
  readonly #visits: MachineVisits;
  #uid = randomUUID();
  readonly #until = performance.now() + CLAIM_FOR_MS;
  /** Keyed by the machine's name. */
  readonly #inspected = new Map<string, Inspected>();
  #record = EMPTY_RECORD;
  #hasChosen = false;

  constructor(
    plan: MachinesPlan,
    inventory: readonly OwnMachine[],
    { records, visits }: { readonly records: PoolRecords; readonly visits: MachineVisits },
  ) {
    this.#plan = plan;
    this.#inventory = inventory;
    this.#records = records;
    this.#visits = visits;
  }

  async run(): Promise<CreateAnswer> {
    const { ref, machines: asked } = this.#plan;
    // The pool file may have changed since the job was accepted.
    const tooFew = tooFewMachines({ ...asked, pool: ref.pool }, 1, this.#inventory);
    if (tooFew !== undefined) {
      const message = [tooFew.message, tooFew.hint].join('; ').replaceAll('\n', '; ');
      return { kind: 'refused', scope: 'request', message };
    }
    const fitting = fittingMachines(asked, this.#inventory);
    const refusals = new Map<string, string>();
    while (performance.now() < this.#until) {
      const { record, hosts, kept } = await this.#choose(fitting, refusals);
      const own = record.slices[ref.name];
      if (own !== undefined && own.uid !== this.#uid) return { kind: 'exists' };
      if (own === undefined && this.#hasChosen) return { kind: 'unanswered', message: GIVEN_BACK };
      if (hosts === undefined) return this.#giveUp(this.#noneFree(fitting, record, { refusals, kept }), kept);
      this.#hasChosen = true;
      const failed = await this.#claimAll(hosts);
      if (failed.length === 0) return this.#commit();
      for (const { machine, problem } of failed.flatMap((each) => each.refusals)) refusals.set(machine.name, problem);
      await this.#note(failed);
      const isShared = failed.some(({ slots }) => slots.length > 1);
      if (isShared && !(await this.#claimAnew()))
        return { kind: 'unanswered', message: `claims of it may be left: ${sentences(refusals)}` };
    }
    return this.#giveUp(`not all machines could be claimed within ${CLAIM_FOR_MS / 1000} s: ${sentences(refusals)}`);
  }

  async #choose(
    fitting: readonly OwnMachine[],
    refusals: ReadonlyMap<string, string>,
  ): Promise<Choice & { readonly record: PoolRecord }> {
    let choice: Choice = {};
    const record = await this.#records.update(this.#plan.ref.pool, (before) => {
      const asking = { plan: this.#plan, uid: this.#uid, fitting, hasChosen: this.#hasChosen, refusals };
      choice = choose(asking, before, Date.now());
      return choice.next;
    });
    this.#record = record;
    return { record, ...choice };
  }

  async #claimAll(hosts: readonly HostSlots[]): Promise<readonly HostFailure[]> {
    const answers = await Promise.all(hosts.map((slots) => this.#claimHost(slots)));
    return answers.filter((answer) => answer !== undefined);
  }

  /** Claims the slots beside the first one, then the first, and inspects the GPUs of all of them. */
  async #claimHost(slots: HostSlots): Promise<HostFailure | undefined> {
    const [first, ...beside] = slots;
    if (first === undefined) throw new RangeError('claim: a host without a machine');
    const visit = (machine: OwnMachine, work: (verbs: MachineVerbs) => Promise<readonly Refusal[]>) =>
      this.#visits.visit(this.#plan.ref.pool, reachOf(machine), VISIT_MS, work);
    const claims = await Promise.all(
      beside.map(
        async (machine) => [machine, await visit(machine, (verbs) => this.#claim(machine, verbs, first))] as const,
      ),
    );
    const isTaken = claims.some(([, visited]) => visited.kind === 'silent' || visited.value.length > 0);
    if (!isTaken) claims.push([first, await visit(first, (verbs) => this.#claimAndInspect(slots, verbs))]);
    const refusals = claims.flatMap(([machine, visited]) =>
      visited.kind === 'done'
        ? visited.value
        : [{ machine, problem: `cannot be reached: ${visited.message}`, isSick: true }],
    );
    if (refusals.length === 0) return undefined;
    const left = await Promise.all(
      claims.map(async ([machine, visited]) => {
        if (visited.kind === 'silent') return visited.mayHaveBegun ? [machine] : [];
        return visited.value.length > 0 || (await this.#leave(reachOf(machine))) ? [] : [machine];
      }),
    );
    return { slots, refusals, maybe: left.flat() };
  }

  /** Gives back what may have been claimed, on which nothing has run. @returns whether it is */
  async #leave(machine: ChosenMachine): Promise<boolean> {
    const { kind } = await this.#visits.visit(this.#plan.ref.pool, machine, VISIT_MS, (verbs) =>
      verbs.vacate(this.#uid, 0),
    );
    return kind === 'done';
  }

  /** @param first the slot as whose user the command will run, if it is another one */
  async #claim(machine: OwnMachine, verbs: MachineVerbs, first?: OwnMachine): Promise<readonly Refusal[]> {
    const { ref, ownership } = this.#plan;
    const runsAs = first && { first: { name: first.name, user: first.user } };
    const text = claimText({ slice: ref.name, uid: this.#uid, pool: ref.pool, ownership, ...runsAs });
    const refused = (problem: string): readonly Refusal[] => [{ machine, problem, isSick: false }];
    let answer = await verbs.claim(this.#uid, text, ownership.job);
    if (answer.kind === 'taken') {
      const stands = await this.#vacateStale(answer.claim, machine, verbs);
      if (stands !== undefined) return refused(stands);
      answer = await verbs.claim(this.#uid, text, ownership.job);
    }
    if (answer.kind === 'ended') return refused('the slice was given back meanwhile');
    return answer.kind === 'taken' ? refused(takenText(answer.claim)) : [];
  }

  async #claimAndInspect(slots: HostSlots, verbs: MachineVerbs): Promise<readonly Refusal[]> {
    const [first] = slots;
    if (first === undefined) return [];
    const refused = await this.#claim(first, verbs);
    if (refused.length > 0) return refused;
    const all = await inspectHost(slots, verbs, { inventory: this.#inventory, record: this.#record });
    for (const [name, inspected] of all) this.#inspected.set(name, inspected);
    const inspected = all.get(first.name);
    const problem = inspected && problemOf(inspected);
    if (problem === undefined) return [];
    const isSick = inspected?.problems.length !== 0;
    // A fault is the machine's, and so of all of these slots. Somebody else's process is on one of them.
    const at =
      isSick || slots.length === 1
        ? slots.map((machine) => ({ machine, problem, isSick }))
        : await this.#busySlots(slots, verbs);
    await verbs.vacate(this.#uid, 0);
    return at;
  }

  /** @param verbs of the first slot, which may ask about the GPUs of the others */
  async #busySlots(slots: HostSlots, verbs: MachineVerbs): Promise<readonly Refusal[]> {
    const refusals: Refusal[] = [];
    for (const machine of slots) {
      const { uuids } = this.#inspected.get(machine.name) ?? {};
      const { check: _, ...alone } = declared([machine], uuids);
      const inspected = { ...(await verbs.inspect(alone)), ...(uuids && { uuids }) };
      this.#inspected.set(machine.name, inspected);
      const problem = problemOf(inspected);
      if (problem !== undefined) refusals.push({ machine, problem, isSick: inspected.problems.length > 0 });
    }
    const [first] = slots;
    // It ended in between: chosen again at the next request.
    const passed = 'its GPUs were in use a moment ago';
    return refusals.length > 0 || first === undefined ? refusals : [{ machine: first, problem: passed, isSick: false }];
  }

  /**
   * Removes a claim of ours that no record knows: its machine was silent when its slice was given up.
   * @returns the reason why the claim stands
   */
  async #vacateStale(text: string, machine: OwnMachine, verbs: MachineVerbs): Promise<string | undefined> {
    const { ref, ownership } = this.#plan;
    const claim = readClaim(text);
    if (!isOurs(claim, ownership.owner, ref.pool)) return takenText(text);
    const { slices } = await this.#records.read(ref.pool);
    if (Object.values(slices).some(({ uid }) => uid === claim.uid)) return takenText(text);
    const left = { ...claim, job: claim.ownership.job };
    const ended: Ended = new Map();
    const stands = await this.#visits.giveBack(
      ref.pool,
      { machine: reachOf(machine), verbs },
      left,
      STALE_GRACE_MS,
      ended,
    );
    if (ended.size > 0) await this.#records.update(ref.pool, (before) => withEnded(before, ended, Date.now()));
    return stands;
  }

  /** Removes failed hosts from the slice and keeps the results of their inspection. Failures of sick machines are counted. */
  async #note(failed: readonly HostFailure[]): Promise<void> {
    const { ref } = this.#plan;
    const at = Date.now();
    await this.#records.update(ref.pool, (before) => {
      const slice = before.slices[ref.name];
      if (slice?.uid !== this.#uid) return undefined;
      const isFailed = ({ name }: ChosenMachine): boolean => failed.some(({ slots }) => slots[0]?.name === name);
      if (!slice.machines.some(isFailed)) return undefined;
      const here = failed.flatMap(({ maybe }) => maybe).map(reachOf);
      const machines = slice.machines.filter((machine) => !isFailed(machine));
      const noted = failed
        .flatMap(({ refusals }) => refusals)
        .flatMap(({ machine: { name }, problem, isSick }) => {
          if (isSick) return [[name, failedOnce(before.machines[name], problem, at)] as const];
          const inspected = this.#inspected.get(name);
          return inspected ? [[name, inspectedWell(before.machines[name], inspected, at)] as const] : [];
        });
      return {
        ...before,
        slices: { ...before.slices, [ref.name]: { ...slice, machines, maybe: [...slice.maybe, ...here] } },
        machines: { ...before.machines, ...Object.fromEntries(noted) },
      };
    });
  }

  async #commit(): Promise<CreateAnswer> {
    const { ref } = this.#plan;
    let twice: string | undefined;
    const record = await this.#records.update(ref.pool, (before) => {
      const slice = before.slices[ref.name];
      if (slice?.uid !== this.#uid || slice.isWhole) return undefined;
      const machines = slice.machines.map((host) => withUuids(host, this.#inspected));
      twice = gpuOfAnother(machines, ref.name, before);
      if (twice !== undefined) return undefined;
      const at = Date.now();
      const wereWell = claimsOf(slice.machines).map(
        ({ name }) => [name, inspectedWell(before.machines[name], this.#inspected.get(name), at)] as const,
      );
      return {
        ...before,
        slices: { ...before.slices, [ref.name]: { ...slice, machines, isWhole: true } },
        machines: { ...before.machines, ...Object.fromEntries(wereWell) },
      };
    });
    if (twice !== undefined) return this.#giveUp(twice);
    if (record.slices[ref.name]?.uid === this.#uid) return { kind: 'accepted' };
    return { kind: 'unanswered', message: GIVEN_BACK };
  }

  /** Gives up the slice. The record says where claims remain, and the later removal of the slice gives those back. */
  async #giveUp(message: string, kept?: readonly string[]): Promise<CreateAnswer> {
    const { ref } = this.#plan;
    const refused: CreateAnswer = { kind: 'refused', scope: 'moment', message, ...(kept && { isPlaceKept: true }) };
    const record = await this.#records.read(ref.pool);
    const own = record.slices[ref.name];
    if (own?.uid !== this.#uid) return refused;
    if (!(await this.#leaveAll(own))) return { kind: 'unanswered', message };
    await this.#records.update(ref.pool, (before) => withoutSlice(before, ref.name, this.#uid));
    return refused;
  }

  /**
   * Gives back all claims and continues under another uid, because a claim that was given back cannot be made again, and the
   * idle GPUs of a shared machine are needed again.
   * @returns false: the slice was given back meanwhile, or a claim may be left
   */
  async #claimAnew(): Promise<boolean> {
    const { ref } = this.#plan;
    const own = (await this.#records.read(ref.pool)).slices[ref.name];
    if (own?.uid !== this.#uid) return false;
    if (!(await this.#leaveAll(own))) return false;
    const [before, uid] = [this.#uid, randomUUID()];
    const { slices } = await this.#records.update(ref.pool, (record) => {
      const slice = record.slices[ref.name];
      if (slice?.uid !== before) return undefined;
      return { ...record, slices: { ...record.slices, [ref.name]: { ...slice, uid, machines: [], maybe: [] } } };
    });
    this.#uid = uid;
    return slices[ref.name]?.uid === uid;
  }

  /** @returns whether no claim of the slice is left */
  async #leaveAll({ machines, maybe }: SliceRecord): Promise<boolean> {
    const left = await Promise.all(claimsOf([...machines, ...maybe]).map((machine) => this.#leave(machine)));
    return left.every((isGone) => isGone);
  }

  #noneFree(
    fitting: readonly OwnMachine[],
    record: PoolRecord,
    { refusals, kept }: { readonly refusals: ReadonlyMap<string, string>; readonly kept: Choice['kept'] },
  ): string {
    const { ref, machines: asked } = this.#plan;
    const asker = { name: ref.name, now: Date.now() };
    const why = new Map<string, string>();
    for (const machine of fitting) {
      const { name } = machine;
      if (kept?.includes(name) === false) continue;
      const reason = refusals.get(name) ?? whyNot(machine, record, asker);
      if (reason !== undefined) why.set(name, reason);
    }
    const place = kept === undefined ? '' : `${kept.join(', ')} are kept for it: `;
    return `${machinesText(asked)} cannot be had now: ${place}${sentences(why)}`;
  }
}

const STALE_GRACE_MS = 5_000;
const GIVEN_BACK = 'the slice was given back while its machines were claimed';

/** The reason why an inspected machine cannot be used now, or undefined if it can. */
export function problemOf({ problems, busy }: Inspection): string | undefined {
  const all = [...problems, ...(busy === undefined ? [] : [busy])];
  return all.length === 0 ? undefined : all.join('; ');
}

const sentences = (problems: ReadonlyMap<string, string>): string =>
  [...problems].map(([name, problem]) => `${name} ${problem}`).join('; ');
