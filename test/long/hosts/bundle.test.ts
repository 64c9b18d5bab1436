import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { setUpObject } from '../../../domain/store-layout.js';
import type { SetUpRecord } from '../../../domain/set-up-record.js';
import { JobctlUser, type Finished } from '../../end-to-end/jobctl-process.js';
import { RehearsalAdmin } from '../../end-to-end/rehearsal-admin.js';
import { storedLog } from '../../end-to-end/stored-log.js';
import { TestStack, writeKeyPair } from '../../end-to-end/test-stack.js';
import { TEMPORAL_START_MS } from '../../temporal-server.js';
import { until } from '../../until.js';

const EXAMPLE = fileURLToPath(new URL('../../../examples/bundle.yaml', import.meta.url));

const TRAIN = (version: string): string => `import os, sys, model
os.makedirs('out', exist_ok=True)
before = sorted(os.listdir('out'))
open('out/' + os.environ['JOBCTL_ATTEMPT'], 'w').close()
print('train ${version}, model', model.SIZE, 'after attempts', before, 'in', os.getcwd(), flush=True)
import time; time.sleep(600)
`;

/** The built command line, by a user in their project's folder. */
describe('a job with a bundle', function () {
  this.timeout(120_000);
  let stack: TestStack;
  let admin: RehearsalAdmin;
  let user: JobctlUser;
  let mine: string;
  let id: string;

  before(async function () {
    this.timeout(TEMPORAL_START_MS);
    mine = mkdtempSync(join(tmpdir(), 'bundle-job-'));
    stack = await TestStack.start();
    admin = new RehearsalAdmin(stack.rehearsal.endpoints.admin);
    user = JobctlUser.of(stack);
    write('proj/train.py', TRAIN('one'));
    write('proj/model.py', 'SIZE = 1\n');
    write('proj/old.py', '');
    write('proj/venv/bin/python', 'stays here');
    write(
      'train.yaml',
      `tpu: {accelerator: v5litepod-16, zone: us-central1-a}
ssh: {private_key: ${writeKeyPair(mine).privateKeyFile}}
bundle: {dir: proj}
command: {run: python3 train.py}
grace: 1
`,
    );
  });
  after(async () => {
    await stack.stop();
    rmSync(user.home, { recursive: true, force: true });
    rmSync(mine, { recursive: true, force: true });
  });

  const write = (name: string, content: string): void => {
    mkdirSync(join(mine, name, '..'), { recursive: true });
    writeFileSync(join(mine, name), content);
  };
  const done = async (...args: string[]): Promise<Finished> => {
    const finished = await user.run(...args);
    assert.equal(finished.code, 0, `jobctl ${args.join(' ')}: ${finished.stderr}`);
    return finished;
  };
  const prints = async (attempt: number, host: number, text: string): Promise<void> => {
    const log = (): Promise<string> => storedLog(stack.store, { id, stream: 'command', host, attempt });
    await until(`attempt ${attempt} prints ${text}`, async () => (await log()).includes(text), 60_000).catch(
      async (error: unknown) => assert.fail(`${String(error)}; it printed ${await log()}\n${stack.tail()}`),
    );
  };
  const outcomesOf = async (attempt: number): Promise<readonly string[]> => {
    const record = JSON.parse(String(await stack.store.read(setUpObject(id, attempt)))) as SetUpRecord;
    return record.steps.filter(({ module }) => module === 'bundle').map(({ step, outcome }) => `${step} ${outcome}`);
  };
  const bundlesStored = async (): Promise<number> => (await stack.store.list('bundles/')).length;

  it('runs in its folder on every host, and what AXLearn leaves out stays behind', async () => {
    const { stdout, stderr } = await done('submit', join(mine, 'train.yaml'));
    id = stdout.trim();
    assert.match(stderr, /^bundle: 3 files of .*\/proj, \d+ B \(\d+ B packed\); venv\/ stays behind\n/);
    for (const host of [0, 1, 2, 3]) await prints(1, host, 'train one, model 1 after attempts [] in');
    const { stdout: listed } = await done('exec', id, '--host', '3', '--', 'cd ~/bundle && echo $(ls) && pwd');
    assert.match(listed, /^__pycache__ model\.py old\.py out train\.py\n\/.*\/bundle\n$/);
    assert.equal(await bundlesStored(), 1);
  });

  it('restart --bundle goes on with the folder as it is now, on the same slice; what the command left stays', async () => {
    write('proj/train.py', TRAIN('two'));
    write('proj/model.py', 'SIZE = 2\n');
    rmSync(join(mine, 'proj/old.py'));
    await done('restart', id, '--bundle', join(mine, 'proj'));
    for (const host of [0, 3]) await prints(2, host, "train two, model 2 after attempts ['1'] in");
    const { stdout } = await done('exec', id, '--host', '0', '--', 'ls ~/bundle');
    assert.equal(stdout, '__pycache__\nmodel.py\nout\ntrain.py\n');
    assert.deepEqual(await outcomesOf(2), Array<string>(4).fill('unpack done'));
    assert.equal((await stack.jobs.describe(id)).spec.bundle?.dir, join(mine, 'proj'));
    assert.equal(await bundlesStored(), 2);
  });

  it('a restart without a word of it keeps the bundle, and the same folder again does nothing on the hosts', async () => {
    await done('restart', id, '--set', 'env.LR=1');
    await prints(3, 0, "train two, model 2 after attempts ['1', '2'] in");
    assert.deepEqual(await outcomesOf(3), Array<string>(4).fill('check unchanged'));
    const { stderr } = await done('restart', id, '--bundle', join(mine, 'proj'));
    assert.match(stderr, /^bundle: 2 files of /);
    await prints(4, 0, "after attempts ['1', '2', '3'] in");
    assert.deepEqual(await outcomesOf(4), Array<string>(4).fill('check unchanged'));
    assert.equal(await bundlesStored(), 2);
  });

  it('after a preemption the new slice has the bundle, and nothing of the old one', async () => {
    const [slice] = (await stack.jobs.describe(id)).slices;
    await admin.post('preempt', { name: slice?.ref.name });
    await prints(5, 0, 'train two, model 2 after attempts [] in');
  });

  it('a stopped job goes on with another folder too, and with what is set for it', async () => {
    await done('stop', id);
    await until('it is paused', async () => (await stack.jobs.row(id)).phase === 'paused', 60_000);
    write('proj/train.py', TRAIN('three'));
    const { stderr } = await done('resume', id, '--bundle', join(mine, 'proj'), '--set', 'bundle.exclude=[venv, old*]');
    assert.match(stderr, /^bundle: 2 files of .*; venv\/ stays behind\n/);
    await prints(6, 0, "train three, model 2 after attempts ['5'] in");
    assert.deepEqual((await stack.jobs.describe(id)).spec.bundle?.exclude, ['venv', 'old*']);
  });

  it('a bundle that cannot be, or that nobody would pack, is refused, and the job goes on', async () => {
    const refusals: Record<string, [args: string[], says: RegExp]> = {
      'no folder': [['--bundle', join(mine, 'nowhere')], /^--bundle: .*\/nowhere does not exist\n/],
      'a file': [['--bundle', join(mine, 'train.yaml')], /--bundle: .*train\.yaml is no folder\n/],
      'what decides on the packing, and nothing to be packed': [
        ['--set', 'bundle.exclude=[data]'],
        /--set bundle\.exclude: the bundle is not packed again by itself\n.*--bundle DIR/,
      ],
      'another folder that was not given': [
        ['--set', 'bundle.dir=/elsewhere'],
        /bundle\.dir: \/elsewhere was not given with the job\n.*or the bundle alone \(--bundle DIR\)/,
      ],
    };
    for (const [what, [args, says]] of Object.entries(refusals)) {
      const { code, stderr } = await user.run('restart', id, ...args);
      assert.match(stderr, says, `${what}: ${stderr}`);
      assert.ok(code === 2 || code === 4, `${what}: exit ${code}`);
    }
    const { code, stderr } = await user.run('submit', join(mine, 'train.yaml'), '--set', 'bundle.dir=nowhere');
    assert.equal(code, 2);
    assert.match(
      stderr,
      /--set bundle\.dir=nowhere: bundle\.dir: 'nowhere' does not exist\n.*looked for at .*\/nowhere/,
    );
    assert.equal((await stack.jobs.row(id)).phase, 'running');
  });

  it('the example runs as it is', async () => {
    const { stdout, stderr } = await done('submit', '--wait', '--host', 'all', EXAMPLE);
    assert.match(stderr, /^bundle: 3 files of .*examples\/bundle, /);
    for (const host of [0, 1, 2, 3])
      assert.match(stdout, new RegExp(`host ${host}: done: y = 3\\.\\d\\d x \\+ 2\\.00`));
  });

  it('an install that fails ends the job with its step, its code and its last lines', async () => {
    symlinkSync('/mnt/data', join(mine, 'proj/data'));
    const install = 'bundle.install=echo cannot build wheel; exit 7';
    const { stdout, stderr } = await done('submit', join(mine, 'train.yaml'), '--set', install);
    assert.match(stderr, /warning: bundle: data -> \/mnt\/data: what a link outside/);
    const outcome = await stack.jobs.wait(stdout.trim());
    assert.equal(outcome.result, 'failed');
    assert.match(
      outcome.cause?.message ?? '',
      /bundle[\s\S]*step 'install' ended with code 7[\s\S]*cannot build wheel/,
    );
  });
});
