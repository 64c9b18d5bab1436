import type { ProjectUsage, UserUsage } from './usage.js';
import type { QuotaRequest } from '../quota-config.js';
import type { Shape } from './shapes.js';
import type { Outcome } from './verdict.js';

/**
 * Requests that differ only in user, time and id. If a pass can do nothing for one of them, it can do nothing for the
 * requests of the same kind that come after it.
 */
export interface Kind {
  readonly project: ProjectUsage;
  readonly priority: number;
  readonly shape: Shape;
  /** The request read last; `before` links to the others. Most kinds have one or two, so there is no array. */
  last: WaitingRequest | undefined;
  /**
   * Allowed tiers in which the kind is in quota, best first, without tiers on cool-down. They are those at the beginning of the
   * pass and those that `growInQuota` has added.
   */
  inQuota: readonly number[];
  /** Outcome of the first request that could not be served in the current step. */
  blocked: Outcome | undefined;
}

/** A request during a pass. */
export interface WaitingRequest {
  readonly request: QuotaRequest;
  readonly user: UserUsage;
  readonly kind: Kind;
  /** The request of the same kind that was read before it. */
  readonly before: WaitingRequest | undefined;
  /** Set once the request was granted or chips were claimed for it. Until then the outcome of its kind holds. */
  served: Outcome | undefined;
}

/** Whether the request still waits: it was not granted in this pass. */
export const isWaiting = ({ served }: WaitingRequest): boolean => served?.kind !== 'granted';

/** The requests of a kind, last read first. */
export function requestsOf(kind: Kind): readonly WaitingRequest[] {
  const all: WaitingRequest[] = [];
  for (let each = kind.last; each !== undefined; each = each.before) all.push(each);
  return all;
}

/** Whether any request of the kind still waits. */
export function isAnyWaiting(kind: Kind): boolean {
  for (let each = kind.last; each !== undefined; each = each.before) if (isWaiting(each)) return true;
  return false;
}

/** Whether a request of this kind would be in quota in this tier if it started now. */
export const isInQuota = ({ project, shape, priority }: Kind, tier: number): boolean =>
  project.isInQuota(shape, priority, tier);

/** A number above any priority. */
export const PRIORITIES = 1024;
const NOWHERE: readonly number[] = [];

interface KindsOfProject {
  readonly project: ProjectUsage;
  /** Kinds by shape and priority, as one number. */
  readonly kinds: Map<number, Kind>;
}

/** Requests by kind. */
export class KindTable {
  readonly all: Kind[] = [];
  readonly #projects: ReadonlyMap<string, ProjectUsage>;
  /** Kinds by name of the project as written. */
  readonly #ofProject = new Map<string, KindsOfProject>();

  constructor(projects: ReadonlyMap<string, ProjectUsage>) {
    this.#projects = projects;
  }

  add(request: QuotaRequest, shape: Shape, user: UserUsage): WaitingRequest {
    const { project, kinds } = this.#kindsOf(request.project);
    const key = shape.index * PRIORITIES + request.priority;
    let kind = kinds.get(key);
    if (kind === undefined) {
      kind = newKind(project, request.priority, shape);
      kinds.set(key, kind);
      this.all.push(kind);
    }
    const waiting: WaitingRequest = { request, user, kind, before: kind.last, served: undefined };
    kind.last = waiting;
    return waiting;
  }

  #kindsOf(name: string): KindsOfProject {
    const known = this.#ofProject.get(name);
    if (known !== undefined) return known;
    const project = this.#projects.get(name.toLowerCase());
    if (project === undefined) throw new RangeError(`project '${name}': not read before its requests`);
    const made = { project, kinds: new Map<number, Kind>() };
    this.#ofProject.set(name, made);
    return made;
  }
}

function newKind(project: ProjectUsage, priority: number, shape: Shape): Kind {
  const kind = { project, priority, shape, last: undefined, inQuota: NOWHERE, blocked: undefined };
  return { ...kind, inQuota: tiersInQuota(kind) };
}

/**
 * Extends the tiers in which the kind is in quota. A grant to a better priority may push a lease of the same project out of its
 * nominal quota, which then has room for a smaller request.
 * @returns whether the kind came within nominal quota in a tier
 */
export function growInQuota(kind: Kind): boolean {
  const { shape, inQuota } = kind;
  const grown = shape.tiers.filter((tier) => inQuota.includes(tier) || isInQuotaAtFirst(kind, tier));
  if (grown.length === inQuota.length) return false;
  kind.inQuota = grown;
  return true;
}

/**
 * Tiers in which the kind is in quota. Returns the shape's own list if it is in quota in all: thousands of kinds are in all or
 * none.
 */
function tiersInQuota(kind: Kind): readonly number[] {
  const { tiers } = kind.shape;
  let count = 0;
  for (const tier of tiers) if (isInQuotaAtFirst(kind, tier)) count += 1;
  if (count === 0) return NOWHERE;
  return count === tiers.length ? tiers : tiers.filter((tier) => isInQuotaAtFirst(kind, tier));
}

const isInQuotaAtFirst = (kind: Kind, tier: number): boolean =>
  !kind.shape.coolingUntil.has(tier) && isInQuota(kind, tier);
