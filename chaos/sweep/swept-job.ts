import { decide } from '../../domain/recovery/decide.js';
import { type Fact, conditionFact } from '../../domain/recovery/facts.js';
import { commandEnd, type HostEnd, hostsFact, preemptedSlices } from '../../domain/recovery/host-ends.js';
import type { Told } from '../oracle/evidence.js';
import type { VirtualCloud, VmState } from '../model/virtual-cloud.js';
import type { ON_TERM, SHAPES } from './points.js';

/** The times of `activities/attempt`. */
const SHUTDOWN_PATIENCE_MS = 120_000;
const SHUTDOWN_GRACE_MS = 30_000;
const NOT_FOUND_APART_MS = 5_000;
const SAVING_MS = 2_000;
/** Run time of attempts after the first. */
const SHORT_RUN_MS = 5_000;
const CHIPS = { 1: 4, 4: 16 } as const;

export interface SweptWork {
  readonly id: string;
  readonly shape: (typeof SHAPES)[number];
  readonly runsMs: number;
  readonly onTerm: (typeof ON_TERM)[number];
  /** From a command's end until a worker has read it. */
  readonly readMs: number;
}

interface Process {
  readonly slice: number;
  readonly host: number;
  readonly node: string;
  readonly id: string;
  readonly startedAt: number;
  number: number;
  term?: { readonly at: number; readonly byUs: boolean };
  end?: { readonly at: number; readonly readAt: number; readonly said: HostEnd };
  isGone: boolean;
}

/**
 * One job with one or two slices, from its first attempt to its outcome. Every branch is an answer of `domain/recovery`. The rest
 * does what `activities/attempt` and `workflows/job` do, without budgets, pool and people.
 */
export class SweptJob {
  readonly told: Told[] = [];
  outcome: { readonly phase: 'succeeded' | 'failed'; readonly at: number; readonly code: number } | undefined;
  readonly #cloud: VirtualCloud;
  readonly #work: SweptWork;
  readonly #generations: number[];
  #attempt = 0;
  #processes: Process[] = [];
  #isRunning = false;
  /** When the ends were first enough to report. */
  #reportedAt: number | undefined;
  #firstBadAt: number | undefined;
  readonly #missingSince = new Map<string, number>();
  /** Slices to be replaced as soon as the API answers. */
  readonly #toReplace = new Set<number>();

  constructor(cloud: VirtualCloud, work: SweptWork) {
    this.#cloud = cloud;
    this.#work = work;
    this.#generations = Array.from({ length: work.shape.slices }, () => 0);
    for (const slice of this.#generations.keys()) this.#toReplace.add(slice);
  }

  get isRunning(): boolean {
    return this.#isRunning;
  }

  node(slice: number): string {
    return `jc-${this.#work.id}-s${slice}-g${this.#generations[slice]}`;
  }

  step(): void {
    this.#processesGoOn();
    if (this.outcome !== undefined) return;
    if (this.#isRunning) this.#watch();
    else this.#prepare();
  }

  /** Deletes all slices. Returns true once they are gone. */
  leave(): boolean {
    if (this.#cloud.isDown) return false;
    const nodes = [...this.#generations.keys()].map((slice) => this.node(slice));
    for (const node of nodes) if (this.#cloud.vm(node) !== undefined || !this.#cloud.isGone(node)) this.#remove(node);
    return nodes.every((node) => this.#cloud.isGone(node));
  }

  // Slices --------------------------------------------------------------------------------------------------------------

  readonly #removed = new Set<string>();

  #remove(node: string): void {
    if (this.#removed.has(node)) return;
    this.#removed.add(node);
    this.#cloud.remove(node);
  }

  #prepare(): void {
    if (this.#cloud.isDown) return;
    for (const slice of this.#toReplace) {
      const before = this.node(slice);
      if (this.#generations[slice] !== 0) {
        this.#remove(before);
        if (!this.#cloud.isGone(before)) continue;
      }
      this.#create(slice);
    }
    if (this.#toReplace.size > 0) return;
    const lost = [...this.#generations.keys()].filter((slice) => this.#lossSeen(slice, false) !== undefined);
    for (const slice of lost) this.#toReplace.add(slice);
    const isReady = [...this.#generations.keys()].every(
      (slice) =>
        this.#cloud.look(this.node(slice))?.kind === 'ready' &&
        // A VM that is gone lets nobody in, whatever the API says.
        this.#cloud.vm(this.node(slice)) === 'up',
    );
    if (lost.length === 0 && isReady) this.#begin();
  }

  #create(slice: number): void {
    this.#toReplace.delete(slice);
    const generation = (this.#generations[slice] ?? 0) + 1;
    this.#generations[slice] = generation;
    const ownership = { owner: 'ours', job: this.#work.id, run: 'run', generation, spec: 'x' };
    this.#cloud.create(this.node(slice), CHIPS[this.#work.shape.hosts], ownership);
  }

  /** Evidence that a slice is lost, or undefined. @param isDirect whether the API is asked directly, as after a command's end */
  #lossSeen(slice: number, isDirect: boolean): 'preempted' | 'failed' | undefined {
    const node = this.node(slice);
    const condition = conditionFact(this.#cloud.look(node));
    let seen = decide('slice seen', { look: isDirect ? 'directly' : 'in the listing', condition });
    if (seen.do === 'look directly') seen = decide('slice seen', { look: 'directly', condition });
    if (seen.do === 'wait, look again') {
      const since = this.#missingSince.get(node) ?? this.#cloud.now;
      this.#missingSince.set(node, since);
      if (this.#cloud.now - since < NOT_FOUND_APART_MS) return undefined;
      seen = decide('slice seen', { look: 'directly, a second time', condition });
    } else this.#missingSince.delete(node);
    return seen.do === 'report loss' ? seen.cause : undefined;
  }

  // Processes -----------------------------------------------------------------------------------------------------------

  #begin(): void {
    this.#attempt += 1;
    const { slices, hosts } = this.#work.shape;
    this.#processes = Array.from({ length: slices * hosts }, (_, index): Process => {
      const [slice, host] = [Math.floor(index / hosts), index % hosts];
      const node = this.node(slice);
      const id = `${node}.${this.#attempt}.${host}`;
      return { slice, host, node, id, startedAt: this.#cloud.now, number: 0, isGone: false };
    });
    for (const each of this.#processes) this.#tell(each, 'BEGIN', each.node);
    this.#isRunning = true;
    this.#reportedAt = undefined;
    this.#firstBadAt = undefined;
  }

  #processesGoOn(): void {
    for (const each of this.#processes) {
      if (each.isGone) continue;
      const vm = this.#cloud.vm(each.node);
      if (vm === undefined) {
        each.isGone = true;
        if (each.end === undefined) this.#tell(each, 'GONE', '');
      } else if (each.end === undefined) this.#goesOn(each, vm);
    }
  }

  #goesOn(each: Process, vm: Exclude<VmState, undefined>): void {
    const { now } = this.#cloud;
    const { onTerm, runsMs } = this.#work;
    if (vm !== 'up') this.#signal(each, false);
    const ranMs = now - each.startedAt;
    const answeredMs = each.term === undefined ? -1 : now - each.term.at;
    if (ranMs >= (this.#attempt === 1 ? runsMs : SHORT_RUN_MS)) this.#ends(each, { code: 0, isEarly: false, vm });
    else if (answeredMs >= SAVING_MS && onTerm === 'saves') this.#ends(each, { code: 0, isEarly: true, vm });
    else if (answeredMs >= 0 && (onTerm === 'dies' || onTerm === 'tells'))
      this.#ends(each, { code: 143, isEarly: true, vm });
    else if (each.term?.byUs === true && answeredMs >= SHUTDOWN_GRACE_MS)
      this.#ends(each, { code: 137, isEarly: true, vm });
  }

  #ends(
    each: Process,
    {
      code,
      isEarly,
      vm,
    }: { readonly code: number; readonly isEarly: boolean; readonly vm: 'up' | 'stopping' | 'preempted' },
  ): void {
    const at = this.#cloud.now;
    const place = { slice: each.slice, host: each.host };
    const kind = code === 0 ? 'done' : 'failed';
    const isStopped = each.term?.byUs === true;
    const said: HostEnd = { kind, at: place, code, startedAt: each.startedAt, endedAt: at, isStopped, host: vm };
    each.end = { at, readAt: at + this.#work.readMs, said };
    this.#tell(each, 'END', `${code} ${isEarly ? 'early' : 'all'}`);
  }

  #signal(each: Process, byUs: boolean): void {
    if (each.end !== undefined || each.term !== undefined) return;
    each.term = { at: this.#cloud.now, byUs };
    this.#tell(each, 'TERM', byUs ? '{"v":1,"cause":"attempt"}' : '');
  }

  // The attempt ---------------------------------------------------------------------------------------------------------

  readonly #read = new Map<string, HostEnd>();

  /** Ends that a worker has read. It reads none from a VM that is gone. */
  #known(): readonly HostEnd[] {
    for (const { id, end, isGone } of this.#processes)
      if (end !== undefined && !isGone && end.readAt <= this.#cloud.now) this.#read.set(id, end.said);
    return this.#processes.flatMap(({ id }) => this.#read.get(id) ?? []);
  }

  #watch(): void {
    const ends = this.#known();
    const enough = this.#enough(ends);
    if (enough !== undefined && this.#report(enough)) return;
    const lost = [...this.#generations.keys()].filter((slice) => this.#lossSeen(slice, false) !== undefined);
    if (lost.length > 0 && !this.#isEndAfterAll(ends)) this.#slicesLost(lost);
  }

  /** Ends that suffice for a report, if any: of all hosts, or one failed end, or those of a slice that shut down in its grace. */
  #enough(ends: readonly HostEnd[]): readonly HostEnd[] | undefined {
    if (ends.length === this.#processes.length) return ends;
    const shutDown = ends.find((end) => 'host' in end && end.host !== 'up' && end.host !== undefined);
    const bad = shutDown ?? ends.find(({ kind }) => kind === 'failed');
    if (bad === undefined || !('at' in bad)) return undefined;
    this.#firstBadAt ??= this.#cloud.now;
    if (shutDown === undefined) return [bad];
    const own = ends.filter((end) => 'at' in end && end.at.slice === bad.at.slice);
    const isOver = this.#cloud.now - this.#firstBadAt >= SHUTDOWN_GRACE_MS;
    return isOver || own.length === this.#work.shape.hosts ? own : undefined;
  }

  /** @returns whether the attempt is over */
  #report(ends: readonly HostEnd[]): boolean {
    this.#reportedAt ??= this.#cloud.now;
    const hosts = hostsFact(ends);
    let answer = decide('command ended', { hosts, slices: 'not looked at' });
    if (answer.do === 'look at slices') {
      const patienceMs = answer.patience === 'shutdown' ? SHUTDOWN_PATIENCE_MS : 0;
      const lost = [...this.#generations.keys()].filter((slice) => this.#lossSeen(slice, true) !== undefined);
      if (lost.length === 0 && this.#cloud.now - this.#reportedAt < patienceMs) return false;
      answer = decide('command ended', { hosts, slices: lost.length > 0 ? 'lost' : 'there' });
      if (answer.do === 'report loss') {
        this.#slicesLost(lost);
        return true;
      }
    }
    if (answer.do === 'report preemption') this.#slicesLost(preemptedSlices(ends).map(({ index }) => index));
    else if (answer.do === 'report lost run') this.#ended('run lost', 0);
    else if (answer.do === 'report end') {
      const end = commandEnd(ends);
      const code = end.kind === 'exited' ? end.code : 1;
      this.#ended(code === 0 ? 'code 0' : 'another code', code);
    } else return false;
    return true;
  }

  /** Ends the attempt if every host has truly ended: a later loss of a slice does not undo that. @returns whether it did */
  #isEndAfterAll(ends: readonly HostEnd[]): boolean {
    if (ends.length === 0 || ends.length < this.#processes.length) return false;
    const end = commandEnd(ends);
    const answer = decide('command ended', { hosts: hostsFact(ends), slices: 'lost' });
    if (end.kind !== 'exited' || answer.do !== 'report end') return false;
    this.#ended(end.code === 0 ? 'code 0' : 'another code', end.code);
    return true;
  }

  #slicesLost(slices: readonly number[]): void {
    for (const each of this.#processes) if (!slices.includes(each.slice)) this.#signal(each, true);
    this.#ended('slices preempted', 0, slices);
  }

  #ended(end: Fact<'attempt ended', 'end'>, code: number, lost: readonly number[] = []): void {
    const next = decide('attempt ended', {
      ...{ end, lease: 'stands', restart: 'not asked for', loop: 'none' },
      ...{ preemption: 'left', infrastructure: 'left', task: 'spent', requested: 'left' },
    });
    this.#isRunning = false;
    if (next.do === 'succeed' || next.do === 'fail') {
      this.outcome = { phase: next.do === 'succeed' ? 'succeeded' : 'failed', at: this.#cloud.now, code };
      return;
    }
    if (next.do !== 'retry') throw new RangeError(`sweep: '${end}' is answered with '${next.do}'`);
    if (next.replace !== 'nothing') for (const slice of lost) this.#toReplace.add(slice);
  }

  #tell(each: Process, kind: Told['kind'], text: string): void {
    each.number += 1;
    const { slice, host, id: process, number } = each;
    const place = { job: this.#work.id, attempt: this.#attempt, slice, host, process };
    this.told.push({ at: this.#cloud.now, ...place, number, kind, text });
  }
}
