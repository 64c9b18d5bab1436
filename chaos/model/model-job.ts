import { type Budget, budgetLeft, charge, type Retries } from '../../domain/recovery/budgets.js';
import { decide } from '../../domain/recovery/decide.js';
import { SHUTDOWN_PATIENCE_MS } from '../../domain/recovery/decisions.js';
import type { Fact } from '../../domain/recovery/facts.js';
import { commandEnd, type HostEnd, hostsFact } from '../../domain/recovery/host-ends.js';
import { conditionFact, REFUSALS } from '../../domain/recovery/slice-loss.js';
import type { Ownership } from '../../domain/slice.js';
import { DEFAULT_TIMINGS } from '../../domain/timings.js';
import type { QuotaLease, QuotaRequest } from '../../quota/quota-config.js';
import type { AskedJob, Told } from '../oracle/evidence.js';
import type { VirtualCloud } from './virtual-cloud.js';

const GRACE_MS = 30_000;
const SAVING_MS = 2_000;
const ALLOWED: Retries = { preemption: 1_000, infrastructure: 1_000, task: 0 };

export interface Program {
  readonly runsMs: number;
  readonly code: number;
  readonly onTerm: 'saves' | 'dies' | 'ignores';
}

interface Process {
  readonly host: number;
  readonly id: string;
  readonly startedAt: number;
  number: number;
  /** When it got SIGTERM, and who sent it. */
  term?: { readonly at: number; readonly byUs: boolean };
  end?: {
    readonly at: number;
    readonly code: number;
    readonly host: 'up' | 'stopping' | 'preempted';
    readonly isStopped: boolean;
  };
}

/**
 * One job, carried as its decisions say and no further: every branch below is an answer of `domain/recovery` or `quota`. What it does
 * itself is to look, to begin processes, and to do what the answer is called.
 */
export class ModelJob {
  readonly asked: AskedJob;
  readonly told: Told[] = [];
  phase:
    'waiting' | 'replacing' | 'creating' | 'running' | 'stopping' | 'leaving' | 'succeeded' | 'failed' | 'cancelled' =
    'waiting';
  exitCode: number | undefined;
  why = '';
  readonly #cloud: VirtualCloud;
  readonly #demand: Omit<QuotaRequest, 'id'>;
  readonly #program: Program;
  readonly #chips: number;
  #lease = 1;
  #grantedAt = 0;
  #tier = 0;
  #isHeld = false;
  #askingSince = 0;
  #isDraining = false;
  #generation = 0;
  #attempt = 0;
  #used: Retries = { preemption: 0, infrastructure: 0, task: 0 };
  #processes: Process[] = [];
  #missingSince: number | undefined;
  #endedAt: number | undefined;
  #stopAt: number | undefined;
  /** Slices of this lease that are not seen gone. */
  readonly #slices = new Set<string>();

  constructor(
    cloud: VirtualCloud,
    asked: AskedJob,
    work: { readonly program: Program; readonly chips: number; readonly demand: Omit<QuotaRequest, 'id'> },
  ) {
    this.#cloud = cloud;
    this.asked = asked;
    this.#program = work.program;
    this.#chips = work.chips;
    this.#demand = work.demand;
  }

  get isOver(): boolean {
    return this.phase === 'succeeded' || this.phase === 'failed' || this.phase === 'cancelled';
  }

  /** Nothing of it is in the book or in the cloud. */
  get isGone(): boolean {
    return this.isOver && this.#grantedAt === 0;
  }

  /** Changes when the pool has to look again. */
  get standing(): string {
    return `${this.#lease} ${this.phase} ${this.#grantedAt} ${this.#isHeld} ${this.#isDraining}`;
  }

  get request(): QuotaRequest | undefined {
    return this.phase === 'waiting' && this.#grantedAt === 0 ? { ...this.#demand, id: this.leaseId } : undefined;
  }

  get lease(): QuotaLease | undefined {
    if (this.#grantedAt === 0) return undefined;
    const state = this.#isDraining || this.isOver ? 'draining' : this.#isHeld ? 'held' : 'asking';
    return {
      ...this.#demand,
      id: this.leaseId,
      tier: this.#tier,
      startedAt: this.#grantedAt,
      state,
      askingSince: this.#askingSince,
    };
  }

  grant(tier: number): void {
    this.#grantedAt = this.#cloud.now;
    this.#tier = tier;
    this.#isDraining = false;
    this.#create();
  }

  /** The pool wants its chips back. */
  revoke(): void {
    if (this.isOver || this.#isDraining) return;
    this.#isDraining = true;
    this.#stepDue('none');
  }

  cancel(): void {
    if (this.isOver) return;
    this.#end('cancelled', undefined, 'cancelled');
  }

  requeue(): boolean {
    if (this.isOver || this.#isDraining || this.phase === 'waiting') return false;
    this.#stepDue('requeue');
    return true;
  }

  step(): void {
    this.#processesGoOn();
    switch (this.phase) {
      case 'creating':
        this.#watchCreation();
        break;
      case 'running':
        this.#watchCommand();
        break;
      case 'stopping':
        this.#watchStop();
        break;
      default:
    }
    this.#seeGone();
  }

  // The pool ------------------------------------------------------------------------------------------------------------

  get leaseId(): string {
    return `${this.asked.id}/run/${this.#lease}`;
  }

  #stepDue(request: 'none' | 'requeue'): void {
    const mayRun = this.phase === 'running' || this.phase === 'stopping';
    const step = decide('step due', {
      lease: this.#isDraining ? 'revoked' : 'stands',
      request,
      command: mayRun ? 'may run' : 'ended',
      holds: this.#grantedAt === 0 ? 'nothing' : 'lease and all slices',
    });
    if (step.do === 'save') {
      this.phase = 'stopping';
      this.#stopAt = this.#cloud.now;
      this.#signal(true, this.#isDraining ? '{"v":1,"cause":"quota"}' : '{"v":1,"cause":"stop"}');
    } else if (step.do === 'give back') this.#giveBack();
  }

  #giveBack(): void {
    this.#abandon();
    this.#isDraining = true;
    this.phase = 'leaving';
  }

  // Slices --------------------------------------------------------------------------------------------------------------

  get #node(): string {
    return `jc-${this.asked.id}-g${this.#generation}`;
  }

  #create(): void {
    this.#generation += 1;
    if (this.#askingSince === 0) this.#askingSince = this.#cloud.now;
    this.#missingSince = undefined;
    const { id } = this.asked;
    const ownership: Ownership = { owner: 'ours', job: id, run: 'run', generation: this.#generation, spec: 'x' };
    this.#slices.add(this.#node);
    this.#cloud.create(this.#node, this.#chips, ownership);
    this.phase = 'creating';
  }

  #seeGone(): void {
    for (const name of this.#slices)
      if (
        (name !== this.#node || this.isOver || this.phase === 'leaving' || this.phase === 'replacing') &&
        this.#cloud.isGone(name)
      )
        this.#slices.delete(name);
    if (this.#slices.size > 0 || this.#grantedAt === 0) return;
    if (this.isOver) this.#grantedAt = 0;
    else if (this.phase === 'replacing') this.#create();
    else if (this.phase === 'leaving') {
      this.#grantedAt = 0;
      this.#isHeld = false;
      this.#askingSince = 0;
      this.#lease += 1;
      this.#isDraining = false;
      this.phase = 'waiting';
    }
  }

  /** Evidence that the slice serves no more, or undefined. */
  #lossSeen(): 'preempted' | 'failed' | undefined {
    const condition = conditionFact(this.#cloud.look(this.#node));
    let seen = decide('slice seen', { look: 'in the listing', condition });
    if (seen.do === 'look directly') {
      const isSecond =
        this.#missingSince !== undefined && this.#cloud.now - this.#missingSince >= DEFAULT_TIMINGS.notFoundApartMs;
      seen = decide('slice seen', { look: isSecond ? 'directly, a second time' : 'directly', condition });
    }
    if (seen.do === 'report loss') return seen.cause;
    this.#missingSince = seen.do === 'wait, look again' ? (this.#missingSince ?? this.#cloud.now) : undefined;
    return undefined;
  }

  #watchCreation(): void {
    const condition = this.#cloud.look(this.#node);
    if (condition?.kind === 'lost') {
      this.#notReady(condition.cause === 'refused' ? REFUSALS[condition.scope] : condition.cause);
      return;
    }
    const loss = this.#lossSeen();
    if (loss !== undefined) this.#notReady(loss);
    // A VM that is gone lets nobody in, whatever the API says.
    else if (condition?.kind === 'ready' && this.#cloud.vm(this.#node) === 'up') this.#begin();
  }

  #notReady(because: Fact<'not ready', 'because'>): void {
    const { preemption, infrastructure } = budgetLeft(this.#used, ALLOWED);
    // One zone, which is asked again and again.
    const command = this.#attempt === 0 ? 'never ran' : 'ran before';
    const next = decide('not ready', { because, zones: 'left', refusals: 'few', command, preemption, infrastructure });
    if (next.do === 'fail') this.#end('failed', undefined, `not ready: ${because}`);
    else this.#replace(next.do === 'retry' ? next.budget : undefined);
  }

  #replace(budget: Budget | undefined): void {
    if (budget !== undefined) this.#used = charge(this.#used, budget);
    if (this.#isHeld) this.#askingSince = this.#cloud.now;
    this.#isHeld = false;
    this.#abandon();
    this.phase = 'replacing';
  }

  // The command ---------------------------------------------------------------------------------------------------------

  #begin(): void {
    this.#attempt += 1;
    this.#isHeld = true;
    this.#endedAt = undefined;
    this.#processes = Array.from({ length: this.asked.hosts }, (_, host) => ({
      host,
      id: `${this.#node}.${this.#attempt}.${host}`,
      startedAt: this.#cloud.now,
      number: 0,
    }));
    for (const each of this.#processes) this.#tell(each, 'BEGIN', this.#node);
    this.phase = 'running';
  }

  /** What processes do by themselves, by their VM, and at a signal. */
  #processesGoOn(): void {
    const vm = this.#cloud.vm(this.#node);
    if (vm === undefined) {
      // Whatever is known of an end lay on the VM: what nobody read is gone with it.
      if (this.#endedAt === undefined) this.#vmIsGone();
      return;
    }
    if (vm !== 'up') this.#signal(false, '');
    for (const each of this.#processes) {
      if (each.end !== undefined) continue;
      const { now } = this.#cloud;
      const { runsMs, code, onTerm } = this.#program;
      const isSaved = each.term !== undefined && onTerm === 'saves' && now - each.term.at >= SAVING_MS;
      const isKilled =
        each.term !== undefined && (onTerm === 'dies' || (each.term.byUs && now - each.term.at >= GRACE_MS));
      if (now - each.startedAt >= runsMs) this.#processEnds(each, { code, isEarly: false }, vm);
      else if (isSaved) this.#processEnds(each, { code: 0, isEarly: true }, vm);
      else if (isKilled) this.#processEnds(each, { code: 143, isEarly: true }, vm);
    }
  }

  #vmIsGone(): void {
    for (const each of this.#processes) if (each.end === undefined) this.#tell(each, 'GONE', '');
    this.#processes = [];
  }

  #processEnds(
    each: Process,
    { code, isEarly }: { code: number; isEarly: boolean },
    host: 'up' | 'stopping' | 'preempted',
  ): void {
    each.end = { at: this.#cloud.now, code, host, isStopped: each.term?.byUs === true };
    this.#tell(each, 'END', `${code} ${isEarly ? 'early' : 'all'}`);
  }

  #signal(byUs: boolean, notice: string): void {
    for (const each of this.#processes) {
      if (each.end !== undefined || each.term !== undefined) continue;
      each.term = { at: this.#cloud.now, byUs };
      this.#tell(each, 'TERM', notice);
    }
  }

  #ends(): readonly HostEnd[] {
    return this.#processes.flatMap(({ host, end, startedAt }): readonly HostEnd[] => {
      if (end === undefined) return [];
      const { at: endedAt, code, isStopped, host: condition } = end;
      const exit = { at: { slice: 0, host }, code, startedAt, endedAt, isStopped, host: condition };
      return [{ kind: code === 0 ? 'done' : 'failed', ...exit }];
    });
  }

  #watchCommand(): void {
    const ends = this.#ends();
    const isEnd =
      ends.length > 0 && (ends.length === this.#processes.length || ends.some(({ kind }) => kind === 'failed'));
    if (isEnd) this.#commandEnded(ends);
    else {
      const loss = this.#lossSeen();
      if (loss !== undefined) this.#attemptEnded(loss === 'preempted' ? 'slices preempted' : 'slices failed');
    }
  }

  #commandEnded(ends: readonly HostEnd[]): void {
    const hosts = hostsFact(ends);
    this.#endedAt ??= this.#cloud.now;
    const first = decide('command ended', { hosts, slices: 'not looked at' });
    const loss = first.do === 'look at slices' ? this.#lossSeen() : undefined;
    const patienceMs = first.do === 'look at slices' && first.patience === 'shutdown' ? SHUTDOWN_PATIENCE_MS : 0;
    if (first.do === 'look at slices' && loss === undefined && this.#cloud.now - this.#endedAt < patienceMs) return;
    const answer =
      first.do === 'look at slices'
        ? decide('command ended', { hosts, slices: loss === undefined ? 'there' : 'lost' })
        : first;
    // Not all builds have all of these answers: read as words.
    const todo: string = answer.do;
    if (todo === 'report loss' || todo === 'report preemption')
      this.#attemptEnded(loss === 'failed' ? 'slices failed' : 'slices preempted');
    else if (todo === 'report lost run') this.#attemptEnded('run lost');
    else
      this.#attemptEnded(
        commandEnd(ends).kind === 'exited' && this.#codeOf(ends) === 0 ? 'code 0' : 'another code',
        this.#codeOf(ends),
      );
  }

  #codeOf(ends: readonly HostEnd[]): number {
    const end = commandEnd(ends);
    return end.kind === 'exited' ? end.code : 0;
  }

  #attemptEnded(end: Fact<'attempt ended', 'end'>, code?: number): void {
    const next = decide('attempt ended', {
      end,
      lease: this.#isDraining ? 'revoked' : 'stands',
      restart: 'not asked for',
      loop: 'none',
      ...budgetLeft(this.#used, { ...ALLOWED, task: this.asked.taskRetries }),
    });
    switch (next.do) {
      case 'succeed':
        this.#end('succeeded', 0, '');
        break;
      case 'fail':
        this.#end('failed', code, end);
        break;
      case 'retry':
        if (next.replace === 'nothing' && this.#cloud.vm(this.#node) === 'up') {
          this.#used = charge(this.#used, next.budget);
          this.#begin();
        } else if (next.replace === 'nothing') this.#await(next.budget);
        else this.#replace(next.budget);
        break;
      default:
        this.#giveBack();
    }
  }

  /** On the same slices, as soon as they let somebody in; or they turn out to be lost. */
  #await(budget: Budget): void {
    this.#used = charge(this.#used, budget);
    this.#processes = [];
    this.phase = 'creating';
  }

  #watchStop(): void {
    const isOver = this.#processes.every(({ end }) => end !== undefined);
    if (!isOver && this.#cloud.now - (this.#stopAt ?? 0) < 2 * GRACE_MS) return;
    const own = this.#processes.length > 0 && this.#processes.every(({ term }) => term === undefined);
    const end = own ? 'own exit' : this.#processes.length === 0 ? 'lost' : 'answer to the stop';
    const answer = decide('command interrupted', { by: this.#isDraining ? 'pool' : 'person', command: 'given', end });
    if (answer.do === 'believe end') this.#commandEnded(this.#ends());
    else this.#giveBack();
  }

  #end(phase: 'succeeded' | 'failed' | 'cancelled', code: number | undefined, why: string): void {
    this.#abandon();
    this.phase = phase;
    this.exitCode = code;
    this.why = why;
  }

  /** The slice goes, with what runs on it. */
  #abandon(): void {
    this.#processes = [];
    if (this.#slices.has(this.#node)) this.#cloud.remove(this.#node);
  }

  #tell(each: Process, kind: Told['kind'], text: string): void {
    each.number += 1;
    const { host, id, number } = each;
    this.told.push({
      at: this.#cloud.now,
      job: this.asked.id,
      attempt: this.#attempt,
      slice: 0,
      host,
      process: id,
      number,
      kind,
      text,
    });
  }
}
