import type { JsonObject } from '../json.js';
import { ApiError } from './api-error.js';
import type { TpuCloud } from './cloud.js';
import { refusalError, takeRefusal } from './faults.js';
import type { Answer, HostKeys } from './methods.js';
import { methodOf, subjectOf } from './methods.js';

export interface GatewayParts {
  readonly cloud: TpuCloud;
  readonly hostKeys: HostKeys;
  readonly record: (kind: string, subject: string, details: Readonly<Record<string, unknown>>) => void;
  /** Called after every call that may change something; resolves when what it changed is on disk. */
  readonly changed: () => Promise<void>;
}

/** One call, from any wire. Rejects with ApiError alone. */
export type Gateway = (wire: 'grpc' | 'rest', method: string, request: JsonObject) => Promise<Answer>;

/** The one door to the cloud: refusals that were asked for, the call, the journal, the disk; then the answer. */
export function createGateway(parts: GatewayParts): Gateway {
  return async (wire, method, request) => {
    const subject = subjectOf(method, request);
    try {
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
  const refusal = takeRefusal(parts.cloud.state, method, subject);
  if (refusal !== undefined && !refusal.afterEffect) throw refusalError(refusal);
  const answer = run(parts.cloud, request, parts.hostKeys);
  if (refusal !== undefined) throw refusalError(refusal);
  return answer;
}
