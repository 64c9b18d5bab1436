import { type GoogleError, googleRefusal, readable } from '../../google-refusal.js';
import type { RefusalScope } from '../../../domain/slice.js';

/** The error of a failed call, or of the operation of an accepted call. */
export interface ComputeFailure extends GoogleError {
  /** The code of an operation's error, such as `QUOTA_EXCEEDED`. */
  readonly errorCode?: string;
}

/**
 * The scope of a refusal of Compute Engine (docs/adr/0042), whether a call was refused or its operation failed. It checks
 * problems of the login or the project first, then Google's codes and texts (docs/compute-engine.md has their sources), then the
 * HTTP status. An unknown refusal is `unknown`, never `request`, because only `request` may be final.
 */
export function refusalScope(failure: ComputeFailure): RefusalScope {
  const refusal = googleRefusal(failure);
  if (refusal !== undefined) return refusal.kind === 'unknown-zone' ? 'zone-lasting' : 'installation';
  const said = readable(`${failure.errorCode ?? ''} ${failure.message}`);
  return TEXTS.find(({ text }) => text.test(said))?.scope ?? scopeOfStatus(failure);
}

/** The API's own limit of calls: the call had no effect and may be repeated. */
export const isRateLimit = ({ errorCode = '', message }: ComputeFailure): boolean =>
  RATE_LIMIT.test(`${errorCode} ${message}`);

const RATE_LIMIT =
  /rate ?limit ?exceeded|RATE_LIMIT_EXCEEDED|RESOURCE_OPERATION_RATE_EXCEEDED|CONCURRENT_OPERATIONS_QUOTA_EXCEEDED|quota metric/i;

/** The order matters. */
const TEXTS: readonly { readonly text: RegExp; readonly scope: RefusalScope }[] = [
  { text: RATE_LIMIT, scope: 'moment' },
  {
    text: /RESOURCE_POOL_EXHAUSTED|does not have enough resources|insufficientCapacity|CapacityExceeded|STOCKOUT/i,
    scope: 'zone',
  },
  // A quota of the whole project: no other zone has more of it. A limit of 0 stays until a person asks Google for more.
  { text: /Quota '\w+' exceeded\.\s+Limit: 0(\.0)? globally/, scope: 'installation' },
  { text: /Quota '\w+' exceeded\.\s+Limit: [\d.]+ globally|Quota '\w*ALL_REGIONS' exceeded/, scope: 'moment' },
  { text: /QUOTA_EXCEEDED|quotaExceeded|Quota '\w+' exceeded/, scope: 'zone' },
  { text: /reservations?\b.* (not have|insufficient|enough)/i, scope: 'zone' },
  { text: /does not exist in zone|Unknown zone/, scope: 'zone-lasting' },
  { text: /\/(machineTypes|acceleratorTypes|diskTypes|reservations)\/[^']*' was not found/, scope: 'zone-lasting' },
  // A create that collided with a preemption, or with a name that is still being deleted.
  { text: /UNSUPPORTED_OPERATION|RESOURCE_NOT_READY|is not ready|resourceInUse/, scope: 'moment' },
  { text: /\/(images|imageFamilyViews|networks|subnetworks|disks)\/[^']*' was not found/, scope: 'request' },
  { text: /do not support live migration|Invalid value for field|Invalid JSON payload/, scope: 'request' },
  { text: /does not have access to service account|SERVICE_ACCOUNT_ACCESS_DENIED/, scope: 'installation' },
  // Set by an organization; gcp.resourceLocations forbids some zones and not others.
  { text: /Constraint constraints\/|PROJECT_CONSTRAINT_VIOLATED/, scope: 'permission' },
];

function scopeOfStatus({ httpStatus, errorCode }: ComputeFailure): RefusalScope {
  if (httpStatus === undefined) return errorCode === undefined ? 'moment' : scopeOfCode(errorCode);
  if (httpStatus === 401) return 'installation';
  if (httpStatus === 403) return 'permission';
  if (httpStatus === 408 || httpStatus === 429 || httpStatus >= 500) return 'moment';
  return 'unknown';
}

const scopeOfCode = (code: string): RefusalScope =>
  /^(INTERNAL|BACKEND|UNKNOWN)_?(INTERNAL_)?ERROR$|UNAVAILABLE|TIMEOUT/.test(code) ? 'moment' : 'unknown';
