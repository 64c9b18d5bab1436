import type { ApiError } from './api-error.js';
import { encode, protoRoot } from './protos.js';

/** Trailers of a refused call, by name. Google's clients read more than code and text from them. */
export function errorTrailers({ code, message, details }: ApiError): ReadonlyMap<string, Buffer> {
  const trailers = new Map<string, Buffer>();
  if (details.length === 0) return trailers;
  trailers.set(
    'grpc-status-details-bin',
    encode(protoRoot().lookupType('google.rpc.Status'), { code, message, details }),
  );
  for (const detail of details) {
    const type = detail['@type'].slice(detail['@type'].lastIndexOf('/') + 1);
    const { '@type': _, ...content } = detail;
    trailers.set(`${type.toLowerCase()}-bin`, encode(protoRoot().lookupType(type), content));
  }
  return trailers;
}
