import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readJobFile } from '../../cli/job/job-file.js';
import { agreeToOutside, outsideFiles } from '../../cli/job/local-files.js';
import { jobctl } from './command-line.js';

describe('files of this computer that a job file names', () => {
  let base: string;
  const homeBefore = process.env['HOME'];
  beforeEach(() => {
    base = realpathSync(mkdtempSync(join(tmpdir(), 'outside-')));
    for (const folder of ['home/.ssh', 'home/job/data', 'home/repo/.git', 'home/repo/jobs', 'home/other'])
      mkdirSync(join(base, folder), { recursive: true });
    for (const file of [
      'home/.ssh/id_ed25519',
      'home/job/data/x',
      'home/job/req.txt',
      'home/repo/req.txt',
      'home/other/y',
    ])
      writeFileSync(join(base, file), 'x\n');
    symlinkSync('../.ssh/id_ed25519', join(base, 'home/job/link'));
    symlinkSync('../.ssh', join(base, 'home/job/folder'));
    process.env['HOME'] = join(base, 'home');
  });
  afterEach(() => {
    process.env['HOME'] = homeBefore;
    rmSync(base, { recursive: true, force: true });
  });

  const jobFile = (where: string, more: string): string => {
    const file = join(base, 'home', where);
    const tpu = 'tpu: {accelerator: v5litepod-8, zone: us-central1-a}';
    writeFileSync(file, `name: stranger\n${tpu}\ncommand: {run: "true"}\n${more}\n`);
    return file;
  };
  const FILES = (from: string): string => `files: [{from: ${from}, to: /tmp/x}]`;
  const cases: Readonly<Record<string, readonly [file: string, more: string, outside: readonly string[]]>> = {
    'beside the job file': ['job/job.yaml', FILES('data'), []],
    'a key of the home folder': ['job/job.yaml', FILES('~/.ssh/id_ed25519'), ['.ssh/id_ed25519']],
    'an absolute path': ['job/job.yaml', FILES('/etc/hostname'), ['/etc/hostname']],
    'a way up': ['job/job.yaml', FILES('../other/y'), ['other/y']],
    'a link that leads out': ['job/job.yaml', FILES('link'), ['.ssh/id_ed25519']],
    'a folder that is such a link': ['job/job.yaml', FILES('folder'), ['.ssh']],
    'a file below such a link': ['job/job.yaml', FILES('folder/id_ed25519'), ['.ssh/id_ed25519']],
    requirements: ['job/job.yaml', 'venv: {name: v, requirements_file: ../repo/req.txt}', ['repo/req.txt']],
    'a bundle': ['job/job.yaml', 'bundle: {dir: ../other}', ['other']],
    'of the repository': ['repo/jobs/job.yaml', 'bundle: {dir: ..}', []],
    'outside of the repository': ['repo/jobs/job.yaml', FILES('../../other/y'), ['other/y']],
    'a hidden folder of the home, where the job file is': ['job.yaml', FILES('.ssh/id_ed25519'), ['.ssh/id_ed25519']],
  };
  for (const [name, [where, more, outside]] of Object.entries(cases))
    it(`${name}: ${outside.length === 0 ? 'is uploaded' : 'is asked for'}`, async () => {
      const read = await readJobFile(jobFile(where, more), { set: [], isDry: true });
      const want = outside.map((path) => (path.startsWith('/') ? path : join(base, 'home', path)));
      assert.deepEqual(
        read.outside.map(({ place }) => place),
        want,
      );
      assert.equal(read.warnings.filter((text) => text.includes('would be uploaded')).length, want.length);
    });

  it('a home folder that is a repository is not what its files belong to', () => {
    mkdirSync(join(base, 'home/.git'));
    const named = [{ at: [], path: 'y', place: join(base, 'home/other/y') }];
    assert.equal(outsideFiles(jobFile('job/job.yaml', ''), named).length, 1);
  });

  it('what a flag names is the word of whoever types it', async () => {
    const file = jobFile('job/job.yaml', FILES('data'));
    const { outside } = await readJobFile(file, { set: [`files[0].from=${base}/home/other/y`], isDry: true });
    assert.deepEqual(outside, []);
    const bundle = join(base, 'home/other');
    assert.deepEqual((await readJobFile(file, { set: [], overrides: { bundle }, isDry: true })).outside, []);
  });

  it('validate prints them; submit and restart upload nothing where nobody can be asked, and take a flag', async function () {
    this.timeout(60_000);
    const file = jobFile('job/job.yaml', FILES('~/.ssh/id_ed25519'));
    const place = join(base, 'home/.ssh/id_ed25519');
    const nowhere = { HOME: join(base, 'home'), TEMPORAL_ADDRESS: '127.0.0.1:9', JOBCTL_BUCKET: 'bucket' };
    const validated = await jobctl(['validate', file], nowhere);
    assert.equal(validated.exitCode, 0);
    assert.match(
      validated.stderr,
      new RegExp(`files\\[0\\]\\.from: '~/.ssh/id_ed25519' is ${place}, which is outside`),
    );
    for (const verb of [
      ['submit', file],
      ['restart', 'j', '--file', file],
      ['resume', 'j', '--file', file],
    ]) {
      const { exitCode, stderr } = await jobctl(verb, nowhere);
      assert.equal(exitCode, 2, stderr);
      assert.match(
        stderr,
        new RegExp(`the job file would upload ${place}, and there is no terminal to ask on\n.*--allow-outside`),
      );
    }
    const { outside } = await readJobFile(file, { set: [], isDry: true });
    await agreeToOutside(outside, { allowOutside: true });
  });
});
