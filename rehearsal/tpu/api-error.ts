/** The canonical codes (google.rpc.Code) and the HTTP status that Google's front end gives each. */
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

/** google.rpc.ErrorInfo: the reason that programs read. */
export interface ErrorInfo {
  readonly reason: string;
  readonly domain: string;
  readonly metadata: Readonly<Record<string, string>>;
}

/** A refused call, as both gRPC and REST report it. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly status: StatusName;
  readonly info: ErrorInfo | undefined;

  constructor(status: StatusName, message: string, info?: ErrorInfo) {
    super(message);
    this.status = status;
    this.info = info;
  }

  get code(): number {
    return STATUS_CODES[this.status][0];
  }

  get httpStatus(): number {
    return STATUS_CODES[this.status][1];
  }
}

/** The code called by its name or number, or undefined. */
export function findStatus(code: string | number): StatusName | undefined {
  const names = Object.keys(STATUS_CODES) as StatusName[];
  return names.find((name) => name === code || STATUS_CODES[name][0] === code);
}

const EID = '[EID: 0x1bc8f9d790be9142]';

/** Texts as seen at the real service (facts/cloud-tpu.md 1.5), except `alreadyExists`, whose words nobody wrote down. */
export const apiErrors = {
  notFound: (name: string) => new ApiError('NOT_FOUND', `Resource '${name}' was not found`),
  alreadyExists: (name: string) => new ApiError('ALREADY_EXISTS', `Resource '${name}' already exists`),
  badRequest: (text: string) => new ApiError('INVALID_ARGUMENT', `Cloud TPU received a bad request. ${text} ${EID}`),
  unknownAccelerator: (type: string, zone: string) =>
    apiErrors.badRequest(
      `The requested accelerator configuration for accelerator type, "${type}", could not be found in the zonal ` +
        `accelerator configurations for "${zone}".; the accelerator ${type} was not found in zone ${zone}`,
    ),
  unknownZone: (zone: string) => apiErrors.badRequest(`The requested zone "${zone}" is not supported.`),
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
  unimplemented: (what: string) =>
    new ApiError('UNIMPLEMENTED', `${what} is not implemented by the rehearsal cloud in this version`),
};

/** The body of a refused REST call. @param legacyReason adds the list of the older format. */
export function errorBody({ httpStatus: code, status, message, info }: ApiError, legacyReason?: string): object {
  const details = info && [{ '@type': 'type.googleapis.com/google.rpc.ErrorInfo', ...info }];
  const errors = legacyReason !== undefined && [{ message, domain: 'global', reason: legacyReason }];
  return { error: { code, message, ...(errors && { errors }), status, ...(details && { details }) } };
}
