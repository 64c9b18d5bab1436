import assert from 'node:assert/strict';
import { FORMS } from '../../contract/api/forms.js';
import { JOB_VERBS } from '../../contract/job-requests.js';
import { OPERATIONS } from '../../contract/operations.js';
import { SAMPLE_BODIES } from '../contract/sample-bodies.js';
import { GatedApp } from './gated-app.js';

/** Keys of bodies that are not in the samples. */
const UNTOLD = ['verb', 'job', 'file', 'env'];

describe('what a person asks of a job over HTTP', () => {
  let app: GatedApp;
  before(async () => {
    app = await GatedApp.start();
    await app.addJob('mine', 'alice@example.org', 'vision');
  });
  after(() => app?.stop());

  for (const verb of JOB_VERBS)
    it(`${verb}: each key of its body reaches the job, and the caller's name`, async () => {
      const { call, body } = OPERATIONS[verb];
      const asked = SAMPLE_BODIES[verb];
      const keys = Object.keys(FORMS[body].shape).filter((key) => !UNTOLD.includes(key));
      assert.deepEqual(Object.keys(asked).toSorted(), keys.toSorted());
      const [method = '', path = ''] = call.split(' ');
      const answer = await app.call('alice', method, path.replace(':id', 'mine'), asked);
      assert.equal(answer.status, 200, answer.text);
      const { files, ...others } = asked as { readonly files?: object };
      assert.deepEqual(app.told.at(-1), {
        ...{ verb, id: 'mine', by: 'alice@example.org', ...others },
        ...(files === undefined ? {} : { uploaded: files }),
      });
    });
});
