import type { ProjectUse, UserUse } from './project-use.js';
import type { QuotaRequest } from '../quota-config.js';
import type { Shape } from './shapes.js';
import type { Kind, Waiting } from './waiting.js';

/** More than any priority. */
export const PRIORITIES = 1024;
const NOWHERE: readonly number[] = [];

interface KindsOfProject {
  readonly project: ProjectUse;
  /** By shape and priority as one number. */
  readonly kinds: Map<number, Kind>;
}

/** Requests by kind. */
export class KindTable {
  readonly all: Kind[] = [];
  readonly #projects: ReadonlyMap<string, ProjectUse>;
  /** By name of the project as written. */
  readonly #ofProject = new Map<string, KindsOfProject>();

  constructor(projects: ReadonlyMap<string, ProjectUse>) {
    this.#projects = projects;
  }

  add(request: QuotaRequest, shape: Shape, user: UserUse): Waiting {
    const { project, kinds } = this.#kindsOf(request.project);
    const key = shape.index * PRIORITIES + request.priority;
    let kind = kinds.get(key);
    if (kind === undefined) {
      kind = newKind(project, request.priority, shape);
      kinds.set(key, kind);
      this.all.push(kind);
    }
    const waiting: Waiting = { request, user, kind, before: kind.last, served: undefined };
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

function newKind(project: ProjectUse, priority: number, shape: Shape): Kind {
  return {
    project,
    priority,
    shape,
    last: undefined,
    inQuota: tiersInQuota(project, priority, shape),
    blocked: undefined,
  };
}

/** The shape's own list where it is all of them: thousands of kinds have one or the other. */
function tiersInQuota(project: ProjectUse, priority: number, shape: Shape): readonly number[] {
  let count = 0;
  for (const tier of shape.tiers) if (isInQuota(project, priority, shape, tier)) count += 1;
  if (count === 0) return NOWHERE;
  if (count === shape.tiers.length) return shape.tiers;
  return shape.tiers.filter((tier) => isInQuota(project, priority, shape, tier));
}

function isInQuota(project: ProjectUse, priority: number, shape: Shape, tier: number): boolean {
  return !shape.coolingUntil.has(tier) && project.lot(tier).holds(shape, priority);
}
