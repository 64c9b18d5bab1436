import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { JobctlUser } from './jobctl-process.js';
import { cloudIsEmpty } from './nothing-left.js';
import { RehearsalAdmin } from './rehearsal-admin.js';
import { storedLog } from './stored-log.js';
import type { TestStack } from './test-stack.js';
import { until } from '../until.js';
import { homesWith } from './vm-homes.js';
import { withStack } from './with-stack.js';

interface Named {
  readonly hosts: readonly { readonly host: number; readonly alias: string }[];
  readonly config: string;
}

describe('a workspace', function () {
  this.timeout(120_000);
  let stack: TestStack;
  let user: JobctlUser;

  withStack((own) => {
    stack = own;
    user = JobctlUser.of(own, { JOBCTL_SSH_JOB_KEY_SECRET: own.jobKeySecret('first') });
  });
  after(() => user.leave());

  /** Gets one, and returns what it printed about its hosts. */
  async function workspace(...words: string[]): Promise<Named> {
    const { code, stdout, stderr } = await user.run('workspace', ...words, '-o', 'json');
    assert.equal(code, 0, `${stderr}${stack.tail()}`);
    return JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as Named;
  }

  const ssh = (config: string, alias: string, command: string): ChildProcess =>
    spawn('ssh', ['-F', config, '-o', 'BatchMode=yes', alias, command], { stdio: ['pipe', 'pipe', 'ignore'] });

  async function answerOf(config: string, alias: string, command: string): Promise<string | undefined> {
    const login = ssh(config, alias, command);
    login.stdin?.end();
    let said = '';
    login.stdout?.on('data', (chunk: Buffer) => (said += chunk.toString()));
    const [code] = (await once(login, 'close')) as [number | null];
    return code === 0 ? said.trim() : undefined;
  }

  /** What the watchers of exp-7 keep, on the disks of its hosts. */
  const useFiles = (): readonly string[] => {
    const file = '.jobctl/runs/exp-7-a1/use';
    return homesWith(file, stack.rehearsalDirectory).map((home) => readFileSync(join(home, file), 'utf8'));
  };

  it('is kept by a login under its written name, given back after it, and what it wrote is stored', async () => {
    const file = join(user.home, 'job.yaml');
    const lines = [
      'tpu: {accelerator: v5litepod-16, zone: us-central1-a, allocation_mode: tpu-vm}',
      'command: {run: "exit 3"}',
      'outputs: ["note.txt"]',
    ];
    writeFileSync(file, lines.join('\n'));
    const { hosts, config } = await workspace(file, '--idle', '10s', '--name', 'exp-7');
    assert.deepEqual(
      hosts.map(({ alias }) => alias),
      ['exp-7', 'exp-7.1', 'exp-7.2', 'exp-7.3'],
    );
    const login = ssh(config, 'exp-7.1', 'echo in > note.txt; read -r left');
    const log = (host: number): Promise<string> => storedLog(stack.store, { id: 'exp-7', stream: 'command', host });
    await until('its host sees the login, and another host nobody', async () => {
      const [one, other] = await Promise.all([log(1), log(2)]);
      return one.includes('in use: login from 127.0.0.1') && other.includes('not in use') ? true : undefined;
    });
    await until('the others have been idle for more than the limit, by their own clock', () => {
      const idle = useFiles().map((text) => {
        const [, seen = 0, used = 0] = text.split(' ').map(Number);
        return seen - used;
      });
      return idle.filter((ms) => ms > 12_000).length === 3 && idle.filter((ms) => ms < 5_000).length === 1;
    });
    assert.equal((await stack.jobs.row('exp-7')).phase, 'running');
    login.stdin?.end();
    const { result, cause, outputs, exitCode } = await stack.jobs.wait('exp-7');
    assert.deepEqual([result, exitCode, outputs?.files], ['succeeded', undefined, 1], stack.tail());
    assert.match(
      cause?.message ?? '',
      /^given back: idle for 10 s; last use: login from 127\.0\.0\.1 on host \d, until /,
    );
    const told = (await stack.jobs.describe('exp-7')).events.map(({ text }) => text).join('\n');
    assert.match(told, /, and given back at .+ UTC unless somebody uses it: log in to keep it/);
  });

  it('keeps its name when it is preempted: the next login reaches the new slice, whose key it checks', async () => {
    const admin = new RehearsalAdmin(stack.rehearsal.endpoints.admin);
    const { config } = await workspace('--tpu', 'v5litepod-4', '--zone', 'us-central1-a', '--name', 'exp-8');
    const first = await answerOf(config, 'exp-8', 'cat /proc/sys/kernel/hostname; rm -f left; touch left');
    assert.ok(first, stack.tail());
    await admin.post('preempt', { name: 'jc-exp-8-g1' });
    const second = await until('the name leads to the new slice', async () => {
      const host = await answerOf(config, 'exp-8', '[ ! -e left ] && cat /proc/sys/kernel/hostname');
      return host === first ? undefined : host;
    });
    assert.notEqual(second, first);
    await stack.jobs.cancel('exp-8');
    await stack.jobs.wait('exp-8').catch(() => undefined);
    const late = await user.run('ssh-config', 'exp-8');
    assert.equal(late.code, 4, late.stdout);
    assert.match(late.stderr, /^exp-8 has ended \(cancelled\): its hosts are gone/);
    assert.equal(existsSync(config), false, 'the names and the key of an ended job are removed');
    await cloudIsEmpty(admin);
  });

  it('keeps a folder in step through edits here and there, a preemption, and to its end', async () => {
    const admin = new RehearsalAdmin(stack.rehearsal.endpoints.admin);
    const here = join(user.home, 'project');
    mkdirSync(here);
    writeFileSync(join(here, 'train.py'), 'one');
    writeFileSync(join(here, 'old.py'), 'old');
    const machines = ['--tpu', 'v5litepod-16', '--zone', 'us-central1-a', '--name', 'exp-9'];
    const sync = user.start('workspace', ...machines, '--sync', here);
    let ended: number | null | undefined;
    void sync.finished.then(({ code }) => (ended = code));
    const onHosts = (path: string, want: string): Promise<unknown> =>
      until(`${path} is '${want}' on all hosts`, () => {
        assert.equal(ended, undefined, sync.stderr());
        const homes = homesWith('project/train.py', stack.rehearsalDirectory);
        const texts = homes.map((home) => textOf(join(home, path)));
        return texts.length === 4 && texts.every((text) => text === want);
      });
    await onHosts('project/train.py', 'one');
    writeFileSync(join(here, 'train.py'), 'two');
    rmSync(join(here, 'old.py'));
    await onHosts('project/train.py', 'two');
    await onHosts('project/old.py', '');
    const [home = ''] = homesWith('project/train.py', stack.rehearsalDirectory);
    writeFileSync(join(home, 'project/train.py'), 'edited there');
    writeFileSync(join(here, 'train.py'), 'three');
    await onHosts('project/train.py', 'three');
    const kept = await until('it says where the version of the host is', () => {
      const [, file] = /is replaced; its version of before is ~\/(\S+)$/m.exec(sync.stderr()) ?? [];
      return file;
    });
    assert.equal(textOf(join(home, kept)), 'edited there', sync.stderr());
    await admin.post('preempt', { name: 'jc-exp-9-g1' });
    await until('the disks of the first slice are gone', () => !existsSync(home));
    await onHosts('project/train.py', 'three');
    await stack.jobs.cancel('exp-9');
    assert.equal((await sync.finished).code, 0, sync.stderr());
    assert.match(sync.stderr(), /exp-9 has ended\n$/);
    await cloudIsEmpty(admin);
  });
});

const textOf = (path: string): string => (existsSync(path) ? readFileSync(path, 'utf8') : '');
