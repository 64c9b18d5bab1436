import assert from 'node:assert/strict';
import {
  canonicalStore,
  placeOfObject,
  readStorePlace,
  storePlace,
  storesProblem,
  storeText,
} from '../../domain/store-place.js';

describe('where a store is', () => {
  const places: Record<string, { readonly text: string; readonly object: string }> = {
    jobs: { text: 'jobs', object: 'gs://jobs/a/b' },
    'gs://my.jobs-1': { text: 'my.jobs-1', object: 'gs://my.jobs-1/a/b' },
    'gs://jobs/': { text: 'jobs', object: 'gs://jobs/a/b' },
    's3://jobs': { text: 's3://jobs', object: 's3://jobs/a/b' },
    's3://jobs/': { text: 's3://jobs', object: 's3://jobs/a/b' },
    's3://jobs/of/lab/': { text: 's3://jobs/of/lab', object: 's3://jobs/of/lab/a/b' },
    'file:///srv/jobs': { text: 'file:///srv/jobs', object: 'file:///srv/jobs/a/b' },
    'file:///srv/our%20jobs/': { text: 'file:///srv/our%20jobs', object: 'file:///srv/our%20jobs/a/b' },
  };
  for (const [text, want] of Object.entries(places))
    it(`takes ${text}`, () => {
      const place = storePlace(text);
      assert.equal(storeText(place), want.text);
      assert.equal(canonicalStore(text), want.text);
      assert.deepEqual(storePlace(want.text), place);
      assert.equal(placeOfObject(want.text, 'a/b'), want.object);
    });

  const wrong: Record<string, RegExp> = {
    '': /is not the name of a bucket/,
    Jobs: /small letters/,
    'jobs/logs': /the name alone: jobs/,
    '/srv/jobs': /a folder is file:\/\/\/ABSOLUTE\/PATH/,
    './jobs': /a folder is file:/,
    'gs://jobs/logs': /the name alone: jobs/,
    's3:jobs': /names no bucket of S3/,
    's3://': /names no bucket of S3/,
    's3://my_jobs': /names no bucket of S3/,
    's3://jobs/a//b': /two slashes/,
    's3://jobs/../b': /\. or \.\./,
    'file:jobs': /not the URL of a folder/,
    'file://server/jobs': /not the URL of a folder/,
    'file:///': /whole file system/,
    'file:///srv/../etc': /\. or \.\./,
    'file:///srv/%2E%2E/etc': /\. or \.\./,
    'file:///srv/%zz': /not the URL of a folder/,
    'https://jobs.example.com': /does not know: https.*s3:\/\/BUCKET/,
  };
  for (const [text, says] of Object.entries(wrong))
    it(`refuses ${JSON.stringify(text)}, and says what to write`, () => {
      const read = readStorePlace(text);
      assert.ok('what' in read);
      assert.match(`${read.what}: ${read.remedy}`, says);
      assert.throws(() => storePlace(text), RangeError);
    });

  it('has two of one kind, and no server for a folder', () => {
    assert.equal(
      storesProblem({ bucket: 's3://a-b', systemBucket: 's3://a-b/system', endpoint: 'http://h' }),
      undefined,
    );
    assert.equal(storesProblem({ bucket: 's3://a-b', systemBucket: 'abc' })?.field, 'systemBucket');
    assert.equal(storesProblem({ bucket: 'file:///a', endpoint: 'http://h' })?.field, 'endpoint');
  });
});
