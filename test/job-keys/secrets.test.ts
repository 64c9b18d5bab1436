import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { JobKeySecretError, openJobKeys, refuseStoredSecrets } from '../../cloud/job-keys/open-job-keys.js';
import { newKeyLine } from '../../cloud/keys/key-reference.js';
import { loadWorkerConfig } from '../../worker/config.js';
import { readJobKeys } from '../../worker/keys.js';

const JOB = { id: 'a', run: 'r' };

describe('the secrets that the keys of jobs are made from', () => {
  let folder: string;
  beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'job-key-secrets-'))));
  afterEach(() => rmSync(folder, { recursive: true }));
  const put = (name: string, line: string = newKeyLine(new Date(0), name.replace(/.*\//, ''))): string => {
    writeFileSync(join(folder, name), `${line}\n`, { mode: 0o600 });
    return pathToFileURL(join(folder, name)).href;
  };
  const isSaid = (words: RegExp) => (error: unknown) => {
    assert.ok(error instanceof JobKeySecretError);
    assert.match(error.message, words);
    assert.doesNotMatch(error.message, /[A-Za-z0-9+/]{43}=/);
    return true;
  };

  it('are named in the configuration of the worker or in its environment, the one of new jobs apart', async () => {
    const [now, before] = [put('now'), put('before')];
    const file = join(folder, 'worker.json');
    const ssh = { privateKeyFile: '/k', publicKeyFile: '/k.pub' };
    const rest = { store: { bucket: 'bucket' }, googleProject: 'p' };
    writeFileSync(file, JSON.stringify({ ...rest, ssh: { ...ssh, jobKeySecret: now, formerJobKeySecrets: [before] } }));
    const config = loadWorkerConfig({ file, environment: {}, flags: {} });
    assert.deepEqual((await readJobKeys(config)).secretIds, ['now', 'before']);
    writeFileSync(file, JSON.stringify({ ...rest, ssh }));
    const environment = { JOBCTL_SSH_FORMER_JOB_KEY_SECRETS: `${now}, ${before}` };
    const keys = await readJobKeys(loadWorkerConfig({ file, environment, flags: {} }));
    assert.deepEqual([keys.secretIds, keys.newest(JOB)], [['now', 'before'], undefined]);
  });

  it('an installation without one makes no keys of jobs', async () => {
    const keys = await openJobKeys({});
    assert.deepEqual([keys.secretIds, keys.newest(JOB), keys.find(JOB, 'ssh-ed25519 A')], [[], undefined, undefined]);
  });

  it('one that is not there, is none, or can be read by others is refused with what to do', async () => {
    const open = put('open');
    chmodSync(join(folder, 'open'), 0o644);
    const cases: Record<string, readonly [reference: string, words: RegExp]> = {
      'not there': ['file:///nowhere/secret', /^file:\/\/\/nowhere\/secret: the job-key secret cannot be read: ENOENT/],
      none: [
        put('none', 'hunter2'),
        /: holds no job-key secret: wanted one line, ID:BASE64\n {2}make one: jobctl setup job-keys/,
      ],
      open: [open, /: others can read this key \(mode 644\)\n {2}chmod 600 /],
      'no reference': ['secret:mine', /^job-key secret: what is given is no reference to a key: wanted file:/],
      'two of one id': [put('twin', newKeyLine(new Date(0), 'x')), /two different keys of the id 'x'/],
    };
    for (const [name, [current, words]] of Object.entries(cases)) {
      const former = name === 'two of one id' ? [put('other', newKeyLine(new Date(0), 'x'))] : [];
      await assert.rejects(openJobKeys({ current, former }), isSaid(words), name);
    }
  });

  it('one in the secret store is refused: jobs can print what is there', () => {
    for (const name of ['secrets', 'secrets-not']) mkdirSync(join(folder, name));
    const [inStore, beside] = [put('secrets/s'), put('secrets-not/s')];
    const store = pathToFileURL(join(folder, 'secrets')).href;
    const words = /: is in the secret store, and jobs can read every secret of that\n {2}keep it elsewhere/;
    assert.throws(() => refuseStoredSecrets({ current: inStore }, store), isSaid(words));
    assert.throws(() => refuseStoredSecrets({ former: [beside, inStore] }, store), isSaid(words));
    assert.throws(() => refuseStoredSecrets({ current: inStore }, `${store}/`), isSaid(words));
    assert.throws(
      () => refuseStoredSecrets({ current: 'projects/p/secrets/jobctl-k/versions/1' }, undefined),
      isSaid(words),
    );
    refuseStoredSecrets({ current: beside, former: ['projects/p/secrets/k/versions/1', 'env:K'] }, store);
    refuseStoredSecrets({ current: inStore }, 'projects/p');
  });
});
