import type { JsonObject } from '../json.js';
import type { Status } from './model.js';

/** The canonical codes (google.rpc.Code), each with the HTTP status that Google's front end gives it. */
export const STATUS_CODES = {
  CANCELLED: [1, 499],
  UNKNOWN: [2, 500],
  INVALID_ARGUMENT: [3, 400],
  DEADLINE_EXCEEDED: [4, 504],
  NOT_FOUND: [5, 404],
  ALREADY_EXISTS: [6, 409],
  PERMISSION_DENIED: [7, 403],
  RESOURCE_EXHAUSTED: [8, 429],
  FAILED_PRECONDITION: [9, 400],
  ABORTED: [10, 409],
  OUT_OF_RANGE: [11, 400],
  UNIMPLEMENTED: [12, 501],
  INTERNAL: [13, 500],
  UNAVAILABLE: [14, 503],
  DATA_LOSS: [15, 500],
  UNAUTHENTICATED: [16, 401],
} as const satisfies Readonly<Record<string, readonly [number, number]>>;
export type StatusName = keyof typeof STATUS_CODES;

/** google.rpc.ErrorInfo: the machine-readable reason. */
export interface ErrorInfo {
  readonly reason: string;
  readonly domain: string;
  readonly metadata: Readonly<Record<string, string>>;
}

/** google.rpc.BadRequest.FieldViolation. `field` uses the proto file's names and starts at the request. */
export interface FieldViolation extends JsonObject {
  readonly field: string;
  readonly description: string;
}

/** One of google.rpc's detail messages, as JSON. */
export interface ErrorDetail extends JsonObject {
  readonly '@type': `type.googleapis.com/google.rpc.${'ErrorInfo' | 'ResourceInfo' | 'BadRequest'}`;
}

/** A refused call, as both gRPC and REST report it. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly status: StatusName;
  readonly info: ErrorInfo | undefined;
  /** `info` is the first detail. */
  readonly details: readonly ErrorDetail[];

  constructor(status: StatusName, message: string, info?: ErrorInfo, more: readonly ErrorDetail[] = []) {
    super(message);
    this.status = status;
    this.info = info;
    const first = info === undefined ? [] : [{ '@type': 'type.googleapis.com/google.rpc.ErrorInfo', ...info } as const];
    this.details = [...first, ...more];
  }

  get code(): number {
    return STATUS_CODES[this.status][0];
  }

  get httpStatus(): number {
    return STATUS_CODES[this.status][1];
  }
}

/** Returns the code with this name or number, or undefined. */
export function findStatus(code: string | number): StatusName | undefined {
  const names = Object.keys(STATUS_CODES) as StatusName[];
  return names.find((name) => name === code || STATUS_CODES[name][0] === code);
}

const EID = '[EID: 0x1bc8f9d790be9142]';

/** The resource that an error is about. */
function aboutResource(resourceName: string): readonly ErrorDetail[] {
  return [{ '@type': 'type.googleapis.com/google.rpc.ResourceInfo', resourceName }];
}

/**
 * Error texts as seen at the real service (docs/facts.md, "Cloud TPU"; `alreadyExists` with its detail:
 * skypilot-org/skypilot#129; `unknownRuntime`: tensorflow/tpu#877, of 2020 and v1).
 */
export const apiErrors = {
  notFound: (name: string) =>
    new ApiError('NOT_FOUND', `Resource '${name}' was not found`, undefined, aboutResource(name)),
  alreadyExists: (name: string) =>
    new ApiError('ALREADY_EXISTS', `Resource '${name}' already exists`, undefined, aboutResource(name)),
  /** Our own text: Google's was not found. */
  notJson: (contentType: string) =>
    new ApiError('INVALID_ARGUMENT', `Content-Type is '${contentType}': the rehearsal takes JSON as application/json`),
  badRequest: (text: string) => new ApiError('INVALID_ARGUMENT', `Cloud TPU received a bad request. ${text} ${EID}`),
  unknownAccelerator: (type: string, zone: string) =>
    apiErrors.badRequest(
      `The requested accelerator configuration for accelerator type, "${type}", could not be found in the zonal ` +
        `accelerator configurations for "${zone}".; the accelerator ${type} was not found in zone ${zone}`,
    ),
  unsupportedZone: (zone: string) => apiErrors.badRequest(`The requested zone "${zone}" is not supported.`),
  /** For a location that does not exist or that an organisation forbids: callers cannot tell which. */
  unknownZone: (project: string, location: string) =>
    new ApiError('PERMISSION_DENIED', `Permission denied on 'locations/${location}' (or it may not exist).`, {
      reason: 'LOCATION_POLICY_VIOLATED',
      domain: 'googleapis.com',
      metadata: { consumer: `projects/${project}`, location, service: 'tpu.googleapis.com' },
    }),
  unknownRuntime: (version: string) =>
    new ApiError(
      'INVALID_ARGUMENT',
      `Cloud TPU received an invalid argument. The field "runtimeVersion" cannot be "${version}". ${EID}`,
    ),
  /** Answer to `gcloud .. create --node-count 2` for a v2-8 (AI-Hypercomputer/maxtext#158, 2023-09). */
  multisliceRefused: () =>
    new ApiError(
      'INVALID_ARGUMENT',
      `Cloud TPU was unable to complete the operation. Please try again, or contact support if the problem persists. ${EID}`,
    ),
  updateRefused: (state: string) => apiErrors.badRequest(`update is not supported while in state ${state}`),
  /** For an UpdateNode while another one runs. gcloud's ssh continues if it gets this error. */
  unableToQueue: () => new ApiError('ABORTED', 'unable to queue the operation'),
  flexStartRefused: (type: string, zone: string) =>
    new ApiError(
      'INVALID_ARGUMENT',
      `FLEX_START provisioning model is not supported for accelerator type "${type}" in location "${zone}"`,
    ),
  standardSpotRefused: () =>
    new ApiError('INVALID_ARGUMENT', 'STANDARD provisioning model is incompatible with spot requests'),
  deleteRefused: (state: string) =>
    new ApiError(
      'FAILED_PRECONDITION',
      `DeleteQueuedResource is not supported when state is ${state} ` +
        `(must be one of [ACCEPTED WAITING_FOR_RESOURCES SUSPENDED FAILED])`,
    ),
  noCapacity: (zone: string) =>
    new ApiError(
      'RESOURCE_EXHAUSTED',
      `There is no more capacity in the zone "${zone}"; you can try in another zone where Cloud TPU Nodes are offered ` +
        `(see https://cloud.google.com/tpu/docs/regions) ${EID}`,
    ),
  /**
   * @param quota Google's name for it, such as `TPUV4sPreemptiblePodPerProjectPerRegionForTPUAPI`
   * @param limit chips
   */
  quotaExhausted: (quota: string, limit: number, region: string) =>
    new ApiError('RESOURCE_EXHAUSTED', `Quota '${quota}' exhausted. Limit ${limit} in region ${region}`),
  /** Both RESOURCE_EXHAUSTED and FAILED_PRECONDITION were seen, also for requests without a reservation. */
  noReservedCapacity: () =>
    new ApiError(
      'RESOURCE_EXHAUSTED',
      `Insufficient reserved capacity. Contact customer support to increase your reservation. ${EID}`,
    ),
  /** For a slice with more hosts than its region has external addresses left. */
  noAddresses: (limit: number) =>
    new ApiError(
      'RESOURCE_EXHAUSTED',
      `Quota 'IN_USE_ADDRESSES' exceeded. IN_USE_ADDRESSES limit: ${limit.toFixed(1)}`,
    ),
  internal: () => new ApiError('INTERNAL', 'an internal error has occurred'),
  /** For a path and verb without a method. */
  methodNotFound: () => new ApiError('NOT_FOUND', 'Method not found.'),
  /** Refusals of a request's form by Google's front end, before any API sees it. */
  malformed: (violations: readonly Partial<FieldViolation>[]) =>
    new ApiError('INVALID_ARGUMENT', violations.map(({ description }) => description).join('\n'), undefined, [
      {
        '@type': 'type.googleapis.com/google.rpc.BadRequest',
        fieldViolations: violations,
      },
    ]),
  unimplemented: (what: string) =>
    new ApiError('UNIMPLEMENTED', `${what} is not implemented by the rehearsal cloud in this version`),
};

/** Error of a failed operation or request. */
export function statusOf({ code, message }: ApiError): Status {
  return { code, message };
}

/**
 * The body of a refused REST call.
 * @param legacyReason adds the error list of the older format
 */
export function errorBody({ httpStatus: code, status, message, details }: ApiError, legacyReason?: string): object {
  const errors = legacyReason !== undefined && [{ message, domain: 'global', reason: legacyReason }];
  return { error: { code, message, ...(errors && { errors }), status, ...(details.length > 0 && { details }) } };
}
