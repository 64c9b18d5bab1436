import { googleRefusal, readable } from '../../google-refusal.js';
import type { RefusalScope } from '../../../domain/slice.js';
import { type ApiError, Code } from './api-error.js';

/**
 * The scope of a refusal of Cloud TPU (docs/adr/0042), whether a call was refused, its operation failed, or its queued resource
 * is FAILED. It checks problems of the login or the project first, then Google's texts (docs/facts.md, "Cloud TPU"; field
 * reports, 2024 to 2026), then the code. An unknown refusal is `unknown`, never `request`, because only `request` may be final.
 */
export function refusalScope(error: ApiError): RefusalScope {
  const refusal = googleRefusal(error);
  if (refusal !== undefined) return refusal.kind === 'unknown-zone' ? 'zone-lasting' : 'installation';
  if (isRateLimit(error)) return 'moment';
  return TEXTS.find(({ text }) => text.test(readable(error.message)))?.scope ?? scopeOfCode(error.code);
}

/** The API's own limit of calls, which Google's front end applies before a call reaches Cloud TPU. */
export function isRateLimit({ code, message, reason }: ApiError): boolean {
  if (reason === 'RATE_LIMIT_EXCEEDED') return true;
  return code === Code.ResourceExhausted && /quota metric|requests per (minute|second)/i.test(message);
}

/** The order matters. */
const TEXTS: readonly { readonly text: RegExp; readonly scope: RefusalScope }[] = [
  { text: /no more capacity|stock ?out|insufficient .*capacity|resource_pool_exhausted/i, scope: 'zone' },
  // Google counts quota and addresses by region. Other machines that are being deleted still count (marin#87).
  { text: /(?<![\w/-])quota(?![\w/-])|IN_USE_ADDRESSES|\blimit:? \d/i, scope: 'zone' },
  {
    text: /zonal accelerator configurations|zone "[^"]*" is not supported|not supported .*in location/i,
    scope: 'zone-lasting',
  },
  // A create or an update that collided with a preemption, a deletion or another call.
  { text: /not supported while in state|not supported when state is|unable to queue the operation/i, scope: 'moment' },
  { text: /was not fulfilled before its deadline/i, scope: 'moment' },
  { text: /The field "[^"]*" cannot be|^Invalid (value|JSON)|\blabels?\b.* (invalid|must)/i, scope: 'request' },
];

function scopeOfCode(code: number | undefined): RefusalScope {
  switch (code) {
    case Code.ResourceExhausted:
      return 'zone';
    // Such as `User does not have permission to submit requests for accelerator type "v5litepod-8" in location "us-central1-a"`,
    // which was said of one type in one zone while other zones granted it (field reports of 2026).
    case Code.PermissionDenied:
      return 'permission';
    case Code.Unauthenticated:
      return 'installation';
    case Code.InvalidArgument:
    case Code.NotFound:
    case Code.AlreadyExists:
    case Code.FailedPrecondition:
    case Code.OutOfRange:
    case Code.Unimplemented:
      return 'unknown';
    default:
      return 'moment';
  }
}
