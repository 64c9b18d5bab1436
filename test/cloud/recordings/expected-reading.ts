import { asObject, asString } from '../../../rehearsal/json.js';
import type { RecordedCall } from './recorded-call.js';

/**
 * How the adapter's reading of an answer has to begin, by the states and codes of Google's reference alone: a second opinion that shares
 * no code with the adapter. A recording says in `reads` what is expected of it beyond that.
 */
export function expectedReading({ method, code, answer }: RecordedCall): string {
  if (method.startsWith('Get')) return ofGet(method, code, asObject(answer));
  if (method.startsWith('List')) return ofList(code, asObject(answer));
  return method.startsWith('Create') ? ofCreate(code) : ofDelete(code, asString(answer['message']));
}

const OF_REQUEST: Readonly<Record<string, string>> = {
  CREATING: 'waiting',
  ACCEPTED: 'waiting',
  WAITING_FOR_RESOURCES: 'waiting',
  PROVISIONING: 'waiting',
  // Its node is asked for too, and is not there where one answer is replayed alone.
  ACTIVE: 'missing, the request is left',
  SUSPENDING: 'lost (preempted)',
  SUSPENDED: 'lost (preempted)',
  FAILED: 'lost',
  DELETING: 'deleting',
};
const OF_NODE: Readonly<Record<string, string>> = {
  READY: 'ready',
  DELETING: 'deleting',
  PREEMPTED: 'lost (preempted)',
  TERMINATED: 'lost (preempted)',
  STOPPED: 'lost (preempted)',
};

function ofGet(method: string, code: number, answer: ReturnType<typeof asObject>): string {
  if (code === NOT_FOUND) return method === 'GetOperation' ? 'unknown' : 'missing';
  if (code !== 0) return ofRefusedRead(code);
  if (method === 'GetOperation') {
    if (answer['error'] !== undefined) return 'lost';
    return answer['done'] === true ? 'done' : 'under way';
  }
  if (method === 'GetNode') return OF_NODE[asString(answer['state'])] ?? 'waiting';
  return OF_REQUEST[asString(asObject(answer['state'])['state'])] ?? 'waiting';
}

function ofList(code: number, answer: ReturnType<typeof asObject>): string {
  if (code !== 0) return code === NOT_FOUND ? 'CloudRefused' : ofRefusedRead(code);
  if (Array.isArray(answer['unreachable']) && answer['unreachable'].length > 0) return 'CloudUnavailable';
  const items = answer['nodes'] ?? answer['queuedResources'] ?? [];
  return `${(items as readonly unknown[]).length} owned`;
}

const NOT_FOUND = 5;
const ALREADY_EXISTS = 6;
/** INVALID_ARGUMENT, PERMISSION_DENIED, FAILED_PRECONDITION, OUT_OF_RANGE, UNIMPLEMENTED, UNAUTHENTICATED. */
const REFUSALS = [3, 7, 9, 11, 12, 16];
const EXHAUSTED = 8;

const ofRefusedRead = (code: number): string => (REFUSALS.includes(code) ? 'CloudRefused' : 'CloudUnavailable');

function ofCreate(code: number): string {
  if (code === 0) return 'accepted';
  if (code === ALREADY_EXISTS) return 'exists';
  return [...REFUSALS, NOT_FOUND, EXHAUSTED].includes(code) ? 'refused' : 'unanswered';
}

function ofDelete(code: number, message: string): string {
  if (code === 0 || message.includes('state is DELETING')) return 'accepted';
  if (code === NOT_FOUND) return 'gone';
  return REFUSALS.includes(code) ? 'refused' : 'unanswered';
}
