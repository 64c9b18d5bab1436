import assert from 'node:assert/strict';
import { execFile, execFileSync, type ExecFileException, type ExecFileOptions } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { TestStack } from '../end-to-end/test-stack.js';
import { startTestServer, TEMPORAL_START_MS, type TestServer } from '../temporal-server.js';
import { BAD_INPUTS_FROM_PYTHON } from './contract-bad-inputs.js';

/** The examples as their users run them: Python with the packages of PyPI, TypeScript with the built package of this checkout. */
const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** @throws with how the program ended: a signal leaves nothing on stderr. */
async function run(
  ...[file, args, options]: [string, string[], ExecFileOptions?]
): Promise<{ readonly stdout: string }> {
  try {
    return await promisify(execFile)(file, args, { ...options, encoding: 'utf8' });
  } catch (error) {
    const { message, code, signal, stdout } = error as ExecFileException;
    const how = `exit code ${code ?? 'none'}, signal ${signal ?? 'none'}; stdout:\n${stdout ?? ''}`;
    throw new Error(`${message}\n${how}`, { cause: error });
  }
}

describe('the examples of services', function () {
  this.timeout(300_000);
  let scratch: string;
  let server: TestServer;
  let stack: TestStack;
  let env: NodeJS.ProcessEnv;
  before(async function () {
    this.timeout(TEMPORAL_START_MS);
    scratch = mkdtempSync(join(tmpdir(), 'jobctl-contract-'));
    server = await startTestServer();
    stack = await TestStack.start({ server });
    env = { ...process.env, TEMPORAL_ADDRESS: server.address, JOBCTL_TASK_QUEUE: stack.taskQueue };
  });
  after(async () => {
    await stack?.stop();
    await server?.stop();
    rmSync(scratch, { recursive: true, force: true });
  });

  /** Every job of it is done and succeeded, by jobctl's own word. */
  async function succeeded(user: string): Promise<readonly string[]> {
    const { rows } = await stack.jobs.list({ user });
    assert.deepEqual([...new Set(rows.map(({ phase }) => phase))], ['succeeded']);
    return rows.map(({ id }) => id).sort();
  }

  describe('in Python', () => {
    let folder: string;
    let python: string;
    before(async () => {
      folder = join(scratch, 'python');
      cpSync(join(ROOT, 'examples/python-service'), folder, { recursive: true });
      await run('python3', ['-m', 'venv', join(folder, 'venv')]);
      python = join(folder, 'venv/bin/python');
      await run(python, ['-m', 'pip', 'install', '--quiet', '-r', 'requirements.txt', 'mypy==2.4.1'], { cwd: folder });
    });
    const program = async (...args: string[]): Promise<string> =>
      (await run(python, args, { cwd: folder, env: { ...env, PYTHONPATH: folder } })).stdout;

    it('pass the strictest type check', async () =>
      assert.match(await program('-m', 'mypy', '--strict', '.'), /Success/));

    it('start a job from plain JSON and get its outcome', async () => {
      const printed = await program('start_job.py', 'python-job');
      assert.equal(printed, 'started python-job\npython-job succeeded: exit code 0, 1 attempts\n');
    });

    it('run jobs as children and are told of each end', async () => {
      assert.equal(
        await program('run_sweep.py', 'python-sweep'),
        'python-sweep-0 succeeded\npython-sweep-1 succeeded\n',
      );
      assert.deepEqual(await succeeded('python-service'), ['python-job', 'python-sweep-0', 'python-sweep-1']);
    });

    it('show what is wrong with an input in words that say what to do', async () => {
      const printed = await program(join(ROOT, 'test/long/contract_bad_inputs.py'));
      assert.deepEqual(JSON.parse(printed), BAD_INPUTS_FROM_PYTHON);
    });
  });

  describe('in TypeScript', () => {
    let folder: string;
    before(() => {
      execFileSync('npm', ['run', '--silent', 'build', '--', '--declarations'], { cwd: ROOT });
      folder = join(scratch, 'typescript');
      cpSync(join(ROOT, 'examples/typescript-service'), folder, { recursive: true });
      mkdirSync(join(folder, 'node_modules'));
      symlinkSync(ROOT, join(folder, 'node_modules/jobctl'));
      for (const name of ['@temporalio', '@types', 'tsx', 'typescript'])
        symlinkSync(join(ROOT, 'node_modules', name), join(folder, 'node_modules', name));
    });
    const program = async (...args: string[]): Promise<string> =>
      (await run(process.execPath, args, { cwd: folder, env })).stdout;

    it('compile against the types of jobctl/contract', async () =>
      assert.equal(await program('node_modules/typescript/bin/tsc', '-p', '.'), ''));

    it('start a job from plain JSON and get its outcome', async () => {
      const printed = await program('--import', 'tsx', 'src/start-job.ts', 'ts-job');
      assert.equal(printed, 'started ts-job\nts-job succeeded: exit code 0, 1 attempts\n');
    });

    it('run jobs as children and are told of each end', async () => {
      const printed = await program('--import', 'tsx', 'src/run-sweep.ts', 'ts-sweep');
      assert.equal(printed, 'ts-sweep-0 succeeded\nts-sweep-1 succeeded\n');
      assert.deepEqual(await succeeded('typescript-service'), ['ts-job', 'ts-sweep-0', 'ts-sweep-1']);
    });
  });
});
