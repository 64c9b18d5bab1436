import type { ProjectUse, UserUse } from './project-use.js';
import type { QuotaRequest } from '../quota-config.js';
import type { Shape } from './shapes.js';
import type { Kind, Waiting } from './waiting.js';

/** More than any priority. */
const PRIORITIES = 1024;
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
    const waiting: Waiting = { request, user, kind, served: undefined };
    kind.waiting.push(waiting);
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
  const isInQuota = (tier: number): boolean =>
    !shape.coolingUntil.has(tier) && project.lot(tier).holds(shape, priority);
  const inQuota = shape.tiers.every(isInQuota) ? shape.tiers : shape.tiers.filter(isInQuota);
  return {
    project,
    priority,
    shape,
    waiting: [],
    inQuota: inQuota.length === 0 ? NOWHERE : inQuota,
    blocked: undefined,
  };
}
