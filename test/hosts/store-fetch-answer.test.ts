import assert from 'node:assert/strict';
import { fetchAnswer } from '../../cloud/hosts/store-fetch.js';

const STALL = 'curl: (28) Operation too slow. Less than 1 bytes/sec transferred the last 10 seconds';

/** curl's own words (7.88), and what becomes of each. */
const cases: Record<string, { readonly said: string; readonly want: object }> = {
  'a refusal is none of the moment': {
    said: 'failed 22 0 curl: (22) The requested URL returned error: 403',
    want: { kind: 'refused', status: 403 },
  },
  'HTTP/2 has a space behind the status': {
    said: 'failed 22 0 curl: (22) The requested URL returned error: 404 ',
    want: { kind: 'refused', status: 404 },
  },
  'a rate limit may pass': {
    said: 'failed 22 7 curl: (22) The requested URL returned error: 429',
    want: { kind: 'trouble', bytes: 7, message: 'curl: (22) The requested URL returned error: 429' },
  },
  'a connection that takes too long is none': {
    said: 'failed 28 0 curl: (28) Connection timed out after 5001 milliseconds',
    want: { kind: 'unreachable', message: 'curl: (28) Connection timed out after 5001 milliseconds' },
  },
  'so is a name that is not resolved in time': {
    said: 'failed 28 0 curl: (28) Resolving timed out after 5000 milliseconds',
    want: { kind: 'unreachable', message: 'curl: (28) Resolving timed out after 5000 milliseconds' },
  },
  'a transfer that stands still may go on': {
    said: `failed 28 512 ${STALL}`,
    want: { kind: 'trouble', bytes: 512, message: STALL },
  },
  'a code without words is told': {
    said: 'failed 56 512 ',
    want: { kind: 'trouble', bytes: 512, message: 'curl ended with code 56' },
  },
  'less than was announced is other content': {
    said: 'only 3 of 9 bytes arrived',
    want: { kind: 'other-content', message: 'only 3 of 9 bytes arrived' },
  },
};

describe('what curl says of a fetch', () => {
  for (const [name, { said, want }] of Object.entries(cases)) it(name, () => assert.deepEqual(fetchAnswer(said), want));
});
