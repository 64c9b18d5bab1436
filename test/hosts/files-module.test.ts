import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ModuleFiles, ModulePlan } from '../../domain/modules/module.js';
import { modulePlans } from '../../activities/module-plans.js';
import type { OwnModule } from '../../domain/modules/registry.js';
import { readLocalFile } from '../../cli/job/local-files.js';
import type { FileSource } from '../../domain/local-files.js';
import { applyModule } from './apply-modules.js';
import type { HostSession } from './session.js';
import { withHost } from './session.js';

const apply = async ({ connection }: HostSession, made: ModulePlan): Promise<string> => {
  const { kind, output } = await applyModule(connection, made);
  assert.notEqual(kind, 'failed', output);
  return kind;
};

/** What `jobctl submit` makes of the submitter's files. */
async function packed(...paths: readonly string[]): Promise<ModuleFiles> {
  const files = new Map<string, Buffer | FileSource>();
  for (const path of paths) {
    const read = await readLocalFile({ path, at: [], kind: 'copy' }, path);
    assert.ok(read !== undefined && typeof read !== 'string', String(read));
    const [name, content] = read;
    files.set(name, content instanceof Uint8Array ? Buffer.from(content) : content);
  }
  return files;
}

describe('the modules files, script and those of the job file', () => {
  let mine: string;
  beforeEach(() => {
    mine = mkdtempSync(join(tmpdir(), 'files-test-'));
    mkdirSync(join(mine, 'configs/deep er'), { recursive: true });
    writeFileSync(join(mine, "configs/deep er/it's.yaml"), 'lr: 1\n');
    writeFileSync(join(mine, 'configs/run.sh'), '#!/bin/sh\n', { mode: 0o755 });
    symlinkSync('nowhere', join(mine, 'configs/dangling'));
    writeFileSync(join(mine, 'tokens.txt'), 'abc\n');
  });
  afterEach(() => rmSync(mine, { recursive: true }));

  const plan = async (): Promise<ModulePlan> => {
    const [configs, tokens] = [join(mine, 'configs'), join(mine, 'tokens.txt')];
    const files = [
      { from: configs, to: '~/my configs' },
      { from: tokens, to: 'data/tokens' },
    ];
    const [made] = modulePlans({ modules: ['files'], files }, { files: await packed(configs, tokens), keys: [] });
    assert.ok(made);
    return made;
  };

  it('copies files and folders; what changed here or there is put again, what else is there stays', () =>
    withHost(async (session) => {
      assert.equal(await apply(session, await plan()), 'done');
      assert.equal(session.read("my configs/deep er/it's.yaml"), 'lr: 1\n');
      assert.equal(session.read('data/tokens'), 'abc\n');
      assert.ok(!existsSync(join(session.host.home, '.jobctl/modules/files.files')));
      writeFileSync(join(session.host.home, 'my configs/theirs'), '');
      assert.equal(await apply(session, await plan()), 'unchanged');

      writeFileSync(join(mine, "configs/deep er/it's.yaml"), 'lr: 2\n');
      assert.equal(await apply(session, await plan()), 'done');
      assert.equal(session.read("my configs/deep er/it's.yaml"), 'lr: 2\n');
      assert.equal(await apply(session, await plan()), 'unchanged');

      writeFileSync(join(session.host.home, 'data/tokens'), 'spoilt');
      assert.equal(await apply(session, await plan()), 'done');
      assert.equal(session.read('data/tokens'), 'abc\n');
      assert.ok(existsSync(join(session.host.home, 'my configs/theirs')));
    }));

  it('Python runs the new code where a copied module changed and kept its size', () =>
    withHost(async (session) => {
      const code = join(mine, 'code');
      const ratesPrinted = async (rate: number): Promise<string> => {
        writeFileSync(join(code, 'rate.py'), `RATE = ${rate}\n`);
        const files = [{ from: code, to: '~/code' }];
        const [made] = modulePlans({ modules: ['files'], files }, { files: await packed(code), keys: [] });
        assert.equal(await apply(session, made!), 'done');
        const env = { PATH: process.env['PATH'] };
        return execFileSync('python3', [join(session.host.home, 'code/train.py')], { env, encoding: 'utf8' });
      };
      mkdirSync(code);
      writeFileSync(join(code, 'train.py'), 'import rate\nprint(rate.RATE)\n');
      assert.equal(await ratesPrinted(1), '1\n');
      assert.ok(existsSync(join(session.host.home, 'code/__pycache__')));
      assert.equal(await ratesPrinted(2), '2\n');
    }));

  it('a script runs once for its text, and again when its check fails or the text is another', () =>
    withHost(async (session) => {
      const script = (run: string, check?: string): ModulePlan =>
        modulePlans(
          { modules: ['script'], script: { run, ...(check && { check }) } },
          { files: new Map(), keys: [] },
        )[0]!;
      assert.equal(await apply(session, script('echo "one $USER" >> "$HOME/did"')), 'done');
      assert.equal(await apply(session, script('echo "one $USER" >> "$HOME/did"')), 'unchanged');
      assert.equal(await apply(session, script('echo two >> "$HOME/did"', '[ -f gone ]')), 'done');
      assert.equal(await apply(session, script('echo two >> "$HOME/did"', '[ -f gone ]')), 'done');
      assert.equal(session.read('did'), 'one bob\ntwo\ntwo\n');
    }));

  it("a job file's own module has its files, its steps and its check", () =>
    withHost(async (session) => {
      const tokens = join(mine, 'tokens.txt');
      const own: OwnModule = {
        check: '[ -f "$HOME/installed" ]',
        setup: [
          { name: 'install', run: 'cp tokens.txt installed' },
          { name: 'tell', run: 'echo told >> did' },
        ],
        files: [{ from: tokens, to: '~/tokens.txt' }],
      };
      const [made] = modulePlans(
        { modules: ['profiler'], ownModules: { profiler: own } },
        { files: await packed(tokens), keys: [] },
      );
      assert.deepEqual(
        made?.steps.map(({ name }) => name),
        ['copy', 'install', 'tell'],
      );
      assert.equal(await apply(session, made), 'done');
      assert.equal(await apply(session, made), 'unchanged');
      rmSync(join(session.host.home, 'installed'));
      assert.equal(await apply(session, made), 'done');
      rmSync(join(session.host.home, 'tokens.txt'));
      assert.equal(await apply(session, made), 'done');
      assert.equal(session.read('did'), 'told\ntold\ntold\n');
    }));
});
