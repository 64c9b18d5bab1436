import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CONTAINER_ENTRY, LEFT_BEHIND } from '../../cloud/hosts/runner/container.js';
import { until } from '../until.js';

const asRoot = process.getuid?.() === 0 ? [] : ['--user', '--map-root-user'];

/** The first process of a container, in a PID namespace of its own. A pod has no such process: the runner itself is in it. */
describe('the first process of a container: what a command leaves running', () => {
  let run: string;
  beforeEach(() => {
    run = mkdtempSync(join(tmpdir(), 'left-in-container-'));
    for (const name of ['output', 'left']) writeFileSync(join(run, name), '');
  });
  afterEach(() => rmSync(run, { recursive: true, force: true }));

  const read = (name: string): string => readFileSync(join(run, name), 'utf8');
  function start(script: string, waitFor: 'shell' | 'all' = 'shell', graceMs = 500) {
    writeFileSync(join(run, 'script'), `cd ${run}\n${script}`);
    const words = ['--pid', '--mount-proc', '--fork', '--kill-child', 'bash', '-c', CONTAINER_ENTRY, 'jobctl'];
    const child = spawn('unshare', [...asRoot, ...words, run, waitFor, String(graceMs)], { stdio: 'ignore' });
    return {
      pid: child.pid ?? 0,
      ended: new Promise<number | null>((resolve) => child.once('exit', (code) => resolve(code))),
    };
  }
  /** The host's sentence about it, as the runner writes it into the output. */
  function told(): string {
    const script = `${LEFT_BEHIND}\nrun=${run}; tell_left; printf %s "$left"`;
    const { stdout } = spawnSync('sh', ['-c', script], { encoding: 'utf8' });
    return Buffer.from(stdout, 'base64').toString();
  }

  it('is ended, and named by its number inside and its command line', async () => {
    const { ended } = start('sleep 2000 & echo $! > pid; echo up');
    assert.equal(await ended, 0);
    const line = `${read('pid').trim()} sleep 2000`;
    assert.equal(read('left'), `1\n${line}\n`);
    assert.equal(told(), `1\n${line}\n`);
    assert.equal(
      read('output'),
      `up\njobctl: the command's shell has ended with code 0, and what it had started still ran and was ended (command.wait_for: all waits for it):\njobctl:   ${line}\n`,
    );
  });

  it('is counted, and the first three are named in a line each, without secrets', async () => {
    const { ended } = start(
      `for i in 1 2 3 4 5; do bash -c 'echo $$ >> pids; exec -a "$0" sleep 2000' $'train\\n--api-key=hidden-1234' & done\nuntil [ "$(wc -l < pids)" = 5 ]; do sleep 0.02; done`,
    );
    assert.equal(await ended, 0);
    const lines = told().trimEnd().split('\n');
    assert.equal(lines.shift(), '5');
    assert.equal(lines.length, 3);
    for (const line of lines) assert.match(line, /^\d+ train --api-key=\*\*\* 2000$/);
    assert.match(read('output'), /^jobctl: {3}and 2 more$/m);
    assert.ok(!read('output').includes('hidden-1234'));
  });

  it('is waited for with wait_for all, which is said with its number', async () => {
    const { ended } = start('for i in 1 2; do (until [ -e go ]; do sleep 0.05; done; echo trained) & done', 'all');
    await until('it says that it waits', () => (read('output').includes('waiting') ? true : undefined));
    writeFileSync(join(run, 'go'), '');
    assert.equal(await ended, 0);
    assert.match(
      read('output'),
      /^jobctl: the command's shell has ended with code 0; waiting for what it has started \(processes: [2-4]\), whose exit codes are not known \(command\.wait_for: all\)$/m,
    );
    assert.equal(read('output').match(/^trained$/gm)?.length, 2);
    assert.equal(told(), '');
  });

  it('has its grace, and does not outlive it', async () => {
    const { ended } = start(
      `bash -c 'trap "echo told" TERM; echo $$ > pid; while :; do sleep 0.1; done' & until [ -s pid ]; do sleep 0.02; done`,
      'shell',
      1,
    );
    assert.equal(await ended, 0);
    assert.match(read('output'), /^told$/m);
    assert.match(read('left'), /^\d+ bash -c trap/m);
  });

  const silent: Readonly<Record<string, readonly [script: string, code: number]>> = {
    'ends within a moment': ['(sleep 0.3; echo tracked) & echo up', 0],
    'was left by a shell that failed': ['sleep 2000 & exit 3', 3],
    'was left by a run that is stopped': ['sleep 2000 & touch stop', 0],
    'was left by a run that the host ends': ['sleep 2000 & touch ended-by', 0],
  };
  for (const [what, [script, code]] of Object.entries(silent))
    it(`is not told if it ${what}`, async () => {
      assert.equal(await start(script).ended, code);
      assert.equal(read('left'), '');
      assert.ok(!read('output').includes('jobctl:'), read('output'));
    });

  it('is not told of what others have brought in, as docker exec does', async () => {
    const { pid, ended } = start('until [ -e go ]; do sleep 0.05; done');
    const first = await until('its first process', () => {
      const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
      return children === '' || !existsSync(join(run, 'output')) ? undefined : children.split(' ')[0];
    });
    const user = asRoot.length === 0 ? [] : ['--user', '--preserve-credentials'];
    const other = spawn('nsenter', ['--target', first, ...user, '--pid', '--mount', 'sleep', '1999']);
    await until('it is inside', () => (readFileSync(`/proc/${other.pid}/comm`, 'utf8') !== '' ? true : undefined));
    writeFileSync(join(run, 'go'), '');
    assert.equal(await ended, 0);
    assert.equal(read('left'), '');
  });
});
