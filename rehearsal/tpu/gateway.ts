import type { CallHeaders } from '../access/access-control.js';
import type { JsonObject } from '../json.js';
import { asObject, asString } from '../json.js';
import { ApiError, apiErrors, statusOf } from './api-error.js';
import type { ApiVersion } from './api-version.js';
import { toCanonical } from './api-version.js';
import type { TpuCloud } from './cloud.js';
import { refusalError, takeRefusal } from './faults.js';
import type { Answer } from './methods.js';
import { methodOf, subjectOf } from './methods.js';
import { isDone } from './operations.js';
import { checkProvisioning } from './provisioning-model.js';
import type { Site } from './site.js';
import { checkLocation } from './site.js';

/** The wire, the version and the caller of a call. */
export interface Via {
  readonly wire: 'grpc' | 'rest';
  readonly version: ApiVersion;
  readonly headers: CallHeaders;
  /** The name that the caller dialled, if it is not this server's address: it tells callers apart. */
  readonly host?: string;
}

/** A call as the check of rights sees it. */
export interface AskedCall {
  readonly method: string;
  readonly version: ApiVersion;
  /** Full name of the resource or the parent. */
  readonly subject: string;
  readonly request: JsonObject;
  readonly headers: CallHeaders;
}

export interface GatewayParts {
  readonly cloud: TpuCloud;
  readonly site: Site;
  /** @throws ApiError if the caller may not make the call */
  readonly authorize: (call: AskedCall) => void;
  readonly record: (kind: string, subject: string, details: Readonly<Record<string, unknown>>) => void;
  /** Call after every call that may change something; resolves when the change is on disk. */
  readonly changed: () => Promise<void>;
}

/** One call, from any wire. Rejects with ApiError only. */
export type Gateway = (via: Via, method: string, request: JsonObject) => Promise<Answer>;

/** The only entrance to the cloud. In order: rights, the admin's refusals, the call, the journal, the disk; then the answer. */
export function createGateway(parts: GatewayParts): Gateway {
  return async ({ wire, version, headers, host }, method, asSent) => {
    const request = toCanonical(asSent, version);
    const subject = subjectOf(method, request);
    // v2 is left out, so that its journals read as they always did.
    const how = { wire, ...(version !== 'v2' && { version }), ...(host !== undefined && { host }) };
    try {
      parts.authorize({ method, version, subject, request, headers });
      checkProvisioning(asObject(request['queuedResource']), version);
      const answer = noteVersion(parts, version, method, call(parts, method, request, subject));
      parts.record('api-call', subject, { method, code: 'OK', ...how });
      return method === 'WaitOperation' ? await waited(parts, request) : answer;
    } catch (error) {
      const refused = asApiError(error);
      parts.record('api-call', subject, { method, code: refused.status, ...how, message: refused.message });
      throw refused;
    } finally {
      // A read changes nothing, except that it may use up a refusal: that is not worth a write.
      if (!isRead(method)) await parts.changed();
    }
  };
}

function call(parts: GatewayParts, method: string, request: JsonObject, subject: string): Answer {
  const run = methodOf(method);
  const refusal = takeRefusal(parts.cloud.state, method, subject, parts.cloud.now());
  const isLater = refusal?.as !== undefined;
  if (refusal !== undefined && !refusal.afterEffect && !isLater) throw refusalError(refusal);
  checkLocation(subject, parts.site);
  if (refusal?.as === 'operation')
    return { kind: 'operation', operation: parts.cloud.failCreate(subject, statusOf(refusalError(refusal))) };
  const answer = run(parts.cloud, request, parts.site);
  // The operation may have failed already, such as for chips that are not sold there: no request is left to fail.
  if (refusal?.as === 'request' && parts.cloud.state.queuedResources[subject] === undefined) return answer;
  if (refusal?.as === 'request') {
    parts.cloud.giveUpOn(subject, statusOf(refusalError(refusal)));
    return answer;
  }
  if (refusal !== undefined) throw refusalError(refusal);
  return answer;
}

function isRead(method: string): boolean {
  return /^(Get|List|Wait)/.test(method);
}

/** Callers see a fault of ours as INTERNAL, with Google's text followed by the error's own. */
function asApiError(error: unknown): ApiError {
  return error instanceof ApiError
    ? error
    : new ApiError('INTERNAL', `an internal error has occurred: ${String(error)}`);
}

/** An operation is always answered in the version of the call that began it; v2 needs no note. */
function noteVersion({ cloud }: GatewayParts, version: ApiVersion, method: string, answer: Answer): Answer {
  if (answer.kind !== 'operation' || version === 'v2' || isRead(method)) return answer;
  return { kind: 'operation', operation: cloud.records.operations.noteVersion(answer.operation.name, version) };
}

/** Longest wait of WaitOperation, and its default, in wall ms; and the interval of checks. */
const LONGEST_WAIT_MS = 60_000;
const LOOK_MS = 25;

/** The operation at its end, or as it is at the timeout: WaitOperation does not fail for that. */
async function waited({ cloud }: GatewayParts, request: JsonObject): Promise<Answer> {
  const name = asString(request['name']);
  const asked = Number.parseFloat(asString(request['timeout'])) * 1000;
  const until = Date.now() + Math.min(Number.isNaN(asked) ? LONGEST_WAIT_MS : asked, LONGEST_WAIT_MS);
  for (;;) {
    const operation = cloud.state.operations[name];
    if (operation === undefined) throw apiErrors.notFound(name);
    if (isDone(operation) || Date.now() >= until) return { kind: 'operation', operation };
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
}
