import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { programArguments } from '../built.js';
import { type Ended, jobctl } from './command-line.js';

const PROGRAM = "print('hi')\nif __name__ == '__main__':\n    print('main')\n";
/** A terminal of its own; what comes in is typed on it. */
const ON_A_TERMINAL = 'import pty, sys; sys.exit(pty.spawn(sys.argv[1:]) >> 8)';

describe('jobctl init', function () {
  this.timeout(60_000);
  let root: string;
  before(() => (root = mkdtempSync(join(tmpdir(), 'jobctl-init-'))));
  after(() => rmSync(root, { recursive: true, force: true }));

  /** A folder with these files. */
  function folderOf(name: string, files: Readonly<Record<string, string>>): string {
    const folder = join(root, name);
    mkdirSync(folder);
    for (const [file, text] of Object.entries(files)) writeFileSync(join(folder, file), text);
    return folder;
  }
  const written = (folder: string): string => readFileSync(join(folder, 'job.yaml'), 'utf8');
  async function isValid(folder: string): Promise<string> {
    const { exitCode, stdout, stderr } = await jobctl(['validate', join(folder, 'job.yaml')]);
    assert.equal(exitCode, 0, stderr);
    assert.match(stderr, /^bundle: \d+ files? of .+\n$/);
    return stdout;
  }
  const refused = (ended: Ended, exitCode: number, ...lines: string[]): void =>
    assert.deepEqual(ended, { exitCode, stdout: '', stderr: `${lines.join('\n')}\n` });

  it('writes a job file with comments that validate accepts, and says the next command', async () => {
    const folder = folderOf('My_Model', { 'train.py': PROGRAM, 'helper.py': PROGRAM, 'requirements.txt': 'numpy\n' });
    const { exitCode, stdout, stderr } = await jobctl(['init', folder]);
    assert.deepEqual([exitCode, stderr], [0, '']);
    const file = join(folder, 'job.yaml');
    assert.equal(
      stdout,
      [
        `${file} is written:`,
        '  python3 train.py (on all hosts)',
        '  v5litepod-8 (8 chips on 1 host)',
        '  requirements.txt is installed on every host',
        '  files in $JOBCTL_OUTPUT_DIR are stored when the command ends; jobctl download JOB brings them',
        'Run it on the simulated Cloud TPU of this computer, which costs nothing:',
        `  jobctl submit --local --wait ${file}`,
        'See what a preemption costs it, on the same simulation:',
        `  jobctl rehearse ${file}`,
        'Run it on your own workers and Google project:',
        `  jobctl submit --wait ${file}`,
        '',
      ].join('\n'),
    );
    assert.equal(
      written(folder),
      [
        '# Written by `jobctl init`. Check a change with `jobctl validate job.yaml`; docs/job-file.md has every key.',
        'name: my-model # job ids are made from it: my-model-7f3k',
        '',
        'tpu:',
        '  accelerator: v5litepod-8',
        '  zone: us-central1-a',
        '  pricing: spot # the least expensive; a preempted job gets another slice, and its command starts again. ondemand is not preempted',
        '',
        '# This folder goes to every host, without what .gitignore leaves out, and the command starts in it.',
        'bundle:',
        '  dir: .',
        '',
        'venv:',
        '  name: my-model',
        '  requirements_file: requirements.txt',
        '',
        '# Stored in the bucket while the command runs: what is named here, and $JOBCTL_OUTPUT_DIR. `jobctl download JOB` brings it.',
        '# outputs:',
        '#   paths: [out]',
        '#   every: 5m # and at a notice of preemption, and when the command ends',
        '#   restore: true # put back before the next attempt starts: a program that goes on from its checkpoint loses 5 minutes at most',
        '',
        'env:',
        '  PYTHONUNBUFFERED: "1" # what is printed is seen at once',
        '',
        '# Runs on every host of the slice. JOBCTL_HOST_INDEX and JOBCTL_NUM_HOSTS tell them apart.',
        'command:',
        '  run: python3 train.py',
        '',
      ].join('\n'),
    );
    assert.match(await isValid(folder), /modules +venv, bundle, command|modules +bundle, venv, command/);
  });

  const cases: Record<string, { files: Record<string, string>; args?: string[]; want: RegExp[]; modules: RegExp }> = {
    'the only program among modules': {
      files: { 'run model.py': PROGRAM, 'model.py': 'x = 1\n', 'test_model.py': PROGRAM },
      want: [/\n {2}run: python3 'run model\.py'\n/],
      modules: /modules +bundle, command/,
    },
    'a pyproject.toml': {
      files: { 'main.py': PROGRAM, 'pyproject.toml': '[project]\nname = "x"\n' },
      want: [/\nbundle:\n {2}dir: \.\n {2}install: pip install -e \. # pyproject\.toml\n/, /\nvenv:\n {2}name: \S+\n/],
      modules: /venv/,
    },
    'an environment.yml and a Dockerfile': {
      files: { 'main.py': PROGRAM, 'environment.yml': 'name: x\n', Dockerfile: 'FROM python\n' },
      want: [
        /\nconda:\n {2}name: \S+\n {2}config_file: environment\.yml\n/,
        /\n# The image of your Dockerfile is built at submit by: build: /,
      ],
      modules: /conda/,
    },
    'a program that writes to folders whose names say that they are for results': {
      files: {
        'train.py':
          "import os\nos.makedirs('./checkpoints', exist_ok=True)\nopen('out/model.json', 'w')\nprint('outer/x', 'results')\n",
      },
      want: [
        /\n# Stored in the bucket .*\noutputs:\n {2}paths: \[checkpoints, out\]\n {2}every: 5m .*\n {2}restore: true /,
      ],
      modules: /bundle, command/,
    },
    'a program that writes files whose names say nothing': {
      files: { 'train.py': "STATE = 'state.json'\nopen(STATE, 'w')\nnp.save(f'step-{n}.npy', x)\nopen('in.txt')\n" },
      want: [/\noutputs:\n {2}paths: \[(state\.json, step-\*\.npy|step-\*\.npy, state\.json)\]\n/],
      modules: /bundle, command/,
    },
    'a program that writes beside its sources, and files that YAML would read as numbers': {
      files: {
        'train.py': "open('123', 'w')\nopen('null', 'w')\nopen('conf.yaml', 'w')\nopen('src/log.txt', 'w')\n",
        'conf.yaml': 'a: 1\n',
      },
      want: [/\noutputs:\n {2}paths: \["123", "null"\]\n/],
      modules: /bundle, command/,
    },
    'machines of the pool’s own': {
      files: { 'train.py': PROGRAM },
      args: ['--machines', 'h100:16:2'],
      want: [/\nmachines: #.*\n {2}accelerator: h100\n {2}count: 16 #.*\n {2}hosts: 2 # machines\n\n(?![^]*tpu:)/],
      modules: /bundle, command/,
    },
    'flags in the place of questions': {
      files: {},
      args: ['--run', "cd src && python3 main.py --note 'a: b #c'", '--tpu', 'v4-16'],
      want: [/accelerator: v4-16\n {2}zone: us-central2-b\n/, /run: "?cd src && python3 main\.py --note 'a: b #c'"?\n/],
      modules: /bundle, command/,
    },
  };
  for (const [name, { files, args = [], want, modules }] of Object.entries(cases))
    it(`${name}: the file says so, and is valid`, async () => {
      const folder = folderOf(name.replaceAll(/\W+/g, '-'), files);
      const { exitCode, stderr } = await jobctl(['init', folder, ...args]);
      assert.deepEqual([exitCode, stderr], [0, '']);
      for (const pattern of want) assert.match(written(folder), pattern);
      assert.match(await isValid(folder), modules);
    });

  it('says which lines write to a name that it cannot read, beside those that it can', async () => {
    const folder = folderOf('unread', { 'train.py': "open('a.txt', 'w')\n\nopen(f'{d}/x', 'w')\n" });
    const { stdout } = await jobctl(['init', folder]);
    assert.match(
      stdout,
      /\n {2}a\.txt: stored .*\n {2}writes to a name that init cannot read: train\.py:3; add it to outputs\.paths/,
    );
    assert.match(
      written(folder),
      /\n# Writes to a name that init cannot read: train\.py:3\..*\noutputs:\n {2}paths: \[a\.txt\]\n/,
    );
    assert.match(await isValid(folder), /bundle, command/);
  });

  it('says what comes after a job for own machines, and refuses what is no number of a type', async () => {
    const folder = folderOf('rack', { 'train.py': PROGRAM });
    const { stdout } = await jobctl(['init', folder, '--machines', 'h100:8']);
    assert.match(stdout, /\n {2}1 machine of 8 h100\n[^]*\n {2}jobctl dev up --machines pool\.toml\n/);
    assert.ok(!/simulated|\bTPU\b|rehearse/.test(stdout), stdout);
    const other = folderOf('rack-2', { 'train.py': PROGRAM });
    const wrong: Readonly<Record<string, RegExp>> = {
      h100: /TYPE:COUNT, such as h100:8/,
      'h100:8:2:1': /TYPE:COUNT/,
      ':8': /TYPE:COUNT/,
      'h100:0': /count/,
      'h100:9:2': /9 cannot be shared out evenly among 2 hosts/,
      'H 100:8': /TYPE:COUNT/,
      'v5litepod-8:8': /a slice of Cloud TPU/,
      'h100:99999999': /TYPE:COUNT/,
    };
    for (const [text, words] of Object.entries(wrong)) {
      const { exitCode, stderr } = await jobctl(['init', other, '--machines', text]);
      assert.equal(exitCode, 2, text);
      assert.match(stderr, words, text);
    }
    const both = await jobctl(['init', other, '--machines', 'h100:8', '--tpu', 'v6e-8']);
    assert.deepEqual([both.exitCode, existsSync(join(other, 'job.yaml'))], [2, false]);
  });

  it('never overwrites: it says what is there, and --force does it', async () => {
    const folder = folderOf('there', { 'train.py': PROGRAM });
    const file = join(folder, 'job.yaml');
    const text = 'name: old\ntpu: {accelerator: v6e-8, zone: us-east5-b}\ncommand: {run: echo old}\n';
    writeFileSync(file, text);
    refused(
      await jobctl(['init', folder]),
      4,
      `${file} is there already: job old on v6e-8, command echo old (on all hosts)`,
      '  nothing was changed; --force overwrites it',
    );
    assert.equal(written(folder), text);
    assert.equal((await jobctl(['init', folder, '--force'])).exitCode, 0);
    assert.match(written(folder), /python3 train\.py/);
    writeFileSync(file, 'a list: [');
    refused(
      await jobctl(['init', folder]),
      4,
      `${file} is there already: it is no good job file (jobctl validate ${file} says why)`,
      '  nothing was changed; --force overwrites it',
    );
  });

  it('a folder without a program, or with several, is told what to say; nothing is written', async () => {
    const none = folderOf('none', { 'README.md': '' });
    refused(
      await jobctl(['init', none]),
      2,
      `${none}: no Python program is there`,
      "  looked for train.py and *.py; name the command: jobctl init --run 'python3 train.py'",
    );
    const several = folderOf('several', { 'a.py': PROGRAM, 'b.py': PROGRAM, 'c.py': '' });
    refused(
      await jobctl(['init', several]),
      2,
      `${several}: which program is meant is not known`,
      '  it may be a.py, b.py',
      "  name the command: jobctl init --run 'python3 train.py'",
    );
    refused(
      await jobctl(['init', join(root, 'nowhere')]),
      2,
      `${join(root, 'nowhere')}: does not exist`,
      '  jobctl init takes a folder, the current one without it',
    );
    assert.deepEqual(
      [none, several].map((folder) => existsSync(join(folder, 'job.yaml'))),
      [false, false],
    );
  });

  it('a wrong type of slice is refused as by validate, and nothing is written', async () => {
    const folder = folderOf('wrong', { 'train.py': PROGRAM });
    const { exitCode, stderr } = await jobctl(['init', folder, '--tpu', 'v5litepod-9']);
    assert.equal(exitCode, 2);
    assert.match(stderr, /^job\.yaml:5:16: accelerator: 'v5litepod-9' is no Cloud TPU type\n {2}the nearest /);
    assert.equal(existsSync(join(folder, 'job.yaml')), false);
  });

  it('prints the next command as it was typed', async () => {
    const folder = folderOf('typed', { 'train.py': PROGRAM });
    const { stdout } = await jobctl(['init', folder], { npm_command: 'exec' });
    assert.ok(stdout.includes('\n  npx jobctl submit --local --wait '), stdout);
  });

  /** What is shown when `answers` are typed, one to each question. */
  function onATerminal(folder: string, answers: readonly string[], ...flags: string[]): Promise<string> {
    const words = ['-c', ON_A_TERMINAL, process.execPath, ...programArguments('cli/main'), 'init', folder];
    const env = { PATH: process.env['PATH'] ?? '', LANG: 'C.UTF-8', JOBCTL_HOME: '/nonexistent/jobctl' };
    const child = spawn('python3', [...words, ...flags], { stdio: ['pipe', 'pipe', 'inherit'], env });
    let shown = '';
    let asked = 0;
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      shown += text;
      const questions = shown.match(/\] /g)?.length ?? 0;
      if (questions > asked) child.stdin.write(`${answers[asked] ?? ''}\r`);
      asked = questions;
    });
    return new Promise((resolve, reject) => {
      child.once('error', reject);
      child.once('close', () => resolve(shown));
    });
  }

  it('asks three questions on a terminal, each with a default', async () => {
    const folder = folderOf('asked', { 'a.py': PROGRAM, 'b.py': PROGRAM });
    const shown = await onATerminal(folder, ['', 'v6e-4', '']);
    for (const question of ['Command [python3 a.py] ', 'v6e-8 [v5litepod-8] ', 'Zone [us-east5-b] '])
      assert.ok(shown.includes(question), shown);
    assert.equal(shown.match(/\] /g)?.length, 3, shown);
    assert.match(written(folder), /accelerator: v6e-4\n {2}zone: us-east5-b\n[^]*run: python3 a\.py\n/);
  });

  it('asks only for what no flag says, and nothing with --yes', async () => {
    const folder = folderOf('half-asked', { 'train.py': PROGRAM });
    const shown = await onATerminal(folder, ['europe-west4-a'], '--tpu', 'v3-8', '--run', 'true');
    assert.equal(shown.match(/\] /g)?.length, 1, shown);
    assert.match(written(folder), /zone: europe-west4-a\n/);
    assert.doesNotMatch(await onATerminal(folder, [], '--yes', '--force'), /\] /);
  });
});
