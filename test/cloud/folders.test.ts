import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeFolder, makeFolderSync } from '../../cloud/folders.js';
import { makeFolderSync as makeRehearsalFolder } from '../../rehearsal/folders.js';
import { committedSources } from '../architecture/committed-sources.js';
import { programArguments } from '../built.js';

const PRODUCT = ['activities', 'cli', 'client', 'cloud', 'server', 'worker', 'rehearsal'];

describe('a folder with its parents', () => {
  let home: string;
  beforeEach(() => void (home = mkdtempSync(join(tmpdir(), 'folders-'))));
  afterEach(() => rmSync(home, { recursive: true }));

  const WAYS: Readonly<Record<string, (path: string, mode?: number) => Promise<string | undefined>>> = {
    makeFolder,
    makeFolderSync: async (path, mode) => makeFolderSync(path, mode),
    "the rehearsal's": async (path, mode) => makeRehearsalFolder(path, mode),
  };
  for (const [name, make] of Object.entries(WAYS)) {
    it(`${name}: is made with the mode, and the first that is new is returned`, async () => {
      assert.equal(await make(join(home, 'a/b/c'), 0o700), join(home, 'a'));
      for (const path of ['a', 'a/b', 'a/b/c']) assert.equal(statSync(join(home, path)).mode & 0o777, 0o700, path);
      assert.equal(await make(join(home, 'a/b/d')), join(home, 'a/b/d'));
      assert.equal(await make(join(home, 'a/b/c')), undefined);
      assert.equal(await make(`${join(home, 'e/f')}/`), join(home, 'e'));
    });

    it(`${name}: goes through a link to a folder, and not through a file`, async () => {
      mkdirSync(join(home, 'real'));
      symlinkSync('real', join(home, 'link'));
      symlinkSync('nowhere', join(home, 'broken'));
      writeFileSync(join(home, 'file'), '');
      await make(join(home, 'link/x'));
      assert.ok(statSync(join(home, 'real/x')).isDirectory());
      await assert.rejects(make(join(home, 'file')), { code: 'EEXIST' });
      await assert.rejects(make(join(home, 'broken')), { code: 'EEXIST' });
      await assert.rejects(make(join(home, 'file/x/y')), { code: 'ENOTDIR' });
    });

    it(`${name}: ends in a folder that takes none`, async () => {
      for (const path of ['/proc/x', '/proc/x/y/z', '/proc/self/x/y'])
        await assert.rejects(make(path), { code: 'ENOENT', syscall: 'mkdir' });
    });
  }

  it("Node's recursive mkdir, which never ends there, is nowhere in the product", () => {
    const files = committedSources(PRODUCT).filter((file) => !file.startsWith('rehearsal/test/'));
    assert.ok(files.length > 500, `${files.length} files`);
    const calls = files.filter((file) => /\bmkdir(Sync)?\([^;]*?recursive: true/.test(readFileSync(file, 'utf8')));
    assert.deepEqual(calls, []);
  });

  const VERBS: readonly (readonly [string, NodeJS.ProcessEnv, ...string[]])[] = [
    ['HOME', { HOME: '/proc/x' }, 'context', 'set', 'a', '--server', 'https://jobctl.example.org'],
    ['XDG_CONFIG_HOME', { XDG_CONFIG_HOME: '/proc/x' }, 'context', 'set', 'a', '--server', 'https://a.example.org'],
    ['JOBCTL_HOME', { JOBCTL_HOME: '/proc/x' }, 'dev', 'up'],
  ];
  for (const [name, env, ...words] of VERBS)
    it(`${name}=/proc/x: the verb ends with the folder`, function () {
      this.timeout(60_000);
      const { stderr, status } = spawnSync(process.execPath, [...programArguments('cli/main'), ...words], {
        ...{ env: { PATH: process.env['PATH'], HOME: home, ...env }, encoding: 'utf8' },
        // Of a verb that does not end.
        ...{ timeout: 50_000, killSignal: 'SIGKILL' },
      });
      assert.equal(status, 1, stderr);
      assert.match(stderr, /^jobctl: \/proc\/x: cannot be made: it does not exist$/m);
    });
});
