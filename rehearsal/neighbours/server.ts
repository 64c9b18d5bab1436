import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { AccessControl } from '../access/access-control.js';
import { callHeaders } from '../access/access-control.js';
import { isOwnLogin } from '../access/own-login.js';
import { passFront } from '../access/google-front.js';
import type { JsonObject } from '../json.js';
import { isObject } from '../json.js';
import type { ProjectFacts } from '../project/facts.js';
import { ApiError } from '../tpu/api-error.js';
import { COMPUTE } from './compute.js';
import type { ComputeService } from '../compute/service.js';
import { COMPUTE_INSTANCES } from './compute-instances.js';
import { ORG_POLICY } from './org-policy.js';
import { RESOURCE_MANAGER } from './resource-manager.js';
import type { NeighbourRoute } from './route.js';
import { SERVICE_USAGE } from './service-usage.js';

export interface NeighbourParts {
  readonly access: AccessControl;
  readonly facts: () => ProjectFacts;
  readonly compute: ComputeService;
  readonly record: (kind: string, subject: string, details: Readonly<Record<string, unknown>>) => void;
}

const ROUTES: readonly NeighbourRoute[] = [
  ...RESOURCE_MANAGER,
  ...SERVICE_USAGE,
  ...COMPUTE,
  ...COMPUTE_INSTANCES,
  ...ORG_POLICY,
];

/**
 * Adds the APIs that tell about the project. Each has its own path, so one base URL serves all of them. A path without a route is
 * answered 501, in Google's form.
 */
export function addNeighbours(app: FastifyInstance, parts: NeighbourParts): void {
  app.all('/*', (request) => {
    const path = new URL(request.url, 'http://rehearsal').pathname;
    const found = findRoute(request.method, path);
    if (found === undefined) {
      throw new ApiError('UNIMPLEMENTED', `${request.method} ${path} is not served by the rehearsal cloud`);
    }
    return serve(parts, found, request);
  });
}

interface FoundRoute {
  readonly route: NeighbourRoute;
  readonly path: Readonly<Record<string, string>>;
}

function findRoute(verb: string, path: string): FoundRoute | undefined {
  for (const route of ROUTES) {
    const groups = route.verb === verb ? route.path.exec(path)?.groups : undefined;
    if (groups === undefined) continue;
    const decoded = Object.entries(groups).map(([name, value]) => [name, decodeURIComponent(value)] as const);
    return { route, path: Object.fromEntries(decoded) };
  }
  return undefined;
}

async function serve(parts: NeighbourParts, { route, path }: FoundRoute, request: FastifyRequest): Promise<JsonObject> {
  const { service, method, permission, hidesUnknownProjects } = route;
  const resource = route.resource(path);
  const facts = parts.facts();
  const { host } = request.headers;
  // The same rule as for Cloud TPU: the plain address says nothing about the caller.
  const called = host === undefined || host.startsWith('127.0.0.1:') ? {} : { host };
  const details = { method: `${service}/${method}`, wire: 'rest', ...called };
  try {
    const caller = passFront(parts.access, facts, {
      headers: callHeaders(request.headers, () => isOwnLogin(request.raw.socket)),
      service,
      method,
      project: path['project'] ?? '',
      ...(permission !== undefined && { permission }),
      resource,
      hidesUnknownProjects,
      ...(route.deniedText && { deniedText: route.deniedText }),
    });
    const query = new URL(request.url, 'http://rehearsal').searchParams;
    const body = isObject(request.body) ? request.body : {};
    const answer = await route.answer({ facts, path, query, body, caller, compute: parts.compute });
    parts.record('api-call', resource, { ...details, code: 'OK' });
    return answer;
  } catch (error) {
    const refused = error instanceof ApiError ? error : new ApiError('INTERNAL', String(error));
    parts.record('api-call', resource, { ...details, code: refused.status, message: refused.message });
    throw refused;
  }
}
