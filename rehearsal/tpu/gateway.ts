import type { CallHeaders } from '../access/access-control.js';
import type { JsonObject } from '../json.js';
import { ApiError } from './api-error.js';
import type { TpuCloud } from './cloud.js';
import { refusalError, takeRefusal } from './faults.js';
import type { Answer, Site } from './methods.js';
import { methodOf, subjectOf } from './methods.js';

/** How a call came, and by whom. */
export interface Via {
  readonly wire: 'grpc' | 'rest';
  readonly headers: CallHeaders;
}

/** A call as whoever decides on rights sees it. */
export interface AskedCall {
  readonly method: string;
  /** The resource's or the parent's full name. */
  readonly subject: string;
  readonly request: JsonObject;
  readonly headers: CallHeaders;
}

export interface GatewayParts {
  readonly cloud: TpuCloud;
  readonly site: Site;
  /** Throws ApiError where the caller may not. */
  readonly authorize: (call: AskedCall) => void;
  readonly record: (kind: string, subject: string, details: Readonly<Record<string, unknown>>) => void;
  /** Called after every call that may change something; resolves when what it changed is on disk. */
  readonly changed: () => Promise<void>;
}

/** One call, from any wire. Rejects with ApiError alone. */
export type Gateway = (via: Via, method: string, request: JsonObject) => Promise<Answer>;

/** The one door to the cloud: rights, refusals that were asked for, the call, the journal, the disk; then the answer. */
export function createGateway(parts: GatewayParts): Gateway {
  return async ({ wire, headers }, method, request) => {
    const subject = subjectOf(method, request);
    try {
      parts.authorize({ method, subject, request, headers });
      const answer = call(parts, method, request, subject);
      parts.record('api-call', subject, { method, code: 'OK', wire });
      return answer;
    } catch (error) {
      const refused = error instanceof ApiError ? error : new ApiError('INTERNAL', String(error));
      parts.record('api-call', subject, { method, code: refused.status, wire, message: refused.message });
      throw refused;
    } finally {
      // A read changes nothing, except that it may use up a refusal: that is worth no write of its own.
      if (!/^(Get|List)/.test(method)) await parts.changed();
    }
  };
}

function call(parts: GatewayParts, method: string, request: JsonObject, subject: string): Answer {
  const run = methodOf(method);
  const refusal = takeRefusal(parts.cloud.state, method, subject, parts.cloud.now());
  if (refusal !== undefined && !refusal.afterEffect) throw refusalError(refusal);
  const answer = run(parts.cloud, request, parts.site);
  if (refusal !== undefined) throw refusalError(refusal);
  return answer;
}
