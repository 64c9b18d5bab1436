import assert from 'node:assert/strict';
import type { JobRow } from '../../client/job-rows.js';
import { LAST_LINES } from '../../domain/output-lines.js';
import { GatedApp } from './gated-app.js';
import { ACCESS, QUOTA } from './server-stack.js';

const WHAT = "set-up of tools failed on host 2: step 'second' ended with code 1";
const MESSAGE = `${WHAT}${LAST_LINES}SECRET hf_1`;
const CUT = `${WHAT} (the rest is for those who may read its logs)`;
const times = { submittedAt: 1, endedAt: 2, attempts: 0, preemptions: 0 };
const ENDED: Partial<JobRow> = {
  phase: 'failed',
  endedAt: 2,
  why: MESSAGE,
  outcome: { ...times, result: 'failed', exitCode: 1, cause: { by: 'task', message: MESSAGE, host: 2 } },
};

describe('lines of output in the words of a failure are for those who may read the logs', () => {
  let app: GatedApp;
  before(async () => {
    app = await GatedApp.start();
    await app.addJob('failed-1', 'alice@example.org', 'vision', ENDED);
  });
  after(() => app?.stop());

  /** Everything that says how the job ended, whatever the caller may see of it. */
  const told = async (who: string): Promise<Readonly<Record<string, string>>> => {
    const ask = async (path: string): Promise<string> => (await app.call(who, 'GET', path)).text;
    return {
      list: await ask('/v1/jobs'),
      status: await ask('/v1/jobs/failed-1'),
      wait: await ask('/v1/jobs/failed-1/wait?timeoutMs=0'),
      why: await ask('/v1/jobs/failed-1/why'),
      description: await ask('/v1/jobs/failed-1/description'),
      events: await ask('/v1/jobs/failed-1/logs?follow=true'),
    };
  };
  const withReaders = (readers: string): void =>
    app.writeFiles(QUOTA, ACCESS.replace('[access]\n', `[access]\nreaders = "${readers}"\n`));
  /** By hand: whom a pool's `readers` let in. */
  const READERS: Readonly<Record<string, readonly string[]>> = {
    owner: ['alice', 'vera', 'olga', 'launcher'],
    project: ['alice', 'bob', 'vera', 'olga', 'launcher'],
    pool: ['alice', 'bob', 'vera', 'olga', 'launcher', 'mallory', 'zoe'],
  };
  for (const [readers, mayRead] of Object.entries(READERS))
    it(`readers = "${readers}": ${mayRead.join(', ')}`, async () => {
      withReaders(readers);
      for (const who of ['alice', 'bob', 'vera', 'olga', 'launcher', 'mallory', 'zoe']) {
        const { description = '', events = '', ...open } = await told(who);
        const isReader = mayRead.includes(who);
        for (const [where, text] of Object.entries(open)) {
          assert.equal(text.includes('SECRET'), isReader, `${who}: ${where}: ${text}`);
          assert.equal(text.includes(JSON.stringify(CUT)), !isReader, `${who}: ${where}: ${text}`);
          assert.ok(text.includes(WHAT), 'what failed stays');
        }
        for (const [where, text] of Object.entries({ description, events })) {
          assert.equal(text.includes('SECRET'), isReader, `${who}: ${where}: ${text}`);
          if (!isReader) assert.match(text, /"code":"forbidden"/);
        }
      }
    });

  it('the reason of a late refusal is whole for those alone, from wait too', async () => {
    withReaders('owner');
    const { outcome: _, ...refused } = ENDED;
    await app.addJob('refused-1', 'alice@example.org', 'vision', refused);
    app.refusals.set('refused-1', MESSAGE);
    for (const [who, isReader] of [
      ['alice', true],
      ['bob', false],
    ] as const)
      for (const path of ['/v1/jobs/refused-1/wait?timeoutMs=0', '/v1/jobs/refused-1']) {
        const { text } = await app.call(who, 'GET', path);
        assert.equal(text.includes('SECRET'), isReader, `${who}: ${text}`);
        assert.equal(text.includes(JSON.stringify(CUT).slice(1, -1)), !isReader, `${who}: ${text}`);
      }
    app.rows.delete('refused-1');
  });

  it('while a pool’s files cannot be used, a list is answered without them', async () => {
    withReaders('pool');
    assert.match((await told('zoe'))['list'] ?? '', /SECRET/);
    // Of another pool, whose files were never good: nobody is known to be its reader.
    const row = app.rows.get('failed-1') ?? assert.fail();
    app.rows.set('failed-1', { ...row, pool: 'other' });
    await app.store.replace('quota/other/applied/pool', JSON.stringify({ v: 1 }), 'application/json');
    const { status, text } = await app.call('zoe', 'GET', '/v1/jobs');
    assert.equal(status, 200, text);
    assert.ok(!text.includes('SECRET') && text.includes(JSON.stringify(CUT)), text);
    app.rows.set('failed-1', row);
  });
});
