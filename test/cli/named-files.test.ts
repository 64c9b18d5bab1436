import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readJobFile } from '../../cli/job/job-file.js';
import { findProgram, writtenJob } from '../../cli/job/init/written-job.js';
import { filesNamedIn } from '../../domain/modules/named-files.js';

const PIP: Readonly<Record<string, string>> = {
  '-r other.txt': 'other.txt',
  '-rother.txt': 'other.txt',
  '--requirement=sub/other.txt': 'sub/other.txt',
  '-c constraints.txt # pins': 'constraints.txt',
  '--constraint "c.txt"': 'c.txt',
  '-e .': '.',
  '-e .[dev]': '.',
  '--editable ./lib': './lib',
  '--find-links wheels': 'wheels',
  './local.whl': './local.whl',
  '../lib': '../lib',
  '.': '.',
  'local-1.0-py3-none-any.whl': 'local-1.0-py3-none-any.whl',
  'dist/x.tar.gz ; python_version > "3"': 'dist/x.tar.gz',
  'pkg/': 'pkg/',
  'libs/mine[dev]': 'libs/mine',
  'file:./b.whl': './b.whl',
  'mine[a,b] @ file:lib/mine': 'lib/mine',
  '-e file:lib': 'lib',
  '-i simple': 'simple',
  '--extra-index-url ./simple': './simple',
};
const ALONE: readonly string[] = [
  'numpy==1.2',
  'jax[tpu]>=0.4 --hash=sha256:00',
  '# -r other.txt',
  '-r https://example.com/r.txt',
  '-e git+https://github.com/a/b.git#egg=b',
  'b @ https://example.com/b.whl',
  'b@https://example.com/b.whl',
  'b[x] @ git+ssh://git@example.com/a/b.git@v1',
  'b @ file:///opt/b',
  '--index-url=https://example.com/simple',
  'https://example.com/b.whl',
  '-f https://storage.googleapis.com/jax-releases/libtpu_releases.html',
  '--extra-index-url https://example.com/simple',
  '--no-cache-dir',
  '--pre',
  '-r /opt/host/r.txt',
  '-c ${WHERE}/c.txt',
  'file:///opt/b.whl',
  'zope.interface ; sys_platform == "linux"',
];

describe('lists of packages that name files beside them', () => {
  let folder: string;
  beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'named-'))));
  afterEach(() => rmSync(folder, { recursive: true, force: true }));
  const put = (name: string, content: string | Buffer): void => writeFileSync(join(folder, name), content);
  const read = (more: string) => {
    put('job.yaml', `tpu: {accelerator: v5litepod-1, zone: us-central1-a}\ncommand: {run: "true"}\n${more}\n`);
    return readJobFile(join(folder, 'job.yaml'), { set: [] });
  };

  for (const [line, path] of Object.entries(PIP))
    it(`${line} names ${path}`, () =>
      assert.deepEqual(
        filesNamedIn(`numpy\r\n${line}\r\n`, 'requirements').map((one) => [one.line, one.path]),
        [[2, path]],
      ));
  for (const line of ALONE)
    it(`${line} names none`, () => assert.deepEqual(filesNamedIn(`${line}\n`, 'requirements'), []));

  it('are refused with the line, before anything is asked for', async () => {
    put('requirements.txt', 'numpy\n-r other.txt\n');
    put('other.txt', 'jax\n');
    await assert.rejects(
      read('venv: {name: x, requirements_file: requirements.txt}'),
      /job\.yaml:3:\d+.*requirements\.txt:2: '-r other\.txt' names other\.txt, which is not on the hosts[^]*install: pip install -r requirements\.txt/,
    );
    await assert.rejects(read('conda: {name: x, requirements: requirements.txt}'), /requirements\.txt:2/);
  });

  it('are refused under pip: of an environment.yml', async () => {
    put(
      'environment.yml',
      'dependencies:\n  - python=3.11\n  - pip:\n    - numpy\n    - -r requirements.txt\n    - -e .\n',
    );
    await assert.rejects(
      read('conda: {name: x, config_file: environment.yml}'),
      /environment\.yml:5: '-r requirements\.txt'[^]*environment\.yml:6: '-e \.'/,
    );
    put('environment.yml', 'dependencies: [python=3.11, {pip: [numpy]}]\n');
    assert.deepEqual((await read('conda: {name: x, config_file: environment.yml}')).warnings, []);
  });

  it('are refused in packages that the job file lists itself, as are options of pip', async () => {
    const packages = (list: string) => read(`conda: {name: x, python: "3.11", requirements: ${list}}`);
    await assert.rejects(
      packages('[numpy, ./pkg]'),
      /requirements: '\.\/pkg' names \.\/pkg, which is not on the hosts/,
    );
    await assert.rejects(packages('numpy mine-1.0.whl'), /'mine-1\.0\.whl' names mine-1\.0\.whl/);
    for (const [list, option] of [
      ['[numpy, "-e ."]', "'-e \\.'"],
      ['"-r other.txt"', "'-r'"],
      ['[" --pre"]', "'--pre'"],
    ] as const)
      await assert.rejects(packages(list), new RegExp(`requirements.*${option} is an option of pip`));
    await assert.rejects(
      packages('[numpy, " --pre", "-e ."]'),
      /requirements\[1\]: '--pre'[^]*requirements\[2\]: '-e \.'/,
    );
    assert.deepEqual((await packages('["jax[tpu]>=0.4", "b @ https://example.com/b.whl"]')).warnings, []);
  });

  it('are refused among the channels of an environment.yml', async () => {
    put('environment.yml', 'channels: [conda-forge, conda-forge/label/x, ./mine]\ndependencies: [python=3.11]\n');
    await assert.rejects(read('conda: {name: x, config_file: environment.yml}'), /environment\.yml:1: '\.\/mine'/);
  });

  it('are taken where files brings them, and warned of where something else may', async () => {
    put('requirements.txt', '-r sub/other.txt\n');
    const venv = 'venv: {name: x, requirements_file: requirements.txt}';
    put('other.txt', '');
    assert.deepEqual((await read(`${venv}\nfiles: [{from: other.txt, to: ~/sub/other.txt}]`)).warnings, []);
    await assert.rejects(read(`${venv}\nfiles: [other.txt]`), /names sub\/other\.txt/);
    const { warnings } = await read(`${venv}\ngcsfuse: {bucket_name: b-b-b, mount_path: ~/sub}`);
    assert.match(warnings.join(), /^venv\.requirements_file: requirements\.txt:1: .* names sub\/other\.txt/);
  });

  it('of UTF-16 are read, and sent as UTF-8', async () => {
    const wide = (text: string): Buffer => Buffer.from(`\uFEFF${text}`, 'utf16le');
    put('requirements.txt', wide('numpy\r\n-r other.txt\r\n'));
    const venv = 'venv: {name: x, requirements_file: requirements.txt}';
    await assert.rejects(read(venv), /requirements\.txt:2: '-r other\.txt'/);
    put('requirements.txt', wide('numpy\r\n'));
    const { files } = await read(venv);
    assert.equal(Buffer.from(files['requirements.txt'] as Uint8Array).toString(), 'numpy\r\n');
    put('requirements.txt', wide('jax\n').swap16());
    assert.equal(Buffer.from((await read(venv)).files['requirements.txt'] as Uint8Array).toString(), 'jax\n');
  });

  const written: Readonly<Record<string, readonly [text: string, install: RegExp]>> = {
    'requirements.txt': ['-c constraints.txt\nnumpy\n', /^ {2}install: pip install -r requirements\.txt #/m],
    'environment.yml': [
      'dependencies: [python=3.11, {pip: ["-e ."]}]\n',
      /^ {2}install: conda env update -n x -f environment\.yml #/m,
    ],
  };
  for (const [file, [text, install]] of Object.entries(written))
    it(`of ${file} are installed from the bundle by the file that init writes, which is accepted`, async () => {
      put('train.py', 'print(1)\n');
      put(file, text);
      const job = writtenJob(
        'x',
        { run: 'true', place: { tpu: 'v5litepod-8', zone: 'us-central1-a' } },
        findProgram(folder),
      );
      assert.match(job, install);
      assert.doesNotMatch(job, /requirements_file|config_file/);
      put('job.yaml', job);
      assert.deepEqual((await readJobFile(join(folder, 'job.yaml'), { set: [], isDry: true })).warnings, []);
    });
});
