import type { Demand } from '../../domain/lease.js';
import type { EpochMs, QuotaUnits } from '../../domain/units.js';
import { coolsDownUntil } from './cool-downs.js';
import type { CoolDown, LimitedQuota } from '../quota-config.js';

/** A demand without its user, with numbers for types. A decision looks at each distinct demand once. */
export interface Shape {
  /** Number in its table, from 0. */
  readonly index: number;
  /** Numbers of the types in `ShapeTable.types`, and units of each: whole, more than 0. */
  readonly types: readonly number[];
  readonly amounts: readonly number[];
  readonly pricing: Demand['pricing'];
  readonly zones: Demand['zones'];
  /** Tiers that the demand may use and that could hold it if they were empty, best first. */
  readonly tiers: readonly number[];
  /** Those of `tiers` in which all zones of the demand cool down, with the end of the cool-down. */
  readonly coolingUntil: ReadonlyMap<number, EpochMs>;
}

type Asked = Pick<Demand, 'units' | 'pricing' | 'zones'>;

/** Distinct demands of one decision, and the types that they name. */
export class ShapeTable {
  /** Names of TPU types by number. Complete once all requests and leases were read. */
  readonly types: string[] = [];
  readonly #typeNumbers = new Map<string, number>();
  readonly #byUnits = new Map<string, Shape[]>();
  readonly #byOneType = new Map<string, Map<number, Shape[]>>();
  readonly #config: LimitedQuota;
  readonly #coolDowns: readonly CoolDown[];
  #count = 0;

  /** @param coolDowns cool-downs that are not over */
  constructor(config: LimitedQuota, coolDowns: readonly CoolDown[]) {
    this.#config = config;
    this.#coolDowns = coolDowns;
    for (const tier of config.tiers) for (const type of Object.keys(tier)) this.typeNumber(type);
  }

  typeNumber(type: string): number {
    const known = this.#typeNumbers.get(type);
    if (known !== undefined) return known;
    this.#typeNumbers.set(type, this.types.length);
    return this.types.push(type) - 1;
  }

  of(asked: Asked): Shape {
    const alike = this.#alike(asked);
    for (const shape of alike) {
      if (shape.pricing === asked.pricing && isSameList(shape.zones, asked.zones)) return shape;
    }
    const shape = this.#shape(asked);
    alike.push(shape);
    return shape;
  }

  /** Shapes with the same units. Most demands name one type. No key is built for them, since a pass reads thousands. */
  #alike({ units }: Asked): Shape[] {
    const type = onlyType(units);
    if (type === undefined) return entryOf(this.#byUnits, keyOf(units), () => []);
    let byAmount = this.#byOneType.get(type);
    if (byAmount === undefined) this.#byOneType.set(type, (byAmount = new Map<number, Shape[]>()));
    const amount = units[type] ?? 0;
    let alike = byAmount.get(amount);
    if (alike === undefined) byAmount.set(amount, (alike = []));
    return alike;
  }

  #shape(asked: Asked): Shape {
    const named = Object.entries(asked.units);
    const positive = named.filter(([, amount]) => amount > 0);
    const tiers = named.every(([, amount]) => isWhole(amount)) ? tiersFor(this.#config, asked) : [];
    const coolingUntil = new Map<number, EpochMs>();
    for (const tier of tiers) {
      const until = coolsDownUntil(this.#coolDowns, asked, tier);
      if (until !== undefined) coolingUntil.set(tier, until);
    }
    this.#count += 1;
    return {
      index: this.#count - 1,
      types: positive.map(([type]) => this.typeNumber(type)),
      amounts: positive.map(([, amount]) => amount),
      pricing: asked.pricing,
      zones: asked.zones,
      tiers,
      coolingUntil,
    };
  }
}

/** Tiers that the demand may use and that could hold it if they were empty, best first. */
export function tiersFor(config: LimitedQuota, asked: Pick<Demand, 'units' | 'pricing'>): number[] {
  const holds = (total: QuotaUnits): boolean =>
    Object.entries(asked.units).every(([type, amount]) => amount <= (total[type] ?? 0));
  return [...config.tiers.keys()].filter((tier) => mayLieIn(config, asked, tier) && holds(config.tiers[tier] ?? {}));
}

/** Whether the tier's pricing suits the job: it is the job's pricing, or the job names none, or the tier has no rule. */
export function mayLieIn(config: LimitedQuota, asked: Pick<Demand, 'pricing'>, tier: number): boolean {
  const pricing = config.rules?.tiers[tier]?.pricing;
  return pricing === undefined || asked.pricing === undefined || pricing === asked.pricing;
}

/** The demand's type, if it names only one. */
function onlyType(units: QuotaUnits): string | undefined {
  let only: string | undefined;
  for (const type in units) {
    if (only !== undefined) return undefined;
    only = type;
  }
  return only;
}

const keyOf = (units: QuotaUnits): string =>
  Object.entries(units)
    .map(([type, amount]) => `${type}=${amount}`)
    .toSorted()
    .join();

/** Whether an amount is a whole number, 0 or more. Any other demand, which a submit refuses, must not add to free units. */
const isWhole = (amount: number): boolean => Number.isSafeInteger(amount) && amount >= 0;

function isSameList(a: readonly string[] | undefined, b: readonly string[] | undefined): boolean {
  if (a === b) return true;
  return a !== undefined && b !== undefined && a.length === b.length && a.every((item, index) => item === b[index]);
}

/** The entry of `key`, made if it is not there. */
function entryOf<Key, Value>(map: Map<Key, Value>, key: Key, make: () => Value): Value {
  const known = map.get(key);
  if (known !== undefined) return known;
  const made = make();
  map.set(key, made);
  return made;
}
