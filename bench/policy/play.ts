import type { EpochMs } from '../../domain/units.js';
import { unitsOf } from '../../domain/units.js';
import { Random, seededState } from '../../rehearsal/random.js';
import {
  type Ask,
  type Instant,
  type SimulatedJob,
  Simulation,
  type Story,
  type World,
} from '../../test/quota/simulation.js';
import { DAY, exponential, type Month, POOL_UNITS, SET_UP_MS, TYPE } from './month.js';
import type { Contender } from './policies.js';

const MINUTE = 60_000;
/** Time from the delete call until the slice is gone (DRAIN_MS), and from the grant until it is READY (PROVISION_MS). */
const DRAIN_MS = MINUTE;
const PROVISION_MS = 2 * MINUTE;
/** One job in four runs on spot chips, which the provider takes back once a day on average. */
const SPOT_EVERY = 4;
const SPOT_LIFE_MS = DAY;

export interface Manners {
  readonly checkpointEveryMs: number;
  /** Whether jobs write a checkpoint when they get notice. If not, notice saves no work. */
  readonly saveOnNotice: boolean;
}

export type Taker = 'quota' | 'provider';

/** Results of a month under one policy. */
export interface Played {
  readonly contender: Contender;
  readonly stories: readonly Story[];
  /** Unit-ms that jobs held within the month. Time after its end does not count. */
  readonly heldInMonth: number;
  /** Unit-ms of work that has to be repeated, by who took the chips: set-up, and work since the last checkpoint. */
  readonly lost: Readonly<Record<Taker, number>>;
  readonly decisions: number;
  readonly wallMs: number;
}

/** Plays the month, and goes on until every job has ended. @throws Error if the sums do not agree */
export function play(month: Month, contender: Contender, manners: Manners): Played {
  const began = performance.now();
  const lost = { quota: 0, provider: 0 };
  const world = worldOf(month, contender, manners, lost);
  const simulation = new Simulation(contender.policy, month.config, world, contender.tickMs);
  const meter = new UseMeter(month.days * DAY);
  simulation.observe((instant) => meter.look(instant));
  const stories = month.jobs.map((job) => simulation.submit(job));
  simulation.run();
  check(stories, meter);
  const { heldInMonth } = meter;
  return { contender, stories, heldInMonth, lost, decisions: simulation.decisions, wallMs: performance.now() - began };
}

function worldOf(
  { seed }: Month,
  { graceMs }: Contender,
  { checkpointEveryMs, saveOnNotice }: Manners,
  lost: Record<Taker, number>,
): World {
  const lives = new Map<string, Random>();
  return {
    graceMs,
    drainMs: DRAIN_MS,
    chipsAfterMs: () => PROVISION_MS,
    // A job's n-th life is the same under every policy.
    lossAfterMs: ({ job }: Ask) => {
      const index = indexOf(job);
      if (index % SPOT_EVERY !== 0) return undefined;
      const random = lives.get(job.id) ?? new Random(seededState(seed + index));
      lives.set(job.id, random);
      return Math.ceil(exponential(random) * SPOT_LIFE_MS);
    },
    // Set-up is work that each start has to do again.
    workKeptMs: ({ units }: SimulatedJob, workedMs: number, cause) => {
      const useful = Math.max(0, workedMs - SET_UP_MS);
      const isSaved = cause === 'quota' && graceMs > 0 && saveOnNotice;
      const kept = isSaved ? useful : Math.floor(useful / checkpointEveryMs) * checkpointEveryMs;
      lost[cause === 'provider' ? 'provider' : 'quota'] += unitsOf(units, TYPE) * (workedMs - kept);
      return kept;
    },
  };
}

/** A number that depends on the id alone (FNV-1a). */
function indexOf({ id }: SimulatedJob): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < id.length; at += 1) hash = Math.imul(hash ^ id.charCodeAt(at), 0x01000193) >>> 0;
  return hash;
}

/** Adds up the units that are held, from one decision to the next. */
class UseMeter {
  readonly #endMs: EpochMs;
  #at = 0;
  #held = 0;
  heldInMonth = 0;
  heldInAll = 0;
  mostLeased = 0;

  constructor(endMs: EpochMs) {
    this.#endMs = endMs;
  }

  look({ at, pool: { leases }, decision: { grants } }: Instant): void {
    this.heldInAll += this.#held * (at - this.#at);
    this.heldInMonth += this.#held * (Math.min(at, this.#endMs) - Math.min(this.#at, this.#endMs));
    this.#at = at;
    this.#held = 0;
    let leased = 0;
    for (const { state, units } of leases) {
      leased += unitsOf(units, TYPE);
      if (state === 'held') this.#held += unitsOf(units, TYPE);
    }
    if (grants.length === 0) this.mostLeased = Math.max(this.mostLeased, leased);
  }
}

/** Checks that every job ended, no chip was in use twice, and each policy did the same work: else the figures mean nothing. */
function check(stories: readonly Story[], { mostLeased, heldInAll }: UseMeter): void {
  const open = stories.filter(({ outcome }) => outcome !== 'done');
  if (open.length > 0) throw new Error(`${open.length} jobs never ended, ${open[0]?.job.id} among them`);
  if (mostLeased > POOL_UNITS) throw new Error(`${mostLeased} units were leased of ${POOL_UNITS}`);
  const held = sum(stories, ({ job, heldMs }) => unitsOf(job.units, TYPE) * heldMs);
  const needed = sum(stories, ({ job, lostMs }) => unitsOf(job.units, TYPE) * ((job.workMs ?? 0) + lostMs));
  if (held !== needed) throw new Error(`${held} unit-ms were held, ${needed} worked and lost`);
  if (Math.abs(held - heldInAll) > held / 100)
    throw new Error(`${heldInAll} unit-ms were seen held, ${held} were held`);
}

export function sum<Item>(items: readonly Item[], value: (item: Item) => number): number {
  return items.reduce((total, item) => total + value(item), 0);
}
