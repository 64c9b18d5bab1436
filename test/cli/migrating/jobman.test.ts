import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';
import { type Ended, jobctl } from '../command-line.js';

const TREE = fileURLToPath(new URL('./jobman/', import.meta.url));

describe("a tree laid out as JobMan's repository is, used from its root", function () {
  this.timeout(60_000);
  let root: string;
  let files: readonly string[];

  before(() => {
    root = mkdtempSync(join(tmpdir(), 'jobman-tree-'));
    cpSync(TREE, root, { recursive: true });
    files = ['configs', 'tests'].flatMap((folder) =>
      readdirSync(join(root, folder)).map((name) => `${folder}/${name}`),
    );
  });
  after(() => rmSync(root, { recursive: true, force: true }));

  const run = (...args: readonly string[]): Promise<Ended> =>
    jobctl(args, { HOME: root, JOBCTL_HOME: join(root, 'no-stack') }, root);

  it('each file validates', async () => {
    assert.equal(files.length, 9);
    for (const file of files) {
      const { exitCode, stderr } = await run('validate', file);
      assert.equal(exitCode, 0, `${file}\n${stderr}`);
    }
  });

  it('`create FILE` and `create --config=FILE` are `submit FILE`', async () => {
    for (const words of [
      ['configs/quick_start.yaml'],
      ['--config=configs/quick_start.yaml'],
      ['--config', 'configs/quick_start.yaml'],
    ]) {
      const { exitCode, stdout, stderr } = await run('create', ...words, '--dry-run');
      assert.equal(exitCode, 0, stderr);
      assert.match(stderr, /^create is JobMan's: this runs `jobctl submit configs\/quick_start\.yaml --dry-run`\n/);
      assert.match(stdout, /^ {2}config_file: assets\/fms\.yaml$/m);
    }
  });

  it('an environment without a section is none, with a warning', async () => {
    const { stderr } = await run('validate', 'tests/test_gcsfuse.yaml');
    assert.match(stderr, /warning: job\.env_type: venv has no section venv, so the command runs in no environment\n/);
  });

  it('a path that is beside the file too, with other content, is told with both places', async () => {
    cpSync(join(root, 'assets'), join(root, 'configs/assets'), { recursive: true });
    const same = await run('validate', 'configs/quick_start.yaml');
    assert.doesNotMatch(same.stderr, /there twice/);
    writeFileSync(join(root, 'configs/assets/fms.yaml'), 'name: fms\ndependencies: [python=3.9]\n');
    const other = await run('validate', 'configs/quick_start.yaml');
    rmSync(join(root, 'configs/assets'), { recursive: true });
    assert.equal(other.exitCode, 0);
    const [beside, here] = [join(root, 'configs/assets/fms.yaml'), join(root, 'assets/fms.yaml')];
    assert.ok(
      other.stderr.includes(
        `conda.config_file: 'assets/fms.yaml' is there twice: ${beside}, beside the job file, is taken, and not ${here}, which JobMan would take from the current folder\n`,
      ),
      other.stderr,
    );
  });

  it('a path that is in neither place is told with both places', async () => {
    writeFileSync(
      join(root, 'configs/wrong.yaml'),
      readFileSync(join(root, 'configs/quick_start.yaml'), 'utf8').replace('fms.yaml', 'no.yaml'),
    );
    const { exitCode, stderr } = await run('validate', 'configs/wrong.yaml');
    assert.equal(exitCode, 2);
    assert.ok(
      stderr.endsWith(
        `config_file: 'assets/no.yaml' does not exist\n  looked for at ${join(root, 'configs/assets/no.yaml')} and at ${join(root, 'assets/no.yaml')}; JobMan's paths start at the job file's folder, or else at the current one\n`,
      ),
      stderr,
    );
  });

  it("a file of jobctl's own still starts at its own folder alone", async () => {
    writeFileSync(
      join(root, 'configs/own.yaml'),
      'tpu: {accelerator: v6e-1, zone: us-east1-d}\nconda: {name: fms, config_file: assets/fms.yaml}\n',
    );
    const { exitCode, stderr } = await run('validate', 'configs/own.yaml');
    assert.equal(exitCode, 2);
    assert.match(
      stderr,
      /looked for at \S+\/configs\/assets\/fms\.yaml; a relative path starts at the job file's folder\n$/,
    );
  });

  it('`import jobman` writes the file under the names of jobctl, comments kept, where its paths still lead', async () => {
    const { exitCode, stdout, stderr } = await run(
      'import',
      'jobman',
      'configs/quick_start.yaml',
      '-o',
      'configs/new.yaml',
    );
    assert.deepEqual([exitCode, stdout], [0, ''], stderr);
    const text = readFileSync(join(root, 'configs/new.yaml'), 'utf8');
    assert.match(text, /^ {2}allocation_mode: .queued-resources. # tpu-vm \| queued-resources$/m);
    const written = parse(text) as Record<string, Record<string, unknown>>;
    assert.equal(written['name'], 'quick-start');
    assert.equal(written['loop'], false);
    assert.deepEqual(written['job'], { env_type: 'conda' });
    assert.deepEqual(written['command'], {
      run: 'echo quick start ran in $(basename $CONDA_PREFIX)\n',
      workers: 'all',
      shell: 'plain',
    });
    assert.equal(written['conda']?.['config_file'], '../assets/fms.yaml');
    assert.match(stderr, /changed {2}job\.name +name: ids of jobs are made from it/);
    assert.match(
      stderr,
      /changed {2}conda\.config_file: assets\/fms\.yaml +\.\.\/assets\/fms\.yaml: paths start at the new file's folder/,
    );
    assert.equal((await run('validate', 'configs/new.yaml')).exitCode, 0);
  });

  it('`import jobman` tells every key that it leaves out, with the reason', async () => {
    const quick = readFileSync(join(root, 'configs/quick_start.yaml'), 'utf8');
    const queued = `${quick.replace('job:\n', 'job:\n  worker_num: auto\n')}queue: {enabled: true}\nbrevo_email: {to: ann@x.org}\nworker_num: 2\nmystery: 1\n`;
    writeFileSync(join(root, 'configs/queued.yaml'), queued);
    const { exitCode, stdout, stderr } = await run('import', 'jobman', 'configs/queued.yaml');
    assert.equal(exitCode, 0, stderr);
    assert.deepEqual(
      Object.keys(parse(stdout) as object).filter((key) =>
        ['queue', 'brevo_email', 'worker_num', 'mystery'].includes(key),
      ),
      [],
    );
    for (const lost of [
      'queue: {"enabled":true} +jobctl has no list of tasks',
      'brevo_email: .* +`notify: .* sends a mail',
      'worker_num: 2 +jobctl has no list',
      "job\\.worker_num: 'auto' +JobMan's own",
      'mystery: 1 +jobctl: no such key in a job file',
    ])
      assert.match(stderr, new RegExp(`^ {2}lost +${lost}`, 'm'));
  });

  it('does not overwrite a file that nobody was asked about', async () => {
    writeFileSync(join(root, 'there.yaml'), 'mine\n');
    const { exitCode, stderr } = await run('import', 'jobman', 'configs/quick_start.yaml', '-o', 'there.yaml');
    assert.deepEqual(
      [exitCode, stderr],
      [2, 'jobctl import: there.yaml is there already, and there is no terminal to ask on\n  --yes overwrites it\n'],
    );
    assert.equal(readFileSync(join(root, 'there.yaml'), 'utf8'), 'mine\n');
    assert.equal((await run('import', 'jobman', 'configs/quick_start.yaml', '-o', 'there.yaml', '--yes')).exitCode, 0);
    assert.match(readFileSync(join(root, 'there.yaml'), 'utf8'), /quick-start/);
  });
});
