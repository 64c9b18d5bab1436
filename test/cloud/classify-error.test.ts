import assert from 'node:assert/strict';
import { refusalText } from '../../cloud/google-refusal.js';
import {
  apiErrorOf,
  type ApiError,
  codeName,
  classifyCreateError,
  classifyDeleteError,
  classifyReadError,
  failedCreate,
} from '../../cloud/machines/cloud-tpu/classify-error.js';

// The texts are Google's own, as users reported them (docs/facts.md, "Cloud TPU").
const RATE =
  "Quota exceeded for quota metric 'Requests' and limit 'Requests per minute' of service 'tpu.googleapis.com'";

const creates: Record<string, { error: ApiError; want: string }> = {
  'a rate limit, which the front end says before anything is done': {
    error: { code: 8, message: RATE },
    want: 'moment',
  },
  'the rate limit by its reason': {
    error: { code: 8, message: 'slow down', reason: 'RATE_LIMIT_EXCEEDED' },
    want: 'moment',
  },
  "gRPC's own flow control": {
    error: { code: 8, message: 'Received RST_STREAM with code 11 (ENHANCE_YOUR_CALM)' },
    want: 'unanswered',
  },
  'a name that is taken': { error: { code: 6, message: 'Resource already exists' }, want: 'exists' },
  'expired credentials': { error: { code: 16, message: 'token expired' }, want: 'installation' },
  'credentials refused inside a call': {
    error: { code: 2, message: 'Getting metadata from plugin failed with error: invalid_grant' },
    want: 'installation',
  },
  'credentials not reachable inside a call': {
    error: { code: 14, message: 'Getting metadata from plugin failed with error: ENOTFOUND' },
    want: 'unanswered',
  },
  'no credentials at all': {
    error: { message: 'Could not load the default credentials. Browse to https://example.com' },
    want: 'installation',
  },
  'a cancelled call': { error: { code: 1, message: 'Cancelled on client' }, want: 'unanswered' },
  'an unknown error': { error: { code: 2, message: 'Stream removed' }, want: 'unanswered' },
  'a missed deadline': { error: { code: 4, message: 'Deadline exceeded' }, want: 'unanswered' },
  'an aborted operation': { error: { code: 10, message: 'unable to queue the operation' }, want: 'unanswered' },
  'an internal error': { error: { code: 13, message: 'an internal error has occurred' }, want: 'unanswered' },
  'an unavailable API': { error: { code: 14, message: 'No connection established' }, want: 'unanswered' },
  'a code of later times': { error: { code: 99, message: 'new' }, want: 'unanswered' },
  'no code at all': { error: { message: 'socket hang up' }, want: 'unanswered' },
};

describe('a failed create call', () => {
  for (const [name, { error, want }] of Object.entries(creates)) {
    it(`${name} is ${want}`, () => {
      const answer = classifyCreateError(error);
      assert.equal(answer.kind === 'refused' ? answer.scope : answer.kind, want);
      if (answer.kind !== 'exists')
        assert.equal(answer.message, want === 'installation' ? refusalText(error) : error.message);
    });
  }
});

const deletes: Record<string, { error: ApiError; want: string }> = {
  'nothing there': {
    error: { code: 5, message: "Resource 'projects/p/locations/z/nodes/n' was not found" },
    want: 'gone',
  },
  'a state that forbids it': {
    error: {
      code: 9,
      message:
        'DeleteQueuedResource is not supported when state is ACTIVE (must be one of [ACCEPTED WAITING_FOR_RESOURCES SUSPENDED FAILED])',
    },
    want: 'refused',
  },
  'a resource that is being deleted': {
    error: { code: 9, message: 'DeleteQueuedResource is not supported when state is DELETING' },
    want: 'deleting',
  },
  'a forbidden delete': { error: { code: 7, message: 'Permission denied' }, want: 'refused' },
  'a lost answer': { error: { code: 14, message: 'Connection dropped' }, want: 'unanswered' },
  'another operation in the way': { error: { code: 10, message: 'unable to queue the operation' }, want: 'unanswered' },
};

describe('a failed delete call', () => {
  for (const [name, { error, want }] of Object.entries(deletes)) {
    it(`${name} is ${want}`, () => assert.equal(classifyDeleteError(error).kind, want));
  }
});

const reads: Record<string, { error: ApiError; want: string }> = {
  'a resource by its path': {
    error: { code: 5, message: "Resource 'projects/p/locations/us-central2-b/nodes/n' was not found" },
    want: 'not-found',
  },
  'a resource whose names sound like others': {
    error: { code: 5, message: "Resource 'projects/tpu-project/locations/z/nodes/api-service-g1' was not found" },
    want: 'not-found',
  },
  'a resource without its name': { error: { code: 5, message: 'Requested entity was not found.' }, want: 'not-found' },
  'a project that is not there': { error: { code: 5, message: 'Project p not found or deleted' }, want: 'refused' },
  'a project that is not there, inside a sentence': {
    error: { code: 5, message: "Consumer project 'p' was not found" },
    want: 'refused',
  },
  'no credentials': { error: { message: 'Could not load the default credentials.' }, want: 'refused' },
  'a zone that is not there': { error: { code: 5, message: 'Location xx-1 was not found' }, want: 'refused' },
  'an API that is off': { error: { code: 7, message: 'Cloud TPU API has not been used' }, want: 'refused' },
  'a method that is not there': { error: { code: 12, message: 'Method not found.' }, want: 'refused' },
  'a rate limit': { error: { code: 8, message: RATE }, want: 'unavailable' },
  'an unavailable API': { error: { code: 14, message: '502' }, want: 'unavailable' },
  'no answer': { error: { code: 4, message: 'Deadline exceeded' }, want: 'unavailable' },
  'an expired token': { error: { code: 16, message: 'expired' }, want: 'refused' },
  'a broken connection': { error: { message: 'read ECONNRESET' }, want: 'unavailable' },
};

describe('a failed read', () => {
  for (const [name, { error, want }] of Object.entries(reads)) {
    it(`${name} is ${want}`, () => assert.equal(classifyReadError(error), want));
  }
});

describe('a create call whose operation has ended with an error', () => {
  it('is refused, whatever the code, unless the name is taken', () => {
    const message = 'an internal error has occurred';
    assert.deepEqual(failedCreate({ code: 13, message }), { kind: 'refused', scope: 'moment', message });
    assert.deepEqual(failedCreate({ code: 6, message: 'it exists' }), { kind: 'exists' });
  });
});

describe('an error of the client', () => {
  it("is read with the server's own text, not gax's", () => {
    const thrown = Object.assign(new Error('5 NOT_FOUND: gone'), { code: 5, details: 'gone', reason: 'R' });
    assert.deepEqual(apiErrorOf(thrown), { code: 5, message: 'gone', reason: 'R' });
  });
  it('may be any value', () => {
    assert.deepEqual(apiErrorOf('The client has already been closed.'), {
      message: 'The client has already been closed.',
    });
    assert.deepEqual(apiErrorOf(Object.assign(new Error('refused'), { code: 'ECONNREFUSED' })), { message: 'refused' });
    assert.deepEqual(apiErrorOf(Object.assign(new Error('m'), { details: '', errorInfoMetadata: null })), {
      message: 'm',
    });
    for (const nothing of [null, undefined]) assert.deepEqual(apiErrorOf(nothing), { message: String(nothing) });
  });
  it('keeps what Google says of the cause, such as the API that is off', () => {
    const errorInfoMetadata = { service: 'tpu.googleapis.com' };
    assert.deepEqual(apiErrorOf({ message: 'm', errorInfoMetadata }), { message: 'm', metadata: errorInfoMetadata });
  });
  it('has the name of its code as gRPC writes it', () => {
    const names = [1, 2, 4, 8, 99, undefined].map(codeName);
    assert.deepEqual(names, ['CANCELLED', 'UNKNOWN', 'DEADLINE_EXCEEDED', 'RESOURCE_EXHAUSTED', 'UNKNOWN', 'UNKNOWN']);
  });
});
