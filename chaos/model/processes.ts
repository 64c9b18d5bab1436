import type { Fact } from '../../domain/recovery/facts.js';
import type { HostCondition, HostEnd } from '../../domain/recovery/host-ends.js';
import type { AskedJob, Told } from '../oracle/evidence.js';
import type { VirtualCloud } from './virtual-cloud.js';

/** From jobctl's SIGTERM to its SIGKILL. */
export const GRACE_MS = 30_000;
const SAVING_MS = 2_000;

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
  /** When it got the SIGTERM that all processes get, and whether jobctl or the VM's shutdown sent it. */
  term?: { readonly at: number; readonly byUs: boolean };
  /** When somebody on its host sent SIGTERM to this process alone. */
  signalledAt?: number;
  end?: { readonly at: number; readonly code: number; readonly host: HostCondition; readonly isStopped: boolean };
}

/** The processes of a job's latest attempt, one on each host of its slice, and the reports of all attempts. */
export class Processes {
  readonly told: Told[] = [];
  readonly #cloud: VirtualCloud;
  readonly #job: AskedJob;
  readonly #program: Program;
  #node = '';
  #attempt = 0;
  #processes: readonly Process[] = [];

  constructor(cloud: VirtualCloud, job: AskedJob, program: Program) {
    this.#cloud = cloud;
    this.#job = job;
    this.#program = program;
  }

  begin(node: string, attempt: number): void {
    this.#node = node;
    this.#attempt = attempt;
    this.#processes = Array.from({ length: this.#job.hosts }, (_, host) => ({
      host,
      id: `${node}.${attempt}.${host}`,
      startedAt: this.#cloud.now,
      number: 0,
    }));
    for (const each of this.#processes) this.#tell(each, 'BEGIN', node);
  }

  /** Advances the processes by their program, by their VM's state and by signals. */
  goOn(areEndsRead: boolean): void {
    if (this.#processes.length === 0) return;
    const vm = this.#cloud.vm(this.#node);
    if (vm === undefined) {
      // Records of ends lie on the VM: an end that nobody has read is gone with it.
      if (!areEndsRead) this.#vmIsGone();
      return;
    }
    if (vm !== 'up') this.#signal(false, '');
    for (const each of this.#processes) this.#goOn(each, vm);
  }

  /** Sends jobctl's SIGTERM, with its notice. */
  stop(notice: string): void {
    this.#signal(true, notice);
  }

  /** Sends SIGTERM to one process alone, picked by `choose` (0 to 1). @returns its id, or undefined if none runs */
  signalOne(choose: number): string | undefined {
    const running = this.#processes.filter(({ end, term, signalledAt }) => !end && !term && signalledAt === undefined);
    const one = this.#cloud.vm(this.#node) === 'up' ? running[Math.floor(choose * running.length)] : undefined;
    if (one === undefined) return undefined;
    one.signalledAt = this.#cloud.now;
    this.#tell(one, 'TERM', '');
    return one.id;
  }

  /** Drops the processes: jobctl does not look at them any more. */
  forget(): void {
    this.#processes = [];
  }

  get areOver(): boolean {
    return this.#processes.every(({ end }) => end !== undefined);
  }

  /** Whether all have ended, or one has failed. */
  get haveDecided(): boolean {
    const { ends } = this;
    return ends.length > 0 && (this.areOver || ends.some(({ kind }) => kind === 'failed'));
  }

  get ends(): readonly HostEnd[] {
    return this.#processes.flatMap(({ host, end, startedAt }): readonly HostEnd[] => {
      if (end === undefined) return [];
      const { at: endedAt, code, isStopped, host: condition } = end;
      const exit = { at: { slice: 0, host }, code, startedAt, endedAt, isStopped, host: condition };
      return [{ kind: code === 0 ? 'done' : 'failed', ...exit }];
    });
  }

  /** The command's end after a stop, as jobctl judges it. */
  get stopEnd(): Fact<'command interrupted', 'end'> {
    if (this.#processes.length === 0) return 'lost';
    return this.#processes.every(({ term }) => term === undefined) ? 'own exit' : 'answer to the stop';
  }

  #goOn(each: Process, vm: HostCondition): void {
    if (each.end !== undefined) return;
    const { now } = this.#cloud;
    const { runsMs, code, onTerm } = this.#program;
    const heardAt = each.signalledAt ?? each.term?.at;
    const isSaved = heardAt !== undefined && onTerm === 'saves' && now - heardAt >= SAVING_MS;
    const isEnded = each.term?.byUs === true && now - each.term.at >= GRACE_MS;
    const isKilled = isEnded || (heardAt !== undefined && onTerm === 'dies');
    if (now - each.startedAt >= runsMs) this.#end(each, { code, isEarly: false }, vm);
    else if (isSaved) this.#end(each, { code: 0, isEarly: true }, vm);
    else if (isKilled) this.#end(each, { code: 143, isEarly: true }, vm);
  }

  #end(each: Process, { code, isEarly }: { code: number; isEarly: boolean }, host: HostCondition): void {
    each.end = { at: this.#cloud.now, code, host, isStopped: each.term?.byUs === true };
    this.#tell(each, 'END', `${code} ${isEarly ? 'early' : 'all'}`);
  }

  #vmIsGone(): void {
    for (const each of this.#processes) if (each.end === undefined) this.#tell(each, 'GONE', '');
    this.forget();
  }

  #signal(byUs: boolean, notice: string): void {
    for (const each of this.#processes) {
      if (each.end !== undefined || each.term !== undefined) continue;
      each.term = { at: this.#cloud.now, byUs };
      this.#tell(each, 'TERM', notice);
    }
  }

  #tell(each: Process, kind: Told['kind'], text: string): void {
    each.number += 1;
    const { host, id, number } = each;
    this.told.push({
      at: this.#cloud.now,
      job: this.#job.id,
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
