import assert from 'node:assert/strict';
import { ApiException } from '@kubernetes/client-node';
import { createAnswerOf, listed, read, removeAnswerOf } from '../../cloud/machines/kubernetes/api-failure.js';
import { CloudRefused, CloudUnavailable } from '../../cloud/machines/port.js';

const answered = (code: number, reason: string, message: string): ApiException<string> =>
  new ApiException(code, '', JSON.stringify({ kind: 'Status', reason, message }), {});
const proxied = (code: number): ApiException<string> =>
  new ApiException(code, '', '<html>404 page not found</html>', {});
const FORBIDDEN =
  'jobs.batch is forbidden: User "system:serviceaccount:ml:t" cannot create resource "jobs" in API group "batch" in the namespace "ml"';

/** Texts of Kubernetes 1.34.4. */
const creates: Record<string, [unknown, string]> = {
  'a name that is taken': [answered(409, 'AlreadyExists', 'jobs.batch "x" already exists'), 'exists'],
  'a race': [answered(409, 'Conflict', 'Operation cannot be fulfilled'), 'refused moment'],
  'a right that is missing': [answered(403, 'Forbidden', FORBIDDEN), 'refused permission'],
  'no login': [answered(401, 'Unauthorized', 'Unauthorized'), 'refused permission'],
  'a quota of the namespace': [
    answered(403, 'Forbidden', 'configmaps "x" is forbidden: exceeded quota: q, requested: count/configmaps=1'),
    'refused zone',
  ],
  'a namespace that is deleted': [
    answered(403, 'Forbidden', 'unable to create new content in namespace ml because it is being terminated'),
    'refused zone-lasting',
  ],
  'no such namespace': [answered(404, 'NotFound', 'namespaces "ml" not found'), 'refused request'],
  'a webhook that says no': [
    answered(403, 'Forbidden', 'admission webhook "policy.x" denied the request: no latest'),
    'refused request',
  ],
  'an invalid Job': [answered(422, 'Invalid', 'Job.batch "x" is invalid: spec.template'), 'refused request'],
  'too many calls': [answered(429, 'TooManyRequests', 'please try again later'), 'refused moment'],
  'an answer of another server': [proxied(404), 'refused unknown'],
  'an error of the server': [answered(500, 'InternalError', 'etcdserver: request timed out'), 'unanswered'],
  'a broken connection': [new Error('socket hang up'), 'unanswered'],
  'no answer in time': [Object.assign(new Error('aborted'), { name: 'AbortError' }), 'unanswered'],
};

describe('what a failed call to Kubernetes means', () => {
  for (const [name, [error, want]] of Object.entries(creates))
    it(`a create that met ${name} is ${want}`, () => {
      const answer = createAnswerOf(error);
      assert.equal(answer.kind === 'refused' ? `refused ${answer.scope}` : answer.kind, want);
    });

  it('a read finds nothing only by the API server’s own word', async () => {
    const reject = (error: unknown) => async (): Promise<never> => {
      throw error;
    };
    assert.equal(await read(reject(answered(404, 'NotFound', 'jobs.batch "x" not found'))), undefined);
    await assert.rejects(read(reject(proxied(404))), CloudRefused);
    await assert.rejects(read(reject(answered(401, 'Unauthorized', 'Unauthorized'))), CloudRefused);
    await assert.rejects(read(reject(answered(403, 'Forbidden', FORBIDDEN))), CloudRefused);
    for (const error of [answered(503, '', 'x'), answered(429, '', 'x'), proxied(502), new Error('ECONNREFUSED')])
      await assert.rejects(read(reject(error)), CloudUnavailable);
    await assert.rejects(listed(reject(answered(410, 'Expired', 'continue too old'))), CloudUnavailable);
  });

  it('a delete may be repeated, and what was made anew meanwhile is left alone', () => {
    assert.deepEqual(removeAnswerOf(answered(404, 'NotFound', 'x')), { kind: 'gone' });
    assert.equal(removeAnswerOf(answered(409, 'Conflict', 'the UID in the precondition')).kind, 'unanswered');
    assert.equal(removeAnswerOf(answered(403, 'Forbidden', FORBIDDEN)).kind, 'refused');
    assert.equal(removeAnswerOf(new Error('ECONNRESET')).kind, 'unanswered');
  });
});
