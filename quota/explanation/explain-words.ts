import { chipsOfUnits } from '../../domain/accelerators.js';
import { count, type EpochMs, type QuotaUnits } from '../../domain/units.js';
import { jobOfLeaseKey } from '../../domain/lease.js';
import { NO_PROJECT, type QuotaConfig } from '../quota-config.js';
import type { Rebuilding, PoolSnapshot, StuckSlice } from '../published-state.js';
import type { DueTime, Explanation, Holder, Reason, ReasonCode } from './explanation.js';

/** Names and times as sentences write them. */
export interface Wording {
  /** Names a job by the id of its request or lease. */
  nameOf(id: string): string;
  timeOf(at: EpochMs): string;
  /** Whether the pool has several tiers, so that each has to be named. */
  readonly hasTiers: boolean;
  /** Whether the pool is drained: it grants nothing and asks jobs to return their leases. */
  readonly isDraining?: boolean;
}

/** Wording for programs: ids as they are, times in ISO 8601. */
export function plainWording(config: QuotaConfig): Wording {
  return {
    nameOf: (id) => id,
    timeOf: (at) => new Date(at).toISOString(),
    hasTiers: config.kind === 'limited' && config.tiers.length > 1,
  };
}

/** `16 chips`; `8 units (4 chips)` if a unit is not a chip; `8 units` if the type is not a Cloud TPU type. */
export function amountOf(type: string, units: number): string {
  const chips = chipsOfUnits(type, units);
  const inChips = chips === undefined ? '' : count(chips, 'chip');
  if (chips === units) return inChips;
  return `${count(units, 'unit')}${inChips === '' ? '' : ` (${inChips})`}`;
}

/** `16 chips of v5litepod and 8 units (4 chips) of v4`. */
export function demandOf(units: QuotaUnits): string {
  return andList(Object.entries(units).map(([type, amount]) => `${amountOf(type, amount)} of ${type}`)) || 'nothing';
}

/** `a`, `a and b`, `a, b and c`. */
export function andList(parts: readonly string[]): string {
  return parts.length < 2 ? (parts[0] ?? '') : `${parts.slice(0, -1).join(', ')} and ${parts.at(-1)}`;
}

/** 1st, 2nd, 3rd, 4th, .. 11th, .. 21st. */
export function ordinal(place: number): string {
  const isTeen = place % 100 >= 11 && place % 100 <= 13;
  const ending = isTeen ? 'th' : (['th', 'st', 'nd', 'rd'][place % 10] ?? 'th');
  return `${place}${ending}`;
}

/** One sentence of `jobctl why`, without a full stop. */
export function reasonText(reason: Reason, of: Pick<Explanation, 'project' | 'units'>, wording: Wording): string {
  return textOf(reason, new Speech(of, wording));
}

/** Says why a pool that is being rebuilt grants nothing, without a full stop. */
export function rebuildingText(pool: string, rebuilding: Rebuilding, timeOf: Wording['timeOf']): string {
  const { since, until, waitsFor, waitsForCount } = rebuilding;
  const head = `pool ${pool} lost its memory and is being rebuilt since ${timeOf(since)}`;
  if (waitsForCount === 0) return `${head}: it is reading what is open, and grants nothing until then`;
  const more = waitsForCount - waitsFor.length;
  const jobs = andList([...waitsFor, ...(more > 0 ? [`${more} more`] : [])]);
  const they = waitsForCount === 1 ? 'it holds' : 'they hold';
  return `${head}: it waits for ${jobs} to say what ${they}, until ${timeOf(until)} at most, and grants nothing until then`;
}

/** Reasons that keep a job waiting by themselves, the strongest first. If none of them applies, the shortage does. */
const DECISIVE: readonly ReasonCode[] = [
  'frozen',
  'held-back',
  'protected',
  'cool-down',
  'borrowing-limit',
  'collecting',
];

/** Says in one sentence why a job waits: `32 more chips: vision has its 32 nominal in use, the pool has 32 free`. */
export function sentenceText(why: Explanation, wording: Wording): string {
  const { reasons } = why;
  if (reasons.length === 0) return 'it starts now';
  const coming = reasons.find((reason) => reason.code === 'draining' && reason.isForIt);
  const decisive = DECISIVE.map((code) => reasons.find((reason) => reason.code === code)).find((found) => found);
  const short = reasons.find((reason) => reason.code === 'short');
  const one = coming ?? decisive;
  if (one !== undefined || short === undefined) {
    const shown = one ?? reasons.find(({ code }) => code !== 'over-nominal' && code !== 'crowded') ?? reasons[0];
    return shown === undefined ? '' : reasonText(shown, why, wording);
  }
  const over = reasons.find((reason) => reason.code === 'over-nominal');
  const { hasTiers } = wording;
  const pool = `${hasTiers ? `tier ${short.tier + 1}` : 'the pool'} has ${short.free} free${isForOthers(short) ? ' for it' : ''}`;
  const isOneType = Object.keys(why.units).length === 1;
  const more = `${moreOf(short)}${isOneType ? '' : ` of ${short.type}`}`;
  const isCrowded = reasons.some(({ code }) => code === 'crowded');
  const quota = isCrowded ? 'others within their quota leave no tier with room, ' : '';
  return `${more}: ${over === undefined ? quota : `${nominalClause(why.project, over)}, `}${pool}`;
}

/** Whether some of the free units collect or wait for others. */
const isForOthers = ({ free, total, inUse }: ReasonOf<'short'>): boolean => free < Math.max(0, total - inUse);

/** `32 more chips`, `8 more units (4 chips)`. */
const moreOf = ({ type, short }: ReasonOf<'short'>): string => amountOf(type, short).replace(' ', ' more ');

const withoutNominal = (project: string): string =>
  `${project === NO_PROJECT ? 'a job without a project' : project} has no nominal quota`;

function nominalClause(project: string, { nominal, used }: ReasonOf<'over-nominal'>): string {
  if (nominal === 0) return withoutNominal(project);
  if (used === 0) return `${project} has ${nominal} nominal`;
  return used === nominal
    ? `${project} has its ${nominal} nominal in use`
    : `${project} has ${used} of ${nominal} nominal in use`;
}

/** The sentence for a reason. The table has a row for each code, which the compiler cannot follow through a union of codes. */
function textOf<Code extends ReasonCode>(reason: ReasonOf<Code>, say: Speech): string {
  return TEXTS[reason.code](reason, say);
}
type ReasonOf<Code extends ReasonCode> = Extract<Reason, { readonly code: Code }>;

const TEXTS: { readonly [Code in ReasonCode]: (reason: ReasonOf<Code>, say: Speech) => string } = {
  frozen: (_, { isDraining }) =>
    isDraining
      ? 'the pool is drained: nothing new is granted, and every lease is asked back'
      : 'the pool is frozen: nothing new is granted, nothing that runs is touched',
  'never-fits': ({ tier, type, has, asked }, say) =>
    has === 0
      ? `${say.pool(tier)} has no ${type}: it can never start there`
      : `${say.pool(tier)} has ${say.amount(type, has)}, ${asked} asked: it can never start there`,
  pricing: ({ tier, pricing, wanted }, say) => `${say.pool(tier)} is bought as ${pricing}, the job wants ${wanted}`,
  'over-nominal': ({ tier, tiers = [tier], type, nominal, used, asked, by }, say) => {
    const all = `all ${say.amount(type, asked)} would be borrowed`;
    if (nominal === 0) return `${withoutNominal(say.project)} of ${type}${say.inTiers(tiers)}: ${all}`;
    // Without an earlier job, this one alone asks for more than the nominal quota.
    const inUse = used === 0 ? 'less than it asks' : `${used} in use (${say.holders(by)})`;
    return `${say.project}'s quota${say.inTiers(tiers)}: ${nominal} nominal, ${inUse}, so ${all}`;
  },
  crowded: ({ tier, type, total, within }, say) =>
    `${say.pool(tier)}: ${say.project}'s quota covers it, but jobs within theirs have ${within} of ${say.amount(type, total)} and are not preempted`,
  short: (reason, say) => {
    const { tier, type, total, inUse, free, short } = reason;
    const forIt = isForOthers(reason) ? ' for it' : '';
    return `${say.pool(tier)}: ${say.amount(type, total)}, ${inUse} in use, ${free} free${forIt}: ${short} short`;
  },
  reserved: ({ tier, type, units, for: id, since }, say) =>
    `${say.amount(type, units)}${say.inTier(tier)} collect for ${say.name(id)}, which waited long and has a reservation since ${say.time(since)}`,
  claimed: ({ tier, type, units }, say) =>
    `${say.amount(type, units)}${say.inTier(tier)} wait for jobs that are in their own quota`,
  draining: ({ tier, type, units, by, isForIt }, say) =>
    `${say.amount(type, units)}${say.inTier(tier)} are coming free${isForIt ? ' for it' : ''} (${say.holders(by)})`,
  borrowers: ({ tier, by }, say) => {
    const who = by.map(({ project, units }) =>
      project === NO_PROJECT ? `jobs without a project use ${units} borrowed` : `${project} uses ${units} borrowed`,
    );
    return `${andList(who)}${say.inTier(tier)}; a borrower is not preempted for a borrower`;
  },
  protected: ({ by, until }, say) =>
    `${say.names(by)} ${by.length === 1 ? 'borrows' : 'borrow'} its chips and may run until ${say.time(until)} at least (minimum runtime)`,
  'held-back': ({ by, until }, say) =>
    `its chips collect for ${say.names(by)}, which waited long: until ${say.time(until)} at most`,
  collecting: ({ since, until }, say) =>
    `it has a reservation since ${say.time(since)}: chips that come free collect for it until ${say.time(until)}`,
  'borrowing-limit': ({ type, asked, borrowed, limit }, say) =>
    `${say.project} may borrow ${say.amount(type, limit)} and borrows ${borrowed}: ${asked} more are over its limit`,
  'lending-limit': ({ tier, type, kept }, say) =>
    `${say.amount(type, kept)}${say.inTier(tier)} stay free for projects that do not lend them`,
  'cool-down': ({ zones, until }, say) => `${andList(zones)} had no chips lately: asked again from ${say.time(until)}`,
  'after-others': ({ tier }, say) =>
    `others, who do not cool down, wait for the same chips${say.inTier(tier)} and come first`,
};

/** Parts of sentences about one job. */
class Speech {
  readonly project: string;
  readonly isDraining: boolean;
  readonly #isOneType: boolean;
  readonly #wording: Wording;

  constructor({ project, units }: Pick<Explanation, 'project' | 'units'>, wording: Wording) {
    this.project = project;
    this.isDraining = wording.isDraining === true;
    this.#isOneType = Object.keys(units).length === 1;
    this.#wording = wording;
  }

  /** The amount, with its type if the job asks for several. */
  amount(type: string, units: number): string {
    return `${amountOf(type, units)}${this.#isOneType ? '' : ` of ${type}`}`;
  }
  pool(tier: number): string {
    return this.#wording.hasTiers ? `tier ${tier + 1} of the pool` : 'the pool';
  }
  inTier(tier: number): string {
    return this.#wording.hasTiers ? ` in tier ${tier + 1}` : '';
  }
  /** `in tiers 1, 2 and 4`. */
  inTiers(tiers: readonly number[]): string {
    if (tiers.length < 2) return this.inTier(tiers[0] ?? 0);
    return ` in tiers ${andList(tiers.map((tier) => String(tier + 1)))}`;
  }
  name(id: string): string {
    return this.#wording.nameOf(id);
  }
  names(ids: readonly string[]): string {
    return andList(ids.map((id) => this.name(id)));
  }
  holders(by: readonly Holder[]): string {
    return by.map(({ id, units }) => `${this.name(id)} ${units}`).join(', ');
  }
  time(at: EpochMs): string {
    return this.#wording.timeOf(at);
  }
}

/** Says when something happens by rule, in one sentence without a full stop. */
export function dueText({ at, what, of }: DueTime, words: Wording): string {
  const time = words.timeOf(at);
  // A sentence may begin with this name, and an id keeps its letters.
  const who = of === undefined ? 'a borrower' : `job ${words.nameOf(of)}`;
  switch (what) {
    case 'protection-ends':
      return `${who} can be preempted for it from ${time}, and leaves within its grace`;
    case 'held-back-ends':
      return `it is held back until ${time} at most`;
    case 'reservation':
      return `chips that come free are kept for it from ${time}, if not for an older job`;
    case 'cool-down-ends':
      return `its zones are asked again from ${time}`;
    case 'asking-ends':
      return `${who} has no chips yet and gives its place back at ${time}`;
  }
}

/** `slice s of job j is being deleted for 22 min: ANSWER; that does not change by itself` */
export function stuckText({ id, slice, since, answer, isFinal }: StuckSlice, now: EpochMs): string {
  const minutes = Math.max(0, Math.round((now - since) / 60_000));
  const last = isFinal ? '; that answer does not change by itself' : '';
  return `slice ${slice} of job ${jobOfLeaseKey(id)} is being deleted for ${minutes} min, and its chips count until it is gone: ${answer}${last}`;
}

/** The remedy for a person, in one sentence. For own machines the provider's answer names another command. */
export const releaseRemedy = (job: string, pool: string): string =>
  `mend what refuses, or look that nothing of it is left; then an admin of the pool says: jobctl quota release ${job} --pool ${pool} --because '..'`;

/** The stuck slices of one job. */
export const stuckOf = ({ stuck = [] }: Pick<PoolSnapshot, 'stuck'>, job: string): readonly StuckSlice[] =>
  stuck.filter(({ id }) => jobOfLeaseKey(id) === job);
