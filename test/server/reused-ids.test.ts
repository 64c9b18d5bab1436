import assert from 'node:assert/strict';
import { purgeJob } from '../../client/job-records.js';
import { jobPrefix, runObject } from '../../domain/store-layout.js';
import { GatedApp } from './gated-app.js';

/** A job that is over, of which the store has a spec, by the run that took its id. */
describe('an id that is used again by another user, on two replicas', () => {
  let app: GatedApp;
  before(async () => (app = await GatedApp.start({ replicas: 2 })));
  after(() => app?.stop());

  const ended = { phase: 'succeeded', endedAt: 2 } as const;
  const submitted = async (owner: string, project: string): Promise<void> => {
    await app.addJob('again', `${owner}@example.org`, project, ended);
    await app.store.replace('jobs/again/spec.yaml', `# of ${owner}`, 'application/yaml');
    await app.store.replace(runObject('again'), `run of ${owner}`, 'text/plain');
  };
  const read = async (who: string, replica: number): Promise<readonly [number, string]> => {
    const path = '/v1/objects/content?name=jobs/again/spec.yaml';
    const { status, text } = await app.call(who, 'GET', path, undefined, { replica });
    return [status, status === 200 ? text : ''];
  };

  it('is the new user’s on both at once, whichever of them deleted the old one', async () => {
    for (const deleting of [0, 1]) {
      await submitted('bob', 'vision');
      for (const replica of [0, 1]) {
        assert.deepEqual(await read('bob', replica), [200, '# of bob']);
        assert.deepEqual(await read('mallory', replica), [403, '']);
      }
      const gone = await app.call('bob', 'DELETE', '/v1/jobs/again', undefined, { replica: deleting });
      assert.equal(gone.status, 200, gone.text);
      await submitted('mallory', 'speech');
      for (const replica of [0, 1]) {
        assert.deepEqual(await read('mallory', replica), [200, '# of mallory'], `replica ${replica}`);
        assert.deepEqual(await read('bob', replica), [403, ''], `replica ${replica}`);
        const deleted = await app.call('bob', 'DELETE', '/v1/jobs/again', undefined, { replica });
        assert.equal(deleted.status, 403, deleted.text);
      }
    }
  });

  it('is not free before everything of the job that had it is gone', async () => {
    await submitted('bob', 'vision');
    const removed: string[] = [];
    const { store } = app;
    const breaking = {
      list: (prefix: string) => store.list(prefix),
      remove: async (name: string) => {
        if (name.endsWith('spec.yaml')) throw new Error('the store is away');
        removed.push(name);
        return store.remove(name);
      },
    };
    await assert.rejects(purgeJob(breaking, 'again'), /the store is away/);
    assert.ok(!removed.includes(runObject('again')), removed.join(' '));
    assert.equal((await store.read(runObject('again')))?.toString(), 'run of bob');
    await purgeJob(store, 'again');
    assert.deepEqual(await store.list(jobPrefix('again')), []);
  });
});
