import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { commandContainer, commandScript } from '../../domain/modules/command.js';
import type { RunContainer } from '../../domain/modules/module.js';
import { applyModule, type Applied } from './apply-modules.js';
import { bundlePlans } from './bundle-plans.js';
import { never, withHost, type HostSession } from './session.js';

async function outputOf({ connection }: HostSession, run: string, runId: string): Promise<string> {
  const script = commandScript({ modules: ['bundle'], bundle: { dir: '.' }, command: { run, hosts: 'all' } });
  let output = '';
  await connection.startRun({ runId, epoch: 1, script: script!, env: {} });
  await connection.followOutput(runId, 0, (chunk) => void (output += chunk.toString()), never);
  return output;
}

describe('the module bundle', function () {
  this.timeout(60_000);

  let mine: string;
  beforeEach(() => {
    mine = mkdtempSync(join(tmpdir(), 'bundle-test-'));
  });
  afterEach(() => rmSync(mine, { recursive: true }));

  const write = (name: string, content = `${name}\n`, mode = 0o644): void => {
    mkdirSync(dirname(join(mine, name)), { recursive: true });
    writeFileSync(join(mine, name), content);
    chmodSync(join(mine, name), mode);
  };
  const apply = async ({ connection }: HostSession, plan = bundlePlans(mine)[0]!): Promise<Applied> => {
    const applied = await applyModule(connection, plan);
    assert.notEqual(applied.kind, 'failed', applied.output);
    return applied;
  };
  const there = ({ host }: HostSession, name: string): string => join(host.home, 'bundle', name);

  it('brings files of any name, their x bits, links and empty folders, and the second time does nothing', () =>
    withHost(async (session) => {
      const names = ["it's", '-rf', 'two\nlines', 'back\\slash', '$HOME `x`', 'smile ☺', 'deep er/.hidden'];
      for (const name of names) write(name);
      write('run.sh', '#!/bin/sh\necho ran\n', 0o755);
      symlinkSync('deep er/.hidden', join(mine, 'link\nto'));
      symlinkSync('nowhere', join(mine, 'dangling'));
      mkdirSync(join(mine, 'empty'));
      assert.equal((await apply(session)).kind, 'done');
      for (const name of names) assert.equal(session.read(join('bundle', name)), `${name}\n`);
      assert.equal(readlinkSync(there(session, 'link\nto')), 'deep er/.hidden');
      assert.equal(readlinkSync(there(session, 'dangling')), 'nowhere');
      assert.ok(existsSync(there(session, 'empty')));
      assert.equal(
        await outputOf(session, './run.sh; pwd; echo "$JOBCTL_BUNDLE_DIR"', 'train-a1'),
        `ran\n${`${there(session, '')}\n`.replace('/\n', '\n').repeat(2)}`,
      );
      assert.equal((await apply(session)).kind, 'unchanged');
      assert.deepEqual(
        execFileSync('ls', ['-A', join(session.host.home, '.jobctl/modules')])
          .toString()
          .match(/bundle\.(new|tar\.gz)/g),
        null,
      );
    }));

  it('a file or a link that was changed or lost on the host is put back, and what the command made stays', () =>
    withHost(async (session) => {
      write('train.py');
      symlinkSync('train.py', join(mine, 'link'));
      await apply(session);
      const left = ['out/step-10.ckpt', '__pycache__/train.pyc'];
      for (const name of left) {
        mkdirSync(dirname(there(session, name)), { recursive: true });
        writeFileSync(there(session, name), 'made');
      }
      assert.equal((await apply(session)).kind, 'unchanged');
      const harms: (() => void)[] = [
        () => writeFileSync(there(session, 'train.py'), 'spoilt'),
        () => rmSync(there(session, 'train.py')),
        () => rmSync(there(session, 'link')),
        () => {
          rmSync(there(session, 'link'));
          symlinkSync('/etc/passwd', there(session, 'link'));
        },
      ];
      for (const harm of harms) {
        harm();
        assert.equal((await apply(session)).kind, 'done', String(harm));
        assert.equal(session.read('bundle/train.py'), 'train.py\n');
        assert.equal(readlinkSync(there(session, 'link')), 'train.py');
        assert.equal((await apply(session)).kind, 'unchanged');
      }
      for (const name of left) assert.equal(session.read(join('bundle', name)), 'made');
    }));

  it('another bundle takes the place of the one before: what is the same is not touched, what is gone goes', () =>
    withHost(async (session) => {
      for (const name of ['same', 'changed', 'gone', 'pkg/old\nname', 'pkg/sub/other', 'edited', 'becomes-a-folder'])
        write(name);
      symlinkSync('same', join(mine, 'becomes-a-file'));
      symlinkSync('same', join(mine, 'link-gone'));
      await apply(session);
      utimesSync(there(session, 'same'), 1000, 1000);
      writeFileSync(there(session, 'edited'), 'by the command');
      writeFileSync(there(session, 'theirs'), '');

      for (const name of ['gone', 'pkg', 'edited', 'becomes-a-folder', 'becomes-a-file', 'link-gone'])
        rmSync(join(mine, name), { recursive: true });
      write('changed', 'CHANGED\n', 0o755);
      write('becomes-a-folder/in it');
      write('becomes-a-file');
      const { output } = await apply(session);
      assert.equal(statSync(there(session, 'same')).mtimeMs, 1_000_000);
      assert.equal(session.read('bundle/changed'), 'CHANGED\n');
      assert.equal(statSync(there(session, 'changed')).mode & 0o111, 0o111);
      for (const name of ['gone', 'pkg', 'link-gone']) assert.ok(!existsSync(there(session, name)), name);
      assert.equal(session.read('bundle/becomes-a-folder/in it'), 'becomes-a-folder/in it\n');
      assert.equal(session.read('bundle/becomes-a-file'), 'becomes-a-file\n');
      assert.equal(session.read('bundle/edited'), 'by the command');
      assert.match(output, /kept, since it was changed on this host: ~\/bundle\/edited\n/);
      assert.match(output, /4 files in ~\/bundle; 3 brought, \d+ taken away/);
      assert.ok(existsSync(there(session, 'theirs')));
      assert.doesNotMatch(output, /in the way/);
      assert.equal((await apply(session)).kind, 'unchanged');
    }));

  it('what the command put in the way is kept beside, and what it linked to is not touched', () =>
    withHost(async (session) => {
      for (const name of ['a/z', 'data/x', 'data/y', 'gone/x', 'f']) write(name);
      await apply(session);
      const bucket = mkdtempSync(join(tmpdir(), 'bundle-bucket-'));
      for (const folder of ['data', 'gone']) {
        cpSync(there(session, folder), join(bucket, folder), { recursive: true });
        rmSync(there(session, folder), { recursive: true });
        symlinkSync(join(bucket, folder), there(session, folder));
      }
      mkdirSync(there(session, 'a/__pycache__'));
      writeFileSync(there(session, 'a/__pycache__/z.pyc'), 'made');
      rmSync(there(session, 'f'));
      writeFileSync(there(session, 'sub'), 'a file of the command');

      for (const name of ['a', 'data/x', 'gone', 'f']) rmSync(join(mine, name), { recursive: true });
      write('a');
      write('sub/f');
      const { output } = await apply(session);
      assert.equal(session.read('bundle/a'), 'a\n');
      assert.equal(session.read('bundle/a.jobctl-kept/__pycache__/z.pyc'), 'made');
      assert.equal(session.read('bundle/sub.jobctl-kept'), 'a file of the command');
      assert.equal(session.read('bundle/data/y'), 'data/y\n');
      for (const name of ['data/x', 'data/y', 'gone/x']) assert.ok(existsSync(join(bucket, name)), name);
      assert.match(output, /~\/bundle\/a stood in the way of the bundle's; it is kept as a\.jobctl-kept\n/);
      assert.equal((await apply(session)).kind, 'unchanged');
      rmSync(bucket, { recursive: true });
    }));

  it('folders of an archive that nobody may write in do not stand in its own way', () =>
    withHost(async (session) => {
      write('ro/a.py');
      chmodSync(join(mine, 'ro'), 0o555);
      await apply(session);
      chmodSync(join(mine, 'ro'), 0o755);
      write('ro/a.py', 'other\n');
      await apply(session);
      assert.equal(session.read('bundle/ro/a.py'), 'other\n');
    }));

  it('Python runs the new code where a module changed and kept its size', () =>
    withHost(async (session) => {
      write('rate.py', 'RATE = 1\n');
      write('train.py', 'import rate\nprint(rate.RATE)\n');
      await apply(session);
      assert.equal(await outputOf(session, 'python3 train.py', 'train-a1'), '1\n');
      assert.ok(existsSync(there(session, '__pycache__')));
      write('rate.py', 'RATE = 2\n');
      await apply(session);
      assert.equal(await outputOf(session, 'python3 train.py', 'train-a2'), '2\n');
    }));

  it('remembers a time that is not before that of any file, by which the next bundle waits for another second', () =>
    withHost(async (session) => {
      write('rate.py');
      await apply(session);
      const [mark, placed] = [join(session.host.home, '.jobctl/modules/bundle.sums'), there(session, 'rate.py')].map(
        (path) => statSync(path, { bigint: true }).mtimeNs,
      );
      assert.ok(mark! >= placed!, `${mark} is before ${placed}`);
    }));

  it('what was cut off half-way is done again from the bundle that is wanted', () =>
    withHost(async (session) => {
      for (const name of ['one', 'two']) write(name);
      await apply(session);
      rmSync(join(mine, 'one'));
      write('three');
      // As a kill in the middle leaves it: some of the new, none of the record.
      const modules = join(session.host.home, '.jobctl/modules');
      rmSync(join(modules, 'bundle.json'));
      mkdirSync(join(modules, 'bundle.new/tree/rest'), { recursive: true });
      writeFileSync(there(session, 'three'), 'thr');
      await apply(session);
      assert.equal(session.read('bundle/three'), 'three\n');
      assert.ok(!existsSync(there(session, 'one')) && existsSync(there(session, 'two')));
    }));

  it('in a container it is mounted, and the command starts in it where the job names no other folder', () => {
    const docker: RunContainer = { image: 'python:3', flags: [], mounts: ['/dev'], env: {} };
    const job = {
      modules: ['docker', 'bundle'],
      bundle: { dir: '.' },
      command: { run: 'python3 train.py', hosts: 'all' },
    } as const;
    assert.deepEqual(commandContainer({ ...job, docker })?.mounts, ['/dev', '~/bundle:/jobctl/bundle']);
    assert.match(
      commandScript({ ...job, docker })!,
      /^export JOBCTL_BUNDLE_DIR=\/jobctl\/bundle\ncd "\$JOBCTL_BUNDLE_DIR" \|\| exit 126\nset -o pipefail; python3/,
    );
    assert.match(
      commandScript({ ...job, docker: { ...docker, workdir: '/src' } })!,
      /^export JOBCTL_BUNDLE_DIR=\/jobctl\/bundle\nset -o pipefail; python3/,
    );
  });
});
