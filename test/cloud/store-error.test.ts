import assert from 'node:assert/strict';
import { httpStatusOf, storeError } from '../../cloud/store/store-error.js';

const failed = (fields: object, message = 'why'): Error => Object.assign(new Error(message), fields);

const cases: Record<string, { error: unknown; want: 'StoreRefused' | 'StoreUnavailable' }> = {
  'no right to the bucket': { error: failed({ code: 403 }), want: 'StoreRefused' },
  'no credentials at the server': { error: failed({ code: 401 }), want: 'StoreRefused' },
  'no such bucket': { error: failed({ code: 404 }, 'The specified bucket does not exist.'), want: 'StoreRefused' },
  'no credentials here': {
    error: failed({}, 'Could not load the default credentials. Browse to ..'),
    want: 'StoreRefused',
  },
  'a key file that is not there': {
    error: failed({}, 'The file at /k.json does not exist, or it is not a file. ENOENT'),
    want: 'StoreRefused',
  },
  'a rate limit': { error: failed({ code: 429 }), want: 'StoreUnavailable' },
  'a broken server': { error: failed({ code: 503 }), want: 'StoreUnavailable' },
  'no server': { error: failed({ code: 'ECONNREFUSED' }, ''), want: 'StoreUnavailable' },
  'a value that is no error': { error: 'oops', want: 'StoreUnavailable' },
};

describe('a failed request to the store', () => {
  for (const [name, { error, want }] of Object.entries(cases)) {
    it(`${name} is ${want}`, () => {
      const made = storeError(error, 'read gs://b/o');
      assert.equal(made.name, want);
      assert.match(made.message, /^store: read gs:\/\/b\/o: ./);
    });
  }

  it('has its status in code or in status, as a number or as text', () => {
    assert.equal(httpStatusOf(failed({ code: 412 })), 412);
    assert.equal(httpStatusOf(failed({ status: 412 })), 412);
    assert.equal(httpStatusOf(failed({ code: '503' })), 503);
    assert.equal(httpStatusOf(failed({ code: 'ECONNRESET' })), undefined);
    assert.equal(httpStatusOf(null), undefined);
  });
});
