import assert from 'node:assert/strict';
import { formatProblems } from '../../domain/problem.js';
import { inputProblems } from '../../workflows/job/accept.js';

const JOB = { tpu: { accelerator: 'v5litepod-8', zone: 'us-central1-a' } };
const EXAMPLE = '  start the workflow with one argument: {"v": 1, "job": {"tpu": {..}, "command": {..}}}';
const VERSIONS = '  known: 1, a whole number; a later one needs later workers (docs/contract.md, "Versions")';
const KEYS = '  known here: v, job, source, user, files, sshKey, identityKeys, member, firing, authorization';

/** What another service may send, in whatever language, and every word that its author is told. */
const WRONG: Readonly<Record<string, { readonly input: unknown; readonly want: readonly string[] }>> = {
  'no argument': { input: undefined, want: ['input: is missing', EXAMPLE] },
  None: { input: null, want: ['input: is missing', EXAMPLE] },
  'the job file as text': { input: 'tpu: {}', want: ["input: 'tpu: {}' is not the input of a job", EXAMPLE] },
  'a list': { input: [1], want: ['input: [1] is not the input of a job', EXAMPLE] },
  'the job file alone': { input: JOB, want: ['input.v: is missing', EXAMPLE] },
  'a later version': {
    input: { v: 2, job: JOB, more: 1 },
    want: ["input.v: 2 is not a version of a job's input that this worker knows", VERSIONS],
  },
  'a version that is text': {
    input: { v: '1', job: JOB },
    want: ["input.v: '1' is not a version of a job's input that this worker knows", VERSIONS],
  },
  'no job': { input: { v: 1 }, want: ['input.job: is missing', EXAMPLE] },
  'a job that is None': { input: { v: 1, job: null }, want: ['input.job: is missing', EXAMPLE] },
  'a misspelt key': {
    input: { v: 1, jbo: JOB, job: JOB },
    want: ["input.jbo: no such key in a job's input", '  did you mean job?', KEYS],
  },
  'a user and a source of the wrong kind': {
    input: { v: 1, job: JOB, user: 7, source: { a: 1 } },
    want: ['input.source: {"a":1} is not text', 'input.user: 7 is not text'],
  },
  'a user that no search attribute takes': {
    input: { v: 1, job: JOB, user: 'a\nb' },
    want: ["input.user: 'a\\nb' is no user", '  1 to 100 characters, none of them a control character'],
  },
  'keys that are no fingerprints': {
    input: { v: 1, job: JOB, identityKeys: { '~/k': 'abc' } },
    want: ["input.identityKeys.~/k: 'abc' is no fingerprint of a key", '  as `ssh-keygen -l` shows it'],
  },
  'files that are a list': {
    input: { v: 1, job: JOB, files: ['a'] },
    want: ['input.files: ["a"] is not a section of PATH: SHA-256'],
  },
  'a place in an array that is none': {
    input: { v: 1, job: JOB, member: { group: 'exp', index: '3' } },
    want: [
      'input.member: is no place in an array: index: Invalid input: expected number, received string',
      '  such as {"group": "exp", "index": 0}',
    ],
  },
  'a file without its hash': {
    input: { v: 1, job: JOB, files: { 'a.txt': 'AB' } },
    want: ["input.files.a.txt: 'AB' is no SHA-256", '  64 hex digits, in small letters'],
  },
};

describe("the input of a job's workflow", () => {
  for (const [name, { input, want }] of Object.entries(WRONG)) {
    it(`${name} is refused in words that say what to do`, () =>
      assert.deepEqual(formatProblems(inputProblems(input)).split('\n'), want));
  }

  it('takes None for what is left out, and a login name of any kind', () => {
    const files = { 'requirements.txt': 'a'.repeat(64) };
    assert.deepEqual(inputProblems({ v: 1, job: JOB, source: null, user: null, files: null, carry: null }), []);
    assert.deepEqual(inputProblems({ v: 1, job: JOB, source: 'tpu: {}', user: 'CORP\\jürgen', files }), []);
  });
});
