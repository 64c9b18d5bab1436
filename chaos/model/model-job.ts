import { type Budget, budgetLeft, charge, NO_RETRIES, type Retries } from '../../domain/recovery/budgets.js';
import { decide } from '../../domain/recovery/decide.js';
import { type Fact, conditionFact, REFUSALS } from '../../domain/recovery/facts.js';
import type { SupervisedEnd } from '../../domain/recovery/supervision-state.js';
import type { Ownership } from '../../domain/slice.js';
import { DEFAULT_TIMINGS } from '../../domain/timings.js';
import type { QuotaLease, QuotaRequest } from '../../quota/quota-config.js';
import type { AskedJob, Told } from '../oracle/evidence.js';
import { endFact } from '../../workflows/job/attempt-record.js';
import { ModelSupervision, STOP_MS } from './model-supervision.js';
import { Processes, type Program } from './processes.js';
import type { VirtualCloud } from './virtual-cloud.js';

const ALLOWED: Retries = { preemption: 1_000, infrastructure: 1_000, task: 0, requested: 0 };

/**
 * One job of the model. Every branch below is an answer of `domain/recovery` or `quota`. The job itself only looks, begins
 * processes, and carries out the answers.
 */
export class ModelJob {
  readonly asked: AskedJob;
  phase:
    | 'waiting'
    | 'replacing'
    | 'creating'
    | 'running'
    | 'stopping'
    | 'leaving'
    | 'succeeded'
    | 'failed'
    | 'cancelled' = 'waiting';
  exitCode: number | undefined;
  why = '';
  readonly #cloud: VirtualCloud;
  readonly #demand: Omit<QuotaRequest, 'id'>;
  readonly #processes: Processes;
  readonly #chips: number;
  #lease = 1;
  #grantedAt = 0;
  #tier = 0;
  #isHeld = false;
  #askingSince = 0;
  #isDraining = false;
  #generation = 0;
  #attempt = 0;
  #used: Retries = NO_RETRIES;
  #missingSince: number | undefined;
  #stopAt: number | undefined;
  #supervision: ModelSupervision | undefined;
  /** Slices of this lease that have not been seen gone. */
  readonly #slices = new Set<string>();

  constructor(
    cloud: VirtualCloud,
    asked: AskedJob,
    work: { readonly program: Program; readonly chips: number; readonly demand: Omit<QuotaRequest, 'id'> },
  ) {
    this.#cloud = cloud;
    this.asked = asked;
    this.#processes = new Processes(cloud, asked, work.program);
    this.#chips = work.chips;
    this.#demand = work.demand;
  }

  get told(): readonly Told[] {
    return this.#processes.told;
  }

  get isOver(): boolean {
    return this.phase === 'succeeded' || this.phase === 'failed' || this.phase === 'cancelled';
  }

  /** Whether nothing of the job is left in the pool or in the cloud. */
  get isGone(): boolean {
    return this.isOver && this.#grantedAt === 0;
  }

  /** A text that changes whenever the pool has to decide again. */
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

  /** The pool takes its chips back. */
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

  /** Sends SIGTERM to one of its processes. @returns the process's id, or undefined if none runs */
  signalOne(choose: number): string | undefined {
    return this.phase === 'running' ? this.#processes.signalOne(choose) : undefined;
  }

  step(): void {
    this.#processes.goOn(this.#supervision?.isDeciding ?? false);
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
      this.#processes.stop(this.#isDraining ? '{"v":1,"cause":"quota"}' : '{"v":1,"cause":"stop"}');
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

  /** Evidence that the slice is lost, or undefined. */
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
    // The model has one zone, which is asked again and again.
    const command = this.#attempt === 0 ? 'never ran' : 'ran before';
    const answer = decide('not ready', {
      because,
      zones: 'left',
      refusals: 'few',
      command,
      preemption,
      infrastructure,
    });
    if (answer.do === 'fail') this.#end('failed', undefined, `not ready: ${because}`);
    else this.#replace(answer.do === 'retry' ? answer.budget : undefined);
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
    this.#supervision = new ModelSupervision(this.#cloud, this.#processes, this.asked.hosts);
    this.#processes.begin(this.#node, this.#attempt);
    this.phase = 'running';
  }

  #watchCommand(): void {
    const end = this.#supervision?.step(this.#lossSeen());
    if (end !== undefined) this.#supervised(end);
  }

  #supervised(end: SupervisedEnd): void {
    if (end.kind !== 'exited' && end.kind !== 'slices-lost' && end.kind !== 'run-lost')
      throw new TypeError(`a command of the model ends as ${end.kind}`);
    this.#attemptEnded(endFact(end, {}), end.kind === 'exited' ? end.code : undefined);
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

  /** Begins again on the same slices, once they let somebody log in. They may also turn out to be lost. */
  #await(budget: Budget): void {
    this.#used = charge(this.#used, budget);
    this.#processes.forget();
    this.phase = 'creating';
  }

  #watchStop(): void {
    if (!this.#processes.areOver && this.#cloud.now - (this.#stopAt ?? 0) < STOP_MS) return;
    const end = this.#processes.stopEnd;
    const answer = decide('command interrupted', { by: this.#isDraining ? 'pool' : 'person', command: 'given', end });
    if (answer.do === 'believe end') this.#watchCommand();
    else this.#giveBack();
  }

  #end(phase: 'succeeded' | 'failed' | 'cancelled', code: number | undefined, why: string): void {
    this.#abandon();
    this.phase = phase;
    this.exitCode = code;
    this.why = why;
  }

  /** Deletes the slice, with what runs on it. */
  #abandon(): void {
    this.#processes.forget();
    if (this.#slices.has(this.#node)) this.#cloud.remove(this.#node);
  }
}
