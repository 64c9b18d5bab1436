import assert from 'node:assert/strict';
import type { JobAuthorization } from '../../contract/authorization.js';
import { SAMPLE_BODIES } from '../contract/sample-bodies.js';
import { GatedApp } from './gated-app.js';

const ALICE = 'alice@example.org';

describe('a schedule over HTTP', () => {
  let app: GatedApp;
  before(async () => {
    app = await GatedApp.start();
    await app.addJob('mine', ALICE, 'vision', { why: 'no such secret' });
  });
  after(() => app?.stop());

  it('is created for whoever may submit its job, and signed for all of its firings', async () => {
    const answer = await app.call('alice', 'POST', '/v1/schedules', SAMPLE_BODIES.createSchedule);
    assert.equal(answer.status, 201, answer.text);
    const told = app.told.at(-1) as { readonly user: string; readonly authorization: JobAuthorization };
    const { job, user, project, pool } = told.authorization;
    assert.deepEqual([told.user, job, user, project, pool], [ALICE, 'schedule/nightly', ALICE, 'vision', 'default']);
    const lines = await app.lines(answer);
    assert.deepEqual(
      lines.map(({ verb, decision, job: named }) => [verb, decision, named]),
      [['schedule', 'allowed', 'schedule/nightly']],
    );
  });

  it('of a name that is taken by another user is refused', async () => {
    const body = { ...SAMPLE_BODIES.createSchedule, name: 'mine', job: { ...SAMPLE_BODIES.createSchedule.job } };
    await app.addJob('theirs', 'bob@example.org', 'vision');
    assert.equal((await app.call('alice', 'POST', '/v1/schedules', body)).status, 200, 'it is hers');
    assert.equal((await app.call('alice', 'POST', '/v1/schedules', { ...body, name: 'theirs' })).status, 409);
  });

  for (const [what, more, status] of [
    ['for another user', { user: 'bob@example.org' }, 403],
    ['in a project that is not theirs', { job: { ...SAMPLE_BODIES.createSchedule.job, project: 'nlp' } }, 403],
    ['with files that nobody has uploaded', { files: { a: 'a'.repeat(64) } }, 422],
    ['with a key that no form has', { every: '5m' }, 400],
  ] as const)
    it(`is not created ${what}`, async () => {
      const before = app.told.length;
      const answer = await app.call('alice', 'POST', '/v1/schedules', { ...SAMPLE_BODIES.createSchedule, ...more });
      assert.equal(answer.status >= 400 && answer.status < 500 ? answer.status : answer.text, status, answer.text);
      assert.equal(app.told.length, before);
    });

  it('is shown to whoever is logged in, with its last firings', async () => {
    for (const who of ['alice', 'mallory']) {
      const view = await app.call(who, 'GET', '/v1/schedules/mine');
      assert.deepEqual([view.status, view.body['cron'], view.body['fired']], [200, '30 2 * * *', 1], view.text);
      const list = await app.call(who, 'GET', '/v1/schedules');
      assert.ok((list.body['schedules'] as readonly object[]).length > 0, list.text);
    }
    const none = await app.call('alice', 'GET', '/v1/schedules/none');
    assert.equal(none.status, 404);
    assert.match(none.text, /no schedule 'none'/);
  });

  const CHANGES = [
    ['POST', '/v1/schedules/mine/pause', { verb: 'pause', given: ['mine', ALICE, 'tonight'] }],
    ['POST', '/v1/schedules/mine/resume', { verb: 'resume', given: ['mine', ALICE] }],
    ['POST', '/v1/schedules/mine/trigger', { verb: 'trigger', given: ['mine'] }],
    ['DELETE', '/v1/schedules/mine', { verb: 'delete', given: ['mine'] }],
  ] as const;
  for (const [method, path, wanted] of CHANGES)
    it(`${wanted.verb} is its user's, refused to others, and written into the audit log`, async () => {
      const body = wanted.verb === 'pause' ? SAMPLE_BODIES.pauseSchedule : undefined;
      const before = app.told.length;
      const refused = await app.call('mallory', method, path, body);
      assert.equal(refused.status, 403, refused.text);
      assert.match(refused.text, /schedule mine of alice@example\.org: mallory@example\.org may not pause, resume/);
      assert.equal(app.told.length, before);
      const [line] = await app.lines(refused);
      assert.deepEqual([line?.verb, line?.decision, line?.job], ['schedule-change', 'refused', 'schedule/mine']);
      const answer = await app.call('alice', method, path, body);
      assert.equal(answer.status, 200, answer.text);
      assert.deepEqual(app.told.at(-1), wanted);
    });
});
