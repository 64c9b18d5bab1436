import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { submitterOf, type Trust } from '../../activities/authorization.js';
import { isSignedBy, readSigningKey, readVerifyingKey, sha256Of } from '../../cloud/trust/submission-signature.js';
import type { AcceptJobInput } from '../../contract/job-activities.js';
import type { JobInput } from '../../contract/job.js';
import { ownFile } from '../../contract/group-forms.js';
import { formatProblems } from '../../domain/problem.js';
import type { JobSpec } from '../../domain/job-spec.js';
import { SubmissionSigner } from '../../server/services.js';

const pair = generateKeyPairSync('ed25519');
const other = generateKeyPairSync('ed25519');
const trust: Trust = {
  isVerified: (pool) => pool !== 'sandbox',
  hasVerifiedPools: true,
  serverKeys: new Map([['k1', pair.publicKey]]),
  isSignedBy,
  sha256Of,
};
const signer = new SubmissionSigner('k1', pair.privateKey);
const WHO = { job: 'train-1', pool: 'default', project: 'vision', user: 'alice' };
const INPUT: JobInput = { v: 1, job: { command: { run: 'true' } }, user: 'alice', files: { 'a.txt': 'f'.repeat(64) } };

function ask(input: JobInput, spec: Partial<JobSpec> = {}, id = 'train-1') {
  const question = { job: { id, run: 'r' }, spec: { pool: 'default', ...spec }, input } as unknown as AcceptJobInput;
  return submitterOf(trust, question);
}
const signed = (input: JobInput = INPUT, of: Partial<typeof WHO> = {}): JobInput => ({
  ...input,
  authorization: signer.sign({ ...WHO, ...of }, input, 1),
});
/** As Temporal's converter brings it. */
const overTheWire = (input: JobInput): JobInput => JSON.parse(JSON.stringify(input)) as JobInput;

describe('whose a job is, in a pool in verified mode', () => {
  it('is whom a server signed for', () => {
    assert.deepEqual(ask(overTheWire(signed())), { user: 'alice', project: 'vision', isVerified: true });
  });

  it('does not depend on the time: a job may wait for years', () => {
    assert.equal(ask(signed()).user, 'alice');
  });

  const refused: Readonly<Record<string, readonly [() => unknown, RegExp]>> = {
    'one that is not signed': [() => ask(INPUT), /it is not signed/],
    'the signature of another job': [
      () => ask(signed(), {}, 'train-2'),
      /it was signed for job 'train-1', not 'train-2'/,
    ],
    'another pool': [() => ask(signed(), { pool: 'big' }), /it was signed for pool 'default', not 'big'/],
    'another user in the file': [() => ask(signed(), { user: 'bob' }), /it was signed for user 'alice', not 'bob'/],
    'another user in the input': [() => ask({ ...signed(), user: 'bob' }), /it was signed for user 'alice', not 'bob'/],
    'another project': [() => ask(signed(), { project: 'speech' }), /it was signed for project 'vision', not 'speech'/],
    'another command': [
      () => ask({ ...signed(), job: { command: { run: 'id' } } }),
      /its input is not the one that was signed/,
    ],
    'another file': [
      () => ask({ ...signed(), files: { 'a.txt': 'e'.repeat(64) } }),
      /its input is not the one that was signed/,
    ],
    'a file more': [() => ask({ ...signed(), source: 'x' }), /its input is not the one that was signed/],
    'a key that nobody named': [
      () => ask({ ...INPUT, authorization: new SubmissionSigner('k2', other.privateKey).sign(WHO, INPUT, 1) }),
      /it is signed with key 'k2', which this worker does not have/,
    ],
    'a key under the name of another': [
      () => ask({ ...INPUT, authorization: new SubmissionSigner('k1', other.privateKey).sign(WHO, INPUT, 1) }),
      /its signature is not one of key 'k1'/,
    ],
    'a changed statement': [
      () => ask({ ...signed(), authorization: { ...signer.sign(WHO, INPUT, 1), user: 'mallory' } }),
      /its signature is not one of key 'k1'/,
    ],
    'a signature that has no form': [
      () => ask({ ...INPUT, authorization: { user: 'alice' } as never }),
      /authorization: pool default takes only jobs whose user a server has verified/,
    ],
  };
  for (const [name, [call, why]] of Object.entries(refused)) it(`refuses ${name}`, () => assert.throws(call, why));

  it("refuses each as the job's own fault, with the way that works", () => {
    assert.throws(
      () => ask(INPUT),
      (error: Error & { type?: string; nonRetryable?: boolean }) => {
        assert.equal(error.type, 'InvalidJob');
        assert.equal(error.nonRetryable, true);
        assert.match(error.message, /jobctl login, then jobctl submit/);
        return true;
      },
    );
  });

  it('is in a trusted pool what the client says, and is marked so', () => {
    assert.deepEqual(ask(INPUT, { pool: 'sandbox' }), { user: 'alice', isVerified: false });
    assert.deepEqual(ask({ v: 1, job: {} }, { pool: 'sandbox' }), { user: 'unknown', isVerified: false });
  });
});

describe('the place of a job in an array, in a pool in verified mode', () => {
  const job = { command: { run: 'true' }, array: { matrix: { seed: '1..3' } } };
  const array: JobInput = { v: 1, job, user: 'alice' };
  const signedFor = (id: string, member: JobInput['member'], input = array): JobInput => ({
    ...overTheWire({ ...input, authorization: signer.sign({ ...WHO, job: id }, input, 1) }),
    ...(member && { member }),
  });

  const taken: Readonly<Record<string, readonly [string, NonNullable<JobInput['member']>, string]>> = {
    'the first member': ['exp', { group: 'exp', index: 0 }, 'exp-0'],
    'the last': ['exp', { group: 'exp', index: 2 }, 'exp-2'],
    'one of a retry, by the statement of that round': ['exp-r2', { group: 'exp', index: 1, round: 2 }, 'exp-r2-1'],
  };
  for (const [name, [signedId, member, id]] of Object.entries(taken))
    it(`is covered by the one statement of its group: ${name}`, () =>
      assert.equal(ask(signedFor(signedId, member), {}, id).user, 'alice'));

  const forged: Readonly<Record<string, readonly [string, JobInput['member'], string, RegExp]>> = {
    'another index than that of its id': ['exp', { group: 'exp', index: 0 }, 'exp-1', /for job 'exp-0', not 'exp-1'/],
    'the statement of another group': ['exp', { group: 'abc', index: 0 }, 'abc-0', /for job 'exp', not 'abc-0'/],
    'another id altogether': ['exp', { group: 'exp', index: 0 }, 'train', /for job 'exp-0', not 'train'/],
    'the id of its group': ['exp', { group: 'exp', index: 0 }, 'exp', /for job 'exp-0', not 'exp'/],
    'a retry by the statement of the first round': [
      'exp',
      { group: 'exp', index: 0, round: 1 },
      'exp-r1-0',
      /for job 'exp', not/,
    ],
    'the first round by the statement of a retry': [
      'exp-r1',
      { group: 'exp', index: 0 },
      'exp-0',
      /for job 'exp-r1', not/,
    ],
    'a member that does not say so': ['exp', undefined, 'exp-0', /for job 'exp', not 'exp-0'/],
  };
  for (const [name, [signedId, member, id, why]] of Object.entries(forged))
    it(`lets nobody in with ${name}`, () => assert.throws(() => ask(signedFor(signedId, member), {}, id), why));

  it('lets nobody change the array', () => {
    const other = { ...job, array: { matrix: { seed: '1..30' } } };
    const input = { ...signedFor('exp', { group: 'exp', index: 9 }), job: other };
    assert.throws(() => ask(input, {}, 'exp-9'), /its input is not the one that was signed/);
  });

  it('is not there if it is null, as Python writes it', () => {
    assert.equal(ask({ ...signed(), member: null as never }).user, 'alice');
  });

  const wrong: Readonly<Record<string, readonly [unknown, JobInput['member'], RegExp]>> = {
    'an index outside of the matrix': [job, { group: 'exp', index: 3 }, /has no member 3: its matrix has 3 places/],
    'a place in a file without an array': [{ command: {} }, { group: 'exp', index: 0 }, /array: is missing/],
    'an array without a place': [job, undefined, /array: is a file of many jobs/],
  };
  for (const [name, [file, member, why]] of Object.entries(wrong))
    it(`gives no file for ${name}`, () => {
      const own = ownFile({ job: file, ...(member && { member }) });
      assert.ok(!own.ok);
      assert.match(formatProblems(own.problems), why);
    });
});

describe('the place of a job in a schedule, in a pool in verified mode', () => {
  const at = Date.parse('2026-11-30T02:00:00Z');
  const input: JobInput = { v: 1, job: { command: { run: 'true' } }, user: 'alice' };
  const signedFor = (id: string, firing: unknown): JobInput => ({
    ...overTheWire({ ...input, authorization: signer.sign({ ...WHO, job: id }, input, 1) }),
    ...(firing === undefined ? {} : { firing: firing as NonNullable<JobInput['firing']> }),
  });
  const firing = { schedule: 'nightly', at };

  it('is covered by the one statement of its schedule, for each of its times', () => {
    for (const each of [at, at + 61_000]) {
      const id = each === at ? 'nightly-20261130t0200' : 'nightly-20261130t020101';
      assert.equal(ask(signedFor('schedule/nightly', { ...firing, at: each }), {}, id).user, 'alice');
    }
  });

  it('covers the members of its groups, each under its own id alone, and no later round', () => {
    const memberOf = (member: object) => ({ ...signedFor('schedule/nightly', firing), member }) as JobInput;
    const member = memberOf({ group: 'nightly-20261130t0200', index: 3 });
    assert.equal(ask(member, {}, 'nightly-20261130t0200-3').user, 'alice');
    const wrong = [
      [member, 'nightly-20261130t0200-4'],
      [member, 'nightly-20261130t0200'],
      [memberOf({ group: 'nightly-20261130t0200', index: 3, round: 1 }), 'nightly-20261130t0200-r1-3'],
      [memberOf({ group: 'other', index: 3 }), 'other-3'],
    ] as const;
    for (const [input, id] of wrong) assert.throws(() => ask(input, {}, id), /it was signed for job/, id);
    const retried = {
      ...signedFor('nightly-20261130t0200-r1', firing),
      member: { group: 'nightly-20261130t0200', index: 3, round: 1 },
    };
    assert.equal(ask(retried, {}, 'nightly-20261130t0200-r1-3').user, 'alice', 'a retry is signed by itself');
  });

  const forged: Readonly<Record<string, readonly [string, unknown, string, RegExp]>> = {
    'the id of another time': [
      'schedule/nightly',
      firing,
      'nightly-20261130t0300',
      /for job 'nightly-20261130t0200', not/,
    ],
    'another id altogether': ['schedule/nightly', firing, 'train', /for job 'nightly-20261130t0200', not 'train'/],
    'the statement of another schedule': [
      'schedule/weekly',
      firing,
      'nightly-20261130t0200',
      /for job 'schedule\/weekly', not/,
    ],
    'the statement of a job': ['nightly', firing, 'nightly-20261130t0200', /for job 'nightly', not/],
    'the statement of a schedule, and none': [
      'schedule/nightly',
      undefined,
      'nightly',
      /for job 'schedule\/nightly', not/,
    ],
    'that statement, and null': ['schedule/nightly', null, 'nightly-20261130t0200', /for job 'schedule\/nightly', not/],
  };
  for (const [name, [signedId, place, id, why]] of Object.entries(forged))
    it(`lets nobody in with ${name}`, () => assert.throws(() => ask(signedFor(signedId, place), {}, id), why));
});

describe("a server's key", () => {
  const pem = (key: typeof pair.publicKey, type: 'spki' | 'pkcs8') => key.export({ type, format: 'pem' }).toString();
  it('is refused where a worker is given the private half, or another kind of key', () => {
    assert.throws(() => readVerifyingKey(pem(pair.privateKey, 'pkcs8'), 'k'), /k: holds a private key/);
    const { publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    assert.throws(() => readVerifyingKey(pem(publicKey, 'spki'), 'k'), /k: is a key of type rsa, wanted ed25519/);
    assert.throws(() => readSigningKey('nonsense', 'k'), /k: holds no private key/);
  });
});
