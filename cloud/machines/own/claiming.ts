import { randomUUID } from 'node:crypto';
import {
  fittingMachines,
  tooFewMachines,
  type MachineRecord,
  type MachinesPlan,
  type OwnMachine,
  machinesText,
} from '../../../domain/machine-kinds/machines/words.js';
import type { CreateAnswer } from '../../../domain/slice.js';
import type { Inspection, MachineVerbs } from '../../hosts/machine-verbs.js';
import {
  claimText,
  isOurs,
  readClaim,
  type ChosenMachine,
  LIKE_NEW,
  type PoolRecord,
  type PoolRecords,
  type SliceRecord,
} from './pool-record.js';
import type { MachineVisits } from './machine-visits.js';

/** A create call of the slice workflow lasts 60 s at most, so no machine is claimed after this time. */
const CLAIM_FOR_MS = 40_000;
const VISIT_MS = 15_000;
/** A machine is put aside after this many failures in a row. */
const MOST_FAILURES = 2;

/** The reason why a machine was not taken. `isHere`: a claim of this slice may be on it. */
interface Refusal {
  readonly machine: OwnMachine;
  readonly problem: string;
  /** Set if the machine itself is at fault, which is counted; its use by others is not. */
  readonly isSick: boolean;
  readonly isHere: boolean;
}

/** One create call. It chooses machines in the pool's record, then claims and inspects each machine. */
export class Claiming {
  readonly #plan: MachinesPlan;
  readonly #inventory: readonly OwnMachine[];
  readonly #records: PoolRecords;
  readonly #visits: MachineVisits;
  readonly #uid = randomUUID();
  readonly #until = performance.now() + CLAIM_FOR_MS;
  /** Keyed by the machine's name. */
  readonly #inspected = new Map<string, Inspection>();
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
      const { record, chosen } = await this.#choose(fitting, refusals);
      const own = record.slices[ref.name];
      if (own !== undefined && own.uid !== this.#uid) return { kind: 'exists' };
      if (own === undefined && this.#hasChosen) return { kind: 'unanswered', message: GIVEN_BACK };
      if (chosen === undefined) return this.#giveUp(this.#noneFree(fitting, record, refusals));
      this.#hasChosen = true;
      const failed = await this.#claimAll(chosen);
      if (failed.length === 0) return this.#commit();
      for (const { machine, problem } of failed) refusals.set(machine.name, problem);
      await this.#note(failed);
    }
    return this.#giveUp(`not all machines could be claimed within ${CLAIM_FOR_MS / 1000} s: ${sentences(refusals)}`);
  }

  /** Chooses in a single update of the record, so that two slices that want the same machines do not each get a part of them. */
  async #choose(
    fitting: readonly OwnMachine[],
    refusals: ReadonlyMap<string, string>,
  ): Promise<{ readonly record: PoolRecord; readonly chosen: readonly OwnMachine[] | undefined }> {
    const { ref, ownership, machines: asked } = this.#plan;
    let chosen: readonly OwnMachine[] | undefined;
    const record = await this.#records.update(ref.pool, (before) => {
      chosen = undefined;
      const own = before.slices[ref.name];
      if (own === undefined ? this.#hasChosen : own.uid !== this.#uid) return undefined;
      const kept = fitting.filter(({ name }) => own?.machines.some((each) => each.name === name));
      const free = fitting.filter((machine) => !refusals.has(machine.name) && whyNot(machine, before) === undefined);
      const wanted = [...kept, ...free].slice(0, asked.hosts);
      if (wanted.length < asked.hosts) return undefined;
      chosen = wanted;
      const slice: SliceRecord = {
        ...{ uid: this.#uid, ownership },
        at: own?.at ?? Date.now(),
        machines: wanted.map(reachOf),
        maybe: own?.maybe ?? [],
        isWhole: false,
      };
      const isSame = JSON.stringify(slice) === JSON.stringify(own);
      return isSame ? undefined : { ...before, slices: { ...before.slices, [ref.name]: slice } };
    });
    return { record, chosen };
  }

  async #claimAll(chosen: readonly OwnMachine[]): Promise<readonly Refusal[]> {
    const answers = await Promise.all(chosen.map((machine) => this.#claim(machine)));
    return answers.filter((answer) => answer !== undefined);
  }

  async #claim(machine: OwnMachine): Promise<Refusal | undefined> {
    const { ref } = this.#plan;
    const visited = await this.#visits.visit(ref.pool, machine, VISIT_MS, (verbs) =>
      this.#claimAndInspect(machine, verbs),
    );
    if (visited.kind === 'done') return visited.value;
    const { message, mayHaveBegun } = visited;
    return { machine, problem: `cannot be reached: ${message}`, isSick: true, isHere: mayHaveBegun };
  }

  async #claimAndInspect(machine: OwnMachine, verbs: MachineVerbs): Promise<Refusal | undefined> {
    const { ref, ownership } = this.#plan;
    const claim = { slice: ref.name, uid: this.#uid, pool: ref.pool, ownership };
    let answer = await verbs.claim(this.#uid, claimText(claim), ownership.job);
    if (answer.kind === 'taken' && (await this.#vacateStale(answer.claim, verbs)))
      answer = await verbs.claim(this.#uid, claimText(claim), ownership.job);
    if (answer.kind === 'ended')
      return { machine, problem: 'the slice was given back meanwhile', isSick: false, isHere: false };
    if (answer.kind === 'taken') return { machine, problem: takenText(answer.claim), isSick: false, isHere: false };
    const inspected = await verbs.inspect(declared(machine));
    this.#inspected.set(machine.name, inspected);
    const problem = problemOf(inspected);
    if (problem === undefined) return undefined;
    await verbs.vacate(this.#uid, 0);
    return { machine, problem, isSick: inspected.problems.length > 0, isHere: false };
  }

  /** Removes a claim of ours that no record knows: its machine was silent when its slice was given up. */
  async #vacateStale(text: string, verbs: MachineVerbs): Promise<boolean> {
    const { ref, ownership } = this.#plan;
    const claim = readClaim(text);
    if (!isOurs(claim, ownership.owner, ref.pool)) return false;
    const { slices } = await this.#records.read(ref.pool);
    if (Object.values(slices).some(({ uid }) => uid === claim.uid)) return false;
    await verbs.vacate(claim.uid, STALE_GRACE_MS);
    return true;
  }

  /** Removes failed machines from the slice and keeps the results of their inspection. Failures of sick machines are counted. */
  async #note(failed: readonly Refusal[]): Promise<void> {
    const { ref } = this.#plan;
    const at = Date.now();
    await this.#records.update(ref.pool, (before) => {
      const slice = before.slices[ref.name];
      if (slice?.uid !== this.#uid) return undefined;
      const isFailed = ({ name }: ChosenMachine): boolean => failed.some(({ machine }) => machine.name === name);
      if (!slice.machines.some(isFailed)) return undefined;
      const here = failed.filter(({ isHere }) => isHere).map(({ machine }) => reachOf(machine));
      const machines = slice.machines.filter((machine) => !isFailed(machine));
      const noted = failed.flatMap(({ machine: { name }, problem, isSick }) => {
        if (isSick) return [[name, failedOnce(before.machines[name], problem, at)] as const];
        const inspected = this.#inspected.get(name);
        return inspected ? [[name, inspectedWell(before.machines[name], inspected, at)] as const] : [];
      });
      return {
        slices: { ...before.slices, [ref.name]: { ...slice, machines, maybe: [...slice.maybe, ...here] } },
        machines: {
          ...before.machines,
          ...Object.fromEntries(noted),
        },
      };
    });
  }

  async #commit(): Promise<CreateAnswer> {
    const { ref } = this.#plan;
    const record = await this.#records.update(ref.pool, (before) => {
      const slice = before.slices[ref.name];
      if (slice?.uid !== this.#uid || slice.isWhole) return undefined;
      const at = Date.now();
      const wereWell = slice.machines.map(
        ({ name }) => [name, inspectedWell(before.machines[name], this.#inspected.get(name), at)] as const,
      );
      return {
        slices: { ...before.slices, [ref.name]: { ...slice, isWhole: true } },
        machines: { ...before.machines, ...Object.fromEntries(wereWell) },
      };
    });
    if (record.slices[ref.name]?.uid === this.#uid) return { kind: 'accepted' };
    return { kind: 'unanswered', message: GIVEN_BACK };
  }

  /** Gives up the slice. The record says where claims remain, and the later removal of the slice gives those back. */
  async #giveUp(message: string): Promise<CreateAnswer> {
    const { ref } = this.#plan;
    const record = await this.#records.read(ref.pool);
    const own = record.slices[ref.name];
    if (own?.uid !== this.#uid) return { kind: 'refused', scope: 'moment', message };
    const all = [...own.machines, ...own.maybe];
    const visits = all.map((machine) =>
      this.#visits.visit(ref.pool, machine, VISIT_MS, (verbs) => verbs.vacate(this.#uid, 0)),
    );
    const isAllFree = (await Promise.all(visits)).every(({ kind }) => kind === 'done');
    if (!isAllFree) return { kind: 'unanswered', message };
    await this.#records.update(ref.pool, (before) => withoutSlice(before, ref.name, this.#uid));
    return { kind: 'refused', scope: 'moment', message };
  }

  #noneFree(fitting: readonly OwnMachine[], record: PoolRecord, refusals: ReadonlyMap<string, string>): string {
    const { machines: asked } = this.#plan;
    const why = new Map<string, string>();
    for (const machine of fitting) {
      const { name } = machine;
      const reason = refusals.get(name) ?? whyNot(machine, record);
      if (reason !== undefined) why.set(name, reason);
    }
    return `${machinesText(asked)} cannot be had now: ${sentences(why)}`;
  }
}

const STALE_GRACE_MS = 5_000;
const GIVEN_BACK = 'the slice was given back while its machines were claimed';

/** The reason why a machine cannot be chosen, or undefined if it can. */
export function whyNot({ name }: Pick<OwnMachine, 'name'>, { slices, machines }: PoolRecord): string | undefined {
  const { drained, aside } = machines[name] ?? LIKE_NEW;
  if (drained !== undefined) return `is drained by ${drained.by}${drained.reason ? `: ${drained.reason}` : ''}`;
  if (aside !== undefined) return `is put aside: ${aside.reason}`;
  for (const [slice, { machines: own, maybe }] of Object.entries(slices))
    if ([...own, ...maybe].some((each) => each.name === name)) return `is held by slice ${slice}`;
  return undefined;
}

export function failedOnce(before: MachineRecord = LIKE_NEW, text: string, at: number): MachineRecord {
  const failures = before.failures + 1;
  const isAside = before.aside !== undefined || failures >= MOST_FAILURES;
  // Keeps the time since when it is aside, with the newest reason.
  const aside = isAside && { aside: { at: before.aside?.at ?? at, reason: text } };
  return { ...before, failures, lastProblem: { at, text }, ...aside };
}

/** Notes that the machine passed its inspection. Its present use by others is not a failure of the machine. */
export function inspectedWell(
  { lastProblem: _, warning: __, ...before }: MachineRecord = LIKE_NEW,
  { busy, warnings }: Pick<Inspection, 'busy' | 'warnings'> = { warnings: [] },
  at: number,
): MachineRecord {
  return {
    ...before,
    failures: 0,
    ...(busy !== undefined && { lastProblem: { at, text: busy } }),
    ...(warnings.length > 0 && { warning: warnings.join('; ') }),
  };
}

/** The reason why an inspected machine cannot be used now, or undefined if it can. */
export function problemOf({ problems, busy }: Inspection): string | undefined {
  const all = [...problems, ...(busy === undefined ? [] : [busy])];
  return all.length === 0 ? undefined : all.join('; ');
}

/** The record without the slice. Undefined if another slice has the name now, or no slice has it. */
export function withoutSlice(record: PoolRecord, name: string, uid: string): PoolRecord | undefined {
  if (record.slices[name]?.uid !== uid) return undefined;
  const { [name]: _, ...slices } = record.slices;
  return { ...record, slices };
}

export const declared = ({ accelerators, slot, check }: OwnMachine) => {
  const [first] = Object.entries(accelerators);
  return {
    ...(first !== undefined && { accelerator: { type: first[0], count: first[1] * (slot?.of ?? 1) } }),
    ...(slot && { slot }),
    ...(check !== undefined && { check }),
  };
};

export function reachOf({ labels: _, check: __, ...reach }: OwnMachine): ChosenMachine {
  return reach;
}

const releaseText = (claim: string): string =>
  `if nobody looks after that any more, an admin ends it: jobctl machines release NAME --claim ${claim}`;

export function takenText(text: string): string {
  const claim = readClaim(text);
  if (claim === undefined) {
    const word = /^[\w-][\w.-]*$/.exec(text.split('\n', 1)[0] ?? '')?.[0];
    const release = word === undefined ? 'remove it there' : releaseText(word);
    return `is held by a claim that jobctl cannot read, ~/.jobctl/machine/claim on it: ${release}`;
  }
  const { slice, pool, ownership, uid } = claim;
  return `is held by slice ${slice} of job ${ownership.job} (pool ${pool}, installation ${ownership.owner}): ${releaseText(uid)}`;
}

const sentences = (problems: ReadonlyMap<string, string>): string =>
  [...problems].map(([name, problem]) => `${name} ${problem}`).join('; ');
