import assert from 'node:assert/strict';
import { BucketMissing } from '../../cloud/store/port.js';
import { s3Failure } from '../../cloud/store/s3-answers.js';
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

describe('a bucket that does not exist', () => {
  const error = failed({ code: 404 }, 'The specified bucket does not exist.');
  const commands = {
    'gcloud storage buckets create gs://b --project=p --location=REGION': { projectId: 'p' },
    'gcloud storage buckets create gs://b --project=PROJECT --location=REGION': { endpoint: 'https://google.example' },
    [`-d '{"name":"b"}' 'http://127.0.0.1:1/storage/v1/b?project=p'`]: {
      ...{ endpoint: 'http://127.0.0.1:1/', projectId: 'p' },
    },
  };
  for (const [command, asked] of Object.entries(commands))
    it(`is told with the command that makes it: ${command}`, () => {
      for (const what of ['read gs://b/o', 'list gs://b/o*', 'create bucket b']) {
        const made = storeError(error, what, asked);
        assert.ok(made instanceof BucketMissing);
        assert.match(made.message, /: gs:\/\/b does not exist/);
        assert.ok(made.message.includes(command), made.message);
      }
    });
  it('is not a missing object, or one that this login may not see', () => {
    for (const other of [
      failed({ code: 404 }, 'No such object: b/o'),
      failed({ code: 403 }, "Permission 'storage.objects.list' denied on resource (or it may not exist)."),
    ])
      assert.ok(!(storeError(other, 'read gs://b/o') instanceof BucketMissing));
  });
  it('of S3 is told as such, too', () => {
    const body = Buffer.from('<Error><Code>NoSuchBucket</Code></Error>');
    assert.ok(s3Failure({ status: 404, body }, 'write s3://b/o') instanceof BucketMissing);
    assert.ok(!(s3Failure({ status: 403, body: Buffer.alloc(0) }, 'write s3://b/o') instanceof BucketMissing));
  });
});

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
