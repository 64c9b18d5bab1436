import type { Caller } from '../access/access-control.js';
import type { FrontCall } from '../access/google-front.js';
import type { JsonObject } from '../json.js';
import type { ProjectFacts } from '../project/facts.js';
import type { ComputeService } from '../compute/service.js';

/** One call, with its path parsed. */
export interface NeighbourCall {
  readonly facts: ProjectFacts;
  /** Named groups of the path, decoded. `project` is one of them. */
  readonly path: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  readonly body: JsonObject;
  readonly caller: Caller;
  readonly compute: ComputeService;
}

/** One call that a neighbour of Cloud TPU serves. */
export interface NeighbourRoute {
  readonly verb: 'GET' | 'POST' | 'DELETE';
  /** Matches the whole path, with named groups. */
  readonly path: RegExp;
  readonly service: string;
  /** The RPC's name without its package, for refusals. */
  readonly method: string;
  readonly permission?: string;
  /** Resource that the permission is needed on. */
  readonly resource: (path: Readonly<Record<string, string>>) => string;
  readonly deniedText?: FrontCall['deniedText'];
  readonly hidesUnknownProjects?: FrontCall['hidesUnknownProjects'];
  /** @throws ApiError */
  readonly answer: (call: NeighbourCall) => JsonObject | Promise<JsonObject>;
}
