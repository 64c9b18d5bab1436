import type { Caller } from '../access/access-control.js';
import type { FrontCall } from '../access/google-front.js';
import type { JsonObject } from '../json.js';
import type { ProjectFacts } from '../project/facts.js';
import type { ComputeService } from '../compute/service.js';

/** One call, its path taken apart. */
export interface NeighbourCall {
  readonly facts: ProjectFacts;
  /** The path's named groups, decoded. `project` is one of them. */
  readonly path: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  readonly body: JsonObject;
  readonly caller: Caller;
  readonly compute: ComputeService;
}

/** One call that a neighbour of Cloud TPU serves. */
export interface NeighbourRoute {
  readonly verb: 'GET' | 'POST' | 'DELETE';
  /** Whole path; its groups are named. */
  readonly path: RegExp;
  readonly service: string;
  /** The RPC's name without its package, for refusals. */
  readonly method: string;
  readonly permission?: string;
  /** What the permission is wanted on. */
  readonly resource: (path: Readonly<Record<string, string>>) => string;
  readonly deniedText?: FrontCall['deniedText'];
  readonly hidesUnknownProjects?: FrontCall['hidesUnknownProjects'];
  /** Throws ApiError. */
  readonly answer: (call: NeighbourCall) => JsonObject | Promise<JsonObject>;
}
