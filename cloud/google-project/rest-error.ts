import type { GoogleError } from '../google-refusal.js';

interface ErrorBody {
  readonly error?: {
    readonly message?: string;
    readonly status?: string;
    readonly details?: readonly {
      readonly reason?: string;
      readonly metadata?: Readonly<Record<string, string>>;
    }[];
  };
}

const SHOWN_CHARACTERS = 500;

/** Reads Google's JSON of a failed request. From any other body (a proxy's page) it takes the first characters. */
export function restErrorOf(httpStatus: number, body: string): GoogleError {
  const { message, status, details = [] } = parsed(body)?.error ?? {};
  const info = details.find((detail) => detail.reason !== undefined);
  return {
    httpStatus,
    message: message ?? body.slice(0, SHOWN_CHARACTERS),
    ...(status === undefined ? {} : { status }),
    ...(info?.reason === undefined ? {} : { reason: info.reason }),
    ...(info?.metadata === undefined ? {} : { metadata: info.metadata }),
  };
}

function parsed(body: string): ErrorBody | undefined {
  try {
    const value: unknown = JSON.parse(body);
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Returns whether the same request may succeed later. */
export const isOutage = (httpStatus: number): boolean => httpStatus >= 500 || httpStatus === 429 || httpStatus === 408;
