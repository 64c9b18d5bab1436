import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import type { JobAuthorization } from '../../contract/authorization.js';
import type { JobInput } from '../../contract/job.js';
import { SubmissionSigner } from '../../server/services.js';
import { GatedApp } from './gated-app.js';

const WHO = { pool: 'default', project: 'vision', user: 'alice@example.org' };
const SUBMISSION: JobInput = { v: 1, job: { array: { matrix: { n: '1..2' } } }, user: 'alice@example.org' };

describe('a group over HTTP', () => {
  let app: GatedApp;
  before(async () => {
    app = await GatedApp.start();
    await app.addJob('mine', 'alice@example.org', 'vision');
  });
  after(() => app?.stop());

  const retry = async (submission: JobInput): Promise<{ status: number; text: string; signed?: JobAuthorization }> => {
    app.submissions.set('mine', submission);
    const { status, text } = await app.call('alice', 'POST', '/v1/groups/mine/retry', { from: 'wks' });
    const { authorization: signed }: { readonly authorization?: JobAuthorization } = app.told.at(-1) ?? {};
    return { status, text, ...(signed && { signed }) };
  };

  it('is shown with its members to whoever may see its jobs', async () => {
    const row = await app.call('alice', 'GET', '/v1/groups/mine');
    assert.equal(row.status, 200, row.text);
    assert.equal(row.body['members'], 2);
    const view = await app.call('alice', 'GET', '/v1/groups/mine/description');
    assert.deepEqual(view.body['state'], { marks: 'sf', rounds: '00' });
  });

  it('is listed with what it waits for, for everybody', async () => {
    const { status, body, text } = await app.call('mallory', 'GET', '/v1/groups?user=alice@example.org&limit=1');
    assert.equal(status, 200, text);
    const [row, ...others] = body['rows'] as readonly Record<string, unknown>[];
    assert.deepEqual([row?.['id'], row?.['awaited'], row?.['counts']], ['mine', 'prep to succeed', { waiting: 2 }]);
    assert.equal(others.length, 0);
    assert.deepEqual((await app.call('mallory', 'GET', '/v1/groups?user=bob')).body, { rows: [] });
  });

  it('is not there where none is', async () => {
    const { status, text } = await app.call('alice', 'GET', '/v1/groups/none');
    assert.equal(status, 404);
    assert.match(text, /no group 'none'/);
  });

  for (const what of ['cancel', 'retry', 'begin', 'stop', 'resume'])
    it(`${what} is refused to others, and written into the audit log`, async () => {
      const before = app.told.length;
      const answer = await app.call('mallory', 'POST', `/v1/groups/mine/${what}`, {});
      assert.equal(answer.status, 403, answer.text);
      assert.equal(app.told.length, before);
      const [line] = await app.lines(answer);
      assert.deepEqual([line?.decision, line?.job], ['refused', 'mine']);
    });

  it("is cancelled in the caller's name", async () => {
    const { status } = await app.call('alice', 'POST', '/v1/groups/mine/cancel', { from: 'wks', verb: 'cancel' });
    assert.equal(status, 200);
    assert.deepEqual(app.told.at(-1), { id: 'mine', by: 'alice@example.org', from: 'wks', verb: 'cancel' });
  });

  it("begins in the caller's name without those that it waits for", async () => {
    const { status, text } = await app.call('alice', 'POST', '/v1/groups/mine/begin', { from: 'wks' });
    assert.equal(status, 200, text);
    assert.deepEqual(app.told.at(-1), { verb: 'beginGroup', id: 'mine', by: 'alice@example.org', from: 'wks' });
  });

  it("is stopped and goes on in the caller's name", async () => {
    const stopped = await app.call('alice', 'POST', '/v1/groups/mine/stop', { from: 'wks', release: true });
    assert.equal(stopped.status, 200, stopped.text);
    assert.deepEqual(app.told.at(-1), {
      ...{ verb: 'stopGroup', id: 'mine', by: 'alice@example.org', from: 'wks', release: true },
    });
    const resumed = await app.call('alice', 'POST', '/v1/groups/mine/resume');
    assert.equal(resumed.status, 200, resumed.text);
    assert.deepEqual(app.told.at(-1), { verb: 'resumeGroup', id: 'mine', by: 'alice@example.org' });
  });

  it('gives another job its outputs only if the caller may read them', async () => {
    const submit = (who: string, of: string, project = 'vision') =>
      app.call(who, 'POST', '/v1/jobs', {
        job: {
          ...{
            project,
            tpu: { accelerator: 'v5litepod-1', zone: 'us-central1-a' },
            command: { run: 'true' },
          },
          inputs: { data: of },
        },
      });
    const own = await submit('alice', 'mine');
    assert.equal(own.status, 201, own.text);
    const others = await submit('mallory', 'mine', 'speech');
    assert.equal(others.status, 403, others.text);
    assert.match(others.text, /job mine of alice@example.org: mallory@example.org may not read the outputs/);
    const none = await submit('alice', 'none');
    assert.equal(none.status, 422, none.text);
    assert.match(none.text, /inputs: there is no job or group 'none'/);
  });

  it('is signed for a retry as the server signed the group itself', async () => {
    const authorization = app.signer.sign({ job: 'mine', ...WHO }, SUBMISSION, 1);
    const { status, text, signed } = await retry({ ...SUBMISSION, authorization });
    assert.equal(status, 200, text);
    assert.equal(signed?.job, 'mine-r1');
    assert.deepEqual({ pool: signed?.pool, project: signed?.project, user: signed?.user }, WHO);
    assert.equal(signed?.sha256, authorization.sha256);
  });

  const forged: Readonly<Record<string, readonly [() => JobInput, RegExp]>> = {
    'no statement': [() => SUBMISSION, /no server has signed it/],
    'the statement of another group': [
      () => ({ ...SUBMISSION, authorization: app.signer.sign({ job: 'other', ...WHO }, SUBMISSION, 1) }),
      /its signature is of something else/,
    ],
    'another file': [
      () => ({ ...SUBMISSION, job: {}, authorization: app.signer.sign({ job: 'mine', ...WHO }, SUBMISSION, 1) }),
      /its signature is of something else/,
    ],
    'another user in the statement': [
      () => ({
        ...SUBMISSION,
        authorization: { ...app.signer.sign({ job: 'mine', ...WHO }, SUBMISSION, 1), user: 'bob' },
      }),
      /its signature is of something else/,
    ],
    'the key of another': [
      () => {
        const other = new SubmissionSigner('k', generateKeyPairSync('ed25519').privateKey);
        return { ...SUBMISSION, authorization: other.sign({ job: 'mine', ...WHO }, SUBMISSION, 1) };
      },
      /its signature is of something else/,
    ],
    'a key that the server no longer has': [
      () => {
        const other = new SubmissionSigner('old', generateKeyPairSync('ed25519').privateKey);
        return { ...SUBMISSION, authorization: other.sign({ job: 'mine', ...WHO }, SUBMISSION, 1) };
      },
      /it was signed with key 'old', which this server no longer has/,
    ],
  };
  for (const [name, [input, why]] of Object.entries(forged))
    it(`is not signed for a retry with ${name}`, async () => {
      const before = app.told.length;
      const { status, text } = await retry(input());
      assert.equal(status, 409, text);
      assert.match(text, why);
      assert.equal(app.told.length, before);
    });
});
