import assert from 'node:assert/strict';
import { classifyCreateError, type ApiError, refusalScope } from '../../cloud/machines/cloud-tpu/classify-error.js';
import { conditionOf } from '../../cloud/machines/cloud-tpu/condition.js';
import type { RefusalScope } from '../../domain/slice.js';
import { ownership } from './cloud-tpu-plan.js';
import { GOOGLE_REFUSALS } from './google-refusals.js';

describe('the scope of a refusal of Cloud TPU', () => {
  for (const [name, { from, scope, ...error }] of Object.entries(GOOGLE_REFUSALS)) {
    it(`${name}: ${scope}, from ${from.join(', ')}`, () => {
      const failed = { code: error.code, message: error.message };
      const lost = { kind: 'lost', cause: 'refused', scope };
      for (const way of from) {
        if (way === 'call') {
          const answer = classifyCreateError(error);
          assert.equal(answer.kind === 'refused' ? answer.scope : answer.kind, scope);
        } else if (way === 'operation') {
          const operation = { isDone: true, error: failed };
          const seen = conditionOf({ at: 0, queuedResource: 'unused', node: 'not-found', operation }, ownership());
          assert.deepEqual(seen, { ...lost, message: `the create failed: ${error.message}` });
        } else {
          const queuedResource = { state: 'FAILED', error: failed, ownership: ownership() };
          const seen = conditionOf({ at: 0, queuedResource, node: 'not-found' }, ownership());
          assert.deepEqual(seen, { ...lost, message: `the queued resource is FAILED: ${error.message}` });
        }
      }
    });
  }

  const others: Record<string, { error: ApiError; want: RefusalScope }> = {
    'a missing right': {
      error: { code: 7, message: "Permission 'tpu.nodes.create' denied on resource '//tpu.googleapis.com/projects/p'" },
      want: 'installation',
    },
    'a refusal of rights in new words': {
      error: { code: 7, message: 'The caller is not welcome' },
      want: 'permission',
    },
    'billing that is off': {
      error: { code: 7, message: 'This API method requires billing to be enabled', reason: 'BILLING_DISABLED' },
      want: 'installation',
    },
    'an API that is off': {
      error: { code: 7, message: 'Cloud TPU API has not been used in project 1 before or it is disabled.' },
      want: 'installation',
    },
    'a login that has run out': { error: { code: 16, message: 'token expired' }, want: 'installation' },
    'a rate limit': {
      error: { code: 8, message: "Quota exceeded for quota metric 'Requests' and limit 'Requests per minute'" },
      want: 'moment',
    },
    'a field that cannot have this value': {
      error: {
        code: 3,
        message: 'Cloud TPU received an invalid argument. The field "runtimeVersion" cannot be "nonsense".',
      },
      want: 'request',
    },
    'quota in new words': { error: { code: 9, message: 'There is no quota for this type' }, want: 'zone' },
    'a quota’s metric, which is no rate': {
      error: { code: 9, message: "Quota exceeded for quota metric 'TPUs'" },
      want: 'zone',
    },
    'a limit in new words': { error: { code: 9, message: 'At its limit 8 in region r' }, want: 'zone' },
    'a limit with a colon': { error: { code: 9, message: 'At its limit: 8 in region r' }, want: 'zone' },
    'a stockout': { error: { code: 9, message: 'Stockout of this type' }, want: 'zone' },
    'a zone without the type': {
      error: { code: 3, message: 'The zone "us-x1-a" is not supported' },
      want: 'zone-lasting',
    },
    'a label that is invalid': { error: { code: 3, message: 'The label "k" is invalid' }, want: 'request' },
    'labels that are invalid': { error: { code: 3, message: 'The labels of the node must be short' }, want: 'request' },
    'a value that something else calls invalid': {
      error: { code: 3, message: 'A policy says: Invalid value' },
      want: 'unknown',
    },
    'a deadline of the request': {
      error: { code: 4, message: 'The queued resource q was not fulfilled before its deadline.' },
      want: 'moment',
    },
    'a bad request in new words': { error: { code: 3, message: 'The moon is in the wrong house' }, want: 'unknown' },
    'a precondition in new words': { error: { code: 9, message: 'not today' }, want: 'unknown' },
    'code 8 in new words': { error: { code: 8, message: 'RESOURCE_EXHAUSTED' }, want: 'zone' },
    'a code of later times': { error: { code: 99, message: 'new' }, want: 'moment' },
  };
  for (const [name, { error, want }] of Object.entries(others))
    it(`${name}: ${want}`, () => assert.equal(refusalScope(error), want));

  it('a name that merely contains such a word is no quota and no limit', () => {
    const message = "Resource 'projects/p/regions/r/subnetworks/no-quota' was not found";
    assert.equal(refusalScope({ code: 5, message }), 'unknown');
  });
});
