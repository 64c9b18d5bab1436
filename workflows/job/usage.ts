import { condition, isCancellation } from '@temporalio/workflow';
import type { RepeatedWorkFound } from '../../contract/job-activities.js';
import type { JobSettings } from '../../contract/job.js';
import { costOf, countedUnits, shownUsage, usdPerHourNow } from '../../domain/counted/prices.js';
import {
  doingOf,
  flowsOf,
  type Flow,
  noUsage,
  type ShownUsage,
  type Usage,
  usageAt,
  usageWith,
  withLost,
} from '../../domain/counted/usage.js';
import { JobPhase } from '../../domain/job-state.js';
import { askedMachines } from '../../domain/machines.js';
import type { EpochMs } from '../../domain/units.js';
import type { Attempt } from './attempt.js';
import type { JobFile } from './job-file.js';
import type { LeaseHold } from './lease.js';
import type { Slices } from './slices.js';
import type { JobStory } from './story.js';

interface UsageParts {
  readonly settings: JobSettings;
  readonly file: JobFile;
  readonly story: JobStory;
  readonly slices: Slices;
  readonly attempt: Attempt;
  readonly lease: LeaseHold;
}

export interface UsageCarry {
  readonly usage: Usage;
  /** The attempt whose command `usage.ran` counts. */
  readonly attempt: number;
  readonly lost?: ShownUsage['lost'];
  readonly lostMarks?: number;
  /** The event `over-budget` was told. */
  readonly isOverBudget?: true;
}

/**
 * Phases in which ready slices without an attempt wait for no start: they are kept for people, or an attempt has just ended, and
 * what follows is not decided yet.
 */
const KEPT: ReadonlySet<JobPhase> = new Set([JobPhase.Running, JobPhase.Paused, JobPhase.Holding, JobPhase.Finishing]);

/**
 * The account of a job's chip-time (docs/counted.md). It is brought up to date at each change of the job, by the workflow's own
 * clock, so each chip is in one part at each moment. It costs no call, and follows the job over continue-as-new.
 */
export class JobUsage {
  readonly #parts: UsageParts;
  #usage: Usage;
  #attempt: number;
  #lost: ShownUsage['lost'] | undefined;
  #lostMarks: number | undefined;
  #isOverBudget: boolean;
  /** Another job runs on the slices, and counts them. */
  #isLent = false;
  /** Number of changes of what is charged. */
  #changes = 0;

  constructor(parts: UsageParts, carry?: UsageCarry) {
    this.#parts = parts;
    this.#usage = carry?.usage ?? noUsage(Date.now());
    this.#attempt = carry?.attempt ?? parts.attempt.number;
    this.#lost = carry?.lost;
    this.#lostMarks = carry?.lostMarks;
    this.#isOverBudget = carry?.isOverBudget ?? false;
    parts.lease.onChange = () => this.look();
    parts.story.onChange(() => this.look());
    if (!this.#isOverBudget) void this.#watchBudget();
  }

  /** Brings the account up to date. Repeating is safe. */
  look(): void {
    const { attempt } = this.#parts;
    const flows = this.#flows;
    if (!isSame(flows, this.#usage.flows)) this.#changes += 1;
    this.#usage = usageWith(this.#usage, flows, Date.now());
    if (attempt.number === this.#attempt) return;
    this.#attempt = attempt.number;
    this.#usage = { ...this.#usage, ran: 0 };
  }

  /** @param isLent whether another member of the group has the slices from now on (docs/adr/0163): each chip counts once */
  lend(isLent: boolean): void {
    this.#isLent = isLent;
    this.look();
  }

  get #flows(): readonly Flow[] {
    if (this.#isLent) return [];
    const { attempt, file, lease, slices, story } = this.#parts;
    const { count } = countedUnits(file.spec);
    const perSlice = count / file.spec.slices;
    const asked = lease.bought.pricing ?? askedMachines(file.spec).pricing;
    const pricing = asked === 'any' ? 'spot' : asked;
    const held = slices.held.map(({ ref, isLeaving }) => ({
      chips: perSlice * (ref.slices ?? 1),
      isLeaving,
      place: { zone: ref.zone, pricing },
    }));
    const { kind } = attempt.state;
    const state = kind === 'starting' ? 'running' : kind;
    const doing = doingOf({ attempt: state, number: attempt.number, isKept: KEPT.has(story.phase) });
    return flowsOf({ leased: lease.isHeld ? count : 0, held, doing });
  }

  /** Chip-milliseconds that the command of the attempt has run. */
  get ran(): number {
    return usageAt(this.#usage, Date.now()).ran;
  }

  /** @param found work of earlier attempts that was done again. Undefined: that is not known */
  lost(found: RepeatedWorkFound['lost']): void {
    this.look();
    if (this.#lost === 'counted') return;
    this.#lost = found === undefined ? 'unknown' : 'counted';
    if (found === undefined) return;
    this.#usage = withLost(this.#usage, found.chipMs);
    this.#lostMarks = found.marks;
  }

  get lostMarks(): number | undefined {
    return this.#lostMarks;
  }

  /** The account up to now. */
  get shown(): ShownUsage {
    return this.shownAt(Date.now());
  }

  /** The account up to a time, if nothing changes until then. */
  shownAt(at: EpochMs): ShownUsage {
    const { file, settings, attempt } = this.#parts;
    const lost = this.#lost ?? (attempt.number < 2 ? 'none' : 'unknown');
    return shownUsage(file.spec, usageAt(this.#usage, at), { lost, prices: settings.prices });
  }

  /** Slices whose chips were there and are not seen gone: their draining is not in the account yet. */
  get leaving(): readonly { readonly slice: string; readonly chips: number }[] {
    const { file, slices } = this.#parts;
    const perSlice = countedUnits(file.spec).count / file.spec.slices;
    return slices.held
      .filter(({ isLent }) => !isLent)
      .map(({ ref }) => ({ slice: ref.name, chips: perSlice * (ref.slices ?? 1) }));
  }

  carry(): UsageCarry {
    this.look();
    return {
      usage: this.#usage,
      attempt: this.#attempt,
      ...(this.#lost && { lost: this.#lost }),
      ...(this.#lostMarks !== undefined && { lostMarks: this.#lostMarks }),
      ...(this.#isOverBudget ? { isOverBudget: true } : {}),
    };
  }

  // The budget ---------------------------------------------------------------------------------------------------------

  /** Tells once that the job has cost more than `max_cost`. A timer runs only while something is charged that has a price. */
  async #watchBudget(): Promise<void> {
    try {
      for (this.#tellIfOver(); !this.#isOverBudget; this.#tellIfOver()) {
        const { maxCost } = this.#parts.file.spec;
        const changes = this.#changes;
        const isChanged = (): boolean => this.#changes !== changes || this.#parts.file.spec.maxCost !== maxCost;
        const ms = this.#msUntilOver;
        if (ms === undefined) await condition(isChanged);
        else await condition(isChanged, ms, { summary: 'until it has cost max_cost' });
      }
    } catch (error) {
      // A job that is cancelled needs no warning.
      if (!isCancellation(error)) throw error;
    }
  }

  /** Undefined: there is no `max_cost`, or nothing that has a price is charged. */
  get #msUntilOver(): number | undefined {
    const { maxCost } = this.#parts.file.spec;
    const perHour = this.#usdPerHour;
    if (maxCost === undefined || perHour <= 0) return undefined;
    const ms = Math.ceil(((maxCost - this.#usd) / perHour) * 3_600_000);
    return Math.min(Math.max(LEAST_TIMER_MS, ms), MOST_TIMER_MS);
  }

  get #usdPerHour(): number {
    const { file, settings } = this.#parts;
    return usdPerHourNow(file.spec, this.#usage, settings.prices);
  }

  get #usd(): number {
    const { file, settings } = this.#parts;
    return costOf(file.spec, usageAt(this.#usage, Date.now()).charged, settings.prices).usd ?? 0;
  }

  #tellIfOver(): void {
    const { file, story } = this.#parts;
    const { maxCost } = file.spec;
    if (maxCost === undefined || this.#isOverBudget || this.#usd < maxCost) return;
    this.#isOverBudget = true;
    story.note({ kind: 'over-budget', facts: { maxCost, usdPerHour: this.#usdPerHour } });
  }
}

const LEAST_TIMER_MS = 1_000;
/** Longest timer. The server does not accept timers of any length. */
const MOST_TIMER_MS = 24 * 3_600_000;

const isSame = (a: readonly Flow[], b: readonly Flow[]): boolean => JSON.stringify(a) === JSON.stringify(b);
