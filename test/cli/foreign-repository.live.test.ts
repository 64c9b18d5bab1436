import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { buildCommit, buildSources } from '../../cli/job/building/sources.js';
import { remoteCommit } from '../../cli/job/building/build-image.js';
import { packBundle } from '../../cli/job/packing/bundle.js';
import { askGit } from '../../cli/job/packing/git.js';
import { removeScratchFolder } from '../../cli/job/packing/pack-tree.js';
import type { BuildSpec } from '../../domain/build/spec.js';
import { jobctl } from './command-line.js';

const BUILD: BuildSpec = {
  ...{ image: '127.0.0.1:9/train', context: '.', dockerfile: 'Dockerfile', args: {}, platform: 'linux/amd64' },
  ...{ pullImage: '127.0.0.1:9/train', remote: {} },
};
const LEAVE = { allowUnpushed: true } as const;

describe("a stranger's repository", function () {
  this.timeout(60_000);
  let work: string;
  let tree: string;
  let marker: string;
  let template: string;
  before(() => {
    template = mkdtempSync(join(tmpdir(), 'foreign-template-'));
    tree = template;
    gitIn(template, 'init', '-q', template);
    for (const name of ['Dockerfile', 'code/train.py', 'code/.keep']) write(name);
    write('job.yaml', 'tpu: {accelerator: v5litepod-16}\nbundle: {dir: code}\ncommand: {run: "true"}\n');
    commit();
  });
  after(() => rmSync(template, { recursive: true }));
  beforeEach(() => {
    work = mkdtempSync(join(tmpdir(), 'foreign-repository-'));
    [tree, marker] = [join(work, 'tree'), join(work, 'MARKER')];
    cpSync(template, tree, { recursive: true, preserveTimestamps: true });
  });
  afterEach(() => {
    removeScratchFolder();
    rmSync(work, { recursive: true });
  });

  function write(name: string, text = `${name}\n`): void {
    mkdirSync(dirname(join(tree, name)), { recursive: true });
    writeFileSync(join(tree, name), text);
  }
  function gitIn(folder: string, ...words: readonly string[]): string {
    const settings = ['-c', 'user.name=a', '-c', 'user.email=a@b', '-c', 'protocol.file.allow=always'];
    return execFileSync('git', [...settings, '-C', folder, ...words], { encoding: 'utf8', stdio: 'pipe' });
  }
  function commit(): void {
    gitIn(tree, 'add', '-f', '.');
    gitIn(tree, 'commit', '-qm', 'x');
  }
  const program = (then = 'false'): string => `touch ${marker}; ${then}`;
  const config = (text: string, of = '.git/config'): void => appendFileSync(join(tree, of), text);
  /** Of another size than git noted: it must look into the file. */
  const touched = (): void => write('code/train.py', 'longer than it was\n');

  async function withSubmodule(): Promise<string> {
    const origin = join(work, 'origin');
    gitIn(work, 'init', '-q', origin);
    writeFileSync(join(origin, 'a'), 'a\n');
    writeFileSync(join(origin, '.gitattributes'), 'a filter=x\n');
    gitIn(origin, 'add', '.');
    gitIn(origin, 'commit', '-qm', 'x');
    gitIn(tree, 'submodule', '--quiet', 'add', origin, 'code/sub');
    commit();
    // Of the same size, git must look into it.
    write('code/sub/a', 'b\n');
    utimesSync(join(tree, 'code/sub/a'), 1, 1);
    return '.git/modules/code/sub/config';
  }

  const plants: Record<string, () => unknown> = {
    'core.fsmonitor of a bare repository among its files': () => {
      const bare = join(work, 'bare');
      gitIn(work, 'init', '-q', bare);
      writeFileSync(join(bare, 'a'), 'a\n');
      gitIn(bare, 'add', 'a');
      gitIn(bare, 'commit', '-qm', 'x');
      for (const name of ['HEAD', 'objects', 'refs', 'index'])
        renameSync(join(bare, '.git', name), join(tree, 'code', name));
      write('code/config', `[core]\nrepositoryformatversion=0\nbare=false\nworktree=.\nfsmonitor="${program()}"\n`);
      commit();
    },
    'core.fsmonitor of its own': () => config(`[core]\nfsmonitor="${program()}"\n`),
    'a filter that cleans': () => {
      config(`[filter "x"]\nclean="${program('cat')}"\n`);
      write('.gitattributes', '*.py filter=x\n');
      touched();
    },
    'a filter that smudges': () => {
      write('.gitattributes', '*.py filter=x\n');
      commit();
      config(`[filter "x"]\nsmudge="${program('cat')}"\n`);
    },
    'a filter that is a process, from a file that its settings include': () => {
      writeFileSync(join(work, 'more'), `[filter "x.y"]\nprocess="${program()}"\nrequired\n`);
      config(`[include]\npath=${join(work, 'more')}\n`);
      write('.gitattributes', '*.py filter=x.y\n');
      touched();
    },
    'a filter of one worktree': () => {
      config('[extensions]\nworktreeConfig=true\n');
      config(`[filter "x"]\nclean="${program('cat')}"\n`, '.git/config.worktree');
      write('.gitattributes', '*.py filter=x\n');
      touched();
    },
    'a filter whose name cannot be told to git': () => {
      config(`[filter "a=b"]\nclean="${program('cat')}"\n`);
      write('.gitattributes', '*.py filter=a=b\n');
      touched();
    },
    'a textconv': () => {
      config(`[diff "x"]\ntextconv="${program('cat')}; #"\n`);
      write('.gitattributes', '*.py diff=x\n');
      touched();
    },
    'a diff of its own': () => {
      config(`[diff "x"]\ncommand="${program()}; #"\n[diff]\nexternal="${program()}; #"\n`);
      write('.gitattributes', '*.py diff=x\n');
      touched();
    },
    'a filter of a submodule': async () => {
      config(`[filter "x"]\nclean="${program('cat')}"\n`, await withSubmodule());
    },
    'a diff of a submodule': async () => {
      config(`[diff]\nexternal="${program()}; #"\n`, await withSubmodule());
      config('[diff]\nsubmodule=diff\n');
      gitIn(join(tree, 'code/sub'), 'commit', '-qam', 'y');
    },
    'a remote of a partial clone': () => {
      config(
        `[remote "origin"]\nurl=${work}\nuploadpack="${program()}; #"\npromisor=true\npartialclonefilter=blob:none\n`,
      );
      config('[core]\nrepositoryformatversion=1\n[extensions]\npartialClone=origin\n');
      const blob = gitIn(tree, 'rev-parse', 'HEAD:code/train.py').trim();
      rmSync(join(tree, '.git/objects', blob.slice(0, 2), blob.slice(2)));
      touched();
    },
  };
  const remote = { ...BUILD, remote: { repository: 'https://example.com/a.git' } };
  const acts: Record<string, () => Promise<unknown>> = {
    validate: () => jobctl(['validate', join(tree, 'job.yaml')]),
    'submit --dry-run': () => jobctl(['submit', '--dry-run', join(tree, 'job.yaml')]),
    'a bundle': () => packBundle(join(tree, 'code'), {}).then(({ packed }) => packed?.remove()),
    'a bundle of all': () => packBundle(tree, {}).then(({ packed }) => packed?.remove()),
    'a build here': async () => buildSources(BUILD, tree, await buildCommit(tree, LEAVE)),
    'a build here, of a folder': async () => {
      const folder = join(tree, 'code');
      return buildSources(BUILD, folder, { commit: (await buildCommit(folder, LEAVE)).commit ?? '', isDirty: false });
    },
    'files of a commit': async () => {
      const commit = gitIn(tree, 'rev-parse', 'HEAD').trim();
      await buildSources(BUILD, tree, { commit, isDirty: false });
    },
    'a build in a cluster': () => remoteCommit(remote, tree, LEAVE),
  };
  it('is valid before anything is planted in it', async () => {
    const { exitCode, stderr } = await jobctl(['validate', join(tree, 'job.yaml')]);
    assert.equal(exitCode, 0, stderr);
  });

  for (const [title, plant] of Object.entries(plants))
    it(`runs no program here, by ${title}`, async () => {
      await plant();
      rmSync(marker, { force: true });
      const ran: string[] = [];
      for (const [name, act] of Object.entries(acts)) {
        await act().catch(() => undefined);
        if (existsSync(marker)) ran.push(name);
        rmSync(marker, { force: true });
      }
      assert.deepEqual(ran, []);
    });

  it('a build says which filter is in its way, and goes on once the user has it as his own', async () => {
    config('[filter "x"]\nclean=cat\nsmudge=cat\n');
    await assert.rejects(buildCommit(tree, LEAVE), /\.git\/config .*filter\."x"[^]*git config --global/);
    const before = process.env['GIT_CONFIG_GLOBAL'];
    process.env['GIT_CONFIG_GLOBAL'] = join(work, 'global');
    try {
      writeFileSync(join(work, 'global'), '[filter "x"]\nclean=cat\nsmudge=cat\n');
      assert.equal((await buildCommit(tree, LEAVE)).isDirty, false);
    } finally {
      if (before === undefined) delete process.env['GIT_CONFIG_GLOBAL'];
      else process.env['GIT_CONFIG_GLOBAL'] = before;
    }
  });

  it("a user's own filter goes on, though the repository has one of its name", async () => {
    const before = process.env['GIT_CONFIG_GLOBAL'];
    process.env['GIT_CONFIG_GLOBAL'] = join(work, 'global');
    try {
      writeFileSync(join(work, 'global'), '[filter "x"]\nclean="tr a-z A-Z"\n');
      config(`[filter "x"]\nclean="${program('cat')}"\n`);
      write('.gitattributes', '*.py filter=x\n');
      touched();
      const answer = await askGit(tree, ['diff', 'HEAD']);
      assert.match('text' in answer ? answer.text : '', /^\+LONGER THAN IT WAS$/m);
      assert.equal(existsSync(marker), false);
    } finally {
      if (before === undefined) delete process.env['GIT_CONFIG_GLOBAL'];
      else process.env['GIT_CONFIG_GLOBAL'] = before;
    }
  });

  it('a submodule with changed files is a change, without a git that asks itself about them', async () => {
    await withSubmodule();
    await assert.rejects(buildCommit(tree, LEAVE), /git status shows 1 file .*\n.* M code\/sub/);
    gitIn(join(tree, 'code/sub'), 'checkout', '-q', '.');
    assert.equal((await buildCommit(tree, LEAVE)).isDirty, false);
  });
});
