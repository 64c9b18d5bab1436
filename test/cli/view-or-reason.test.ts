import assert from 'node:assert/strict';
import { viewOf } from '../../cli/jobs/job-reasons.js';
import { renderUnasked } from '../../cli/terminal/render/why.js';

describe('a job whose workflow does not answer', () => {
  for (const [what, describe, reason] of [
    ['refuses', () => Promise.reject(new Error('the query failed')), 'the query failed'],
    ['is silent', () => new Promise<never>(() => undefined), 'no worker answered within 5 s'],
  ] as const)
    it(`has a reason instead of its view: it ${what}, and why says so`, async () => {
      const known = await viewOf({ describe }, 'train');
      assert.deepEqual(known, { missing: reason });
      assert.match(renderUnasked(reason).join(' '), new RegExp(`is missing.* may be out of date: ${reason}\\.`));
    });

  it('is not spoken of while its workflow answers', () => assert.deepEqual(renderUnasked(undefined), []));
});
