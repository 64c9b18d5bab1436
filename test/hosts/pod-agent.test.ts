import assert from 'node:assert/strict';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AGENT } from '../../cloud/machines/kubernetes/pod-template.js';
import { until } from '../until.js';

/** Shells that an image may have as its sh, as far as this computer has them. */
const SHELLS = [['dash'], ['bash', '--posix'], ['busybox', 'sh']].filter(
  ([program = '']) => spawnSync('sh', ['-c', `command -v ${program}`]).status === 0,
);
const asUser = process.getuid?.() === 0 ? [] : ['--user', '--map-root-user'];

for (const shell of SHELLS) {
  describe(`the first process of a pod, by ${shell.join(' ')}`, () => {
    let home: string;
    let agent: ChildProcess;
    let printed: string;
    beforeEach(() => {
      home = mkdtempSync(join(tmpdir(), 'agent-test-'));
      mkdirSync(join(home, '.jobctl/runs'), { recursive: true });
      writeFileSync(join(home, 'agent'), AGENT);
    });
    afterEach(() => {
      agent.kill('SIGKILL');
      rmSync(home, { recursive: true });
    });

    function start(env: Readonly<Record<string, string>> = {}): void {
      const words = [...asUser, '--pid', '--mount', '--mount-proc', '--fork', '--kill-child', ...shell];
      const options = { env: { PATH: process.env['PATH'], HOME: home, ...env } };
      agent = spawn('unshare', [...words, join(home, 'agent')], options);
      printed = '';
      agent.stdout?.on('data', (chunk: Buffer) => (printed += chunk.toString()));
    }
    /** Its number outside of its namespace, once it has begun. */
    const inside = (): Promise<number> =>
      until('the agent', () => {
        const pid = Number(readFileSync(`/proc/${agent.pid}/task/${agent.pid}/children`, 'utf8'));
        return pid > 0 && childrenOf(pid).includes('sleep') ? pid : undefined;
      });
    function childrenOf(pid: number): string[] {
      const pids = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean);
      return pids.flatMap((child) => {
        try {
          const [, name = '', state] = /\((.*)\) (\S)/.exec(readFileSync(`/proc/${child}/stat`, 'utf8')) ?? [];
          return [state === 'Z' ? `zombie ${name}` : name];
        } catch {
          return [];
        }
      });
    }
    const inRun = (name: string, run = 'x-a1'): string => join(home, '.jobctl/runs', run, name);
    function beginRun(run = 'x-a1', output = 'one\n', startedMs = 0): void {
      mkdirSync(inRun('', run));
      writeFileSync(inRun('output', run), output);
      writeFileSync(inRun('begun', run), `boot 1 0 0 ${startedMs}\n`);
    }
    async function code(): Promise<number | null> {
      if (agent.exitCode === null) await once(agent, 'exit');
      return agent.exitCode;
    }

    it('ends with 143 when it is told before anything of jobctl is there', async () => {
      rmSync(join(home, '.jobctl'), { recursive: true });
      start();
      process.kill(await inside(), 'SIGTERM');
      assert.deepEqual(await once(agent, 'exit'), [143, null]);
      assert.equal(printed, 'jobctl: SIGTERM: the pod ends; its processes are told\n');
    });

    it('prints runs in the order of their starts, whatever their names', async () => {
      beginRun('b-a1', 'second\n', 1_795_523_160_066);
      beginRun('c-a1', 'first\n', 1_795_523_160_065);
      beginRun('a-a1', 'third\n', 1_795_523_160_067);
      start();
      await until('the third', () => printed.includes('third'));
      assert.equal(printed, 'first\nsecond\nthird\n');
    });

    it('waits for the output of a run that has begun without one, and ends all the same', async () => {
      mkdirSync(inRun(''));
      writeFileSync(inRun('begun'), 'boot 1 0 0 0\n');
      start({ JOBCTL_AGENT_GRACE_SECONDS: '1' });
      const pid = await inside();
      writeFileSync(inRun('output'), 'late\n');
      await until('its output', () => printed === 'late\n');
      mkdirSync(join(home, '.jobctl/runs/x-a2'));
      writeFileSync(join(home, '.jobctl/runs/x-a2/begun'), 'boot 1 0 0 0\n');
      process.kill(pid, 'SIGTERM');
      assert.deepEqual(await once(agent, 'exit'), [143, null]);
    });

    it('prints what runs print, each byte once, and lives on after their end', async () => {
      start();
      const pid = await inside();
      beginRun();
      await until('the first line', () => printed === 'one\n');
      appendFileSync(inRun('output'), 'x'.repeat(200_000));
      writeFileSync(inRun('exit'), '0 - 1 2 - -\n');
      await until('all of it', () => printed.length === 200_004);
      mkdirSync(join(home, '.jobctl/runs/x-a2'));
      writeFileSync(join(home, '.jobctl/runs/x-a2/output'), 'two\n');
      writeFileSync(join(home, '.jobctl/runs/x-a2/begun'), 'boot 1 0 0 0\n');
      await until('the next run', () => printed.endsWith('two\n'));
      assert.equal(printed, `one\n${'x'.repeat(200_000)}two\n`);
      assert.equal(await inside(), pid);
    });

    it('reaps whose parents have ended, and ends with 143 when told, with all that is left', async () => {
      start();
      const pid = await inside();
      const enter = ['--target', `${pid}`, '--pid', '--mount', '--', 'sh', '-c'];
      spawnSync('nsenter', [...enter, '(setsid sleep 0.1 &); (setsid sleep 1000 &)'], { stdio: 'ignore' });
      await until('the orphan', () => childrenOf(pid).filter((name) => name === 'sleep').length === 2);
      await until('no zombie', () => !childrenOf(pid).some((name) => name.startsWith('zombie')));
      process.kill(pid, 'SIGTERM');
      assert.equal(await code(), 143);
      assert.match(printed, /jobctl: SIGTERM: the pod ends/);
    });

    for (const end of ['before it is told', 'after that'])
      it(`lets who follows a run read the rest of it, of one that ends ${end}`, async () => {
        start();
        const pid = await inside();
        beginRun();
        const exit = (): void => writeFileSync(inRun('exit'), '0 - 1 2 - -\n');
        await until('the first line', () => printed === 'one\n');
        const follower = `trap 'echo killed; exit' TERM; echo reads; until [ -f ${home}/.jobctl/ending ]; do sleep 0.05; done; sleep 0.3; echo ends`;
        const reading = spawn('nsenter', ['--target', `${pid}`, '--pid', '--mount', '--', 'sh', '-c', follower]);
        let said = '';
        reading.stdout.on('data', (chunk: Buffer) => (said += chunk.toString()));
        await until('it reads', () => said === 'reads\n');
        if (end === 'before it is told') exit();
        process.kill(pid, 'SIGTERM');
        await until('it is told', () => printed.includes('the pod ends'));
        exit();
        assert.equal(await code(), 143);
        assert.equal(said, 'reads\nends\n');
      });

    it('ends by itself when nobody has spoken to it for its hours, and not while a run is under way', async () => {
      beginRun();
      start({ JOBCTL_AGENT_HOURS: '0' });
      await until('it copies the run', () => printed === 'one\n');
      appendFileSync(inRun('output'), 'more\n');
      await until('it looks again', () => printed === 'one\nmore\n');
      writeFileSync(inRun('exit'), '0 - 1 2 - -\n');
      assert.equal(await code(), 143);
      assert.match(printed, /no word of jobctl for 0 hours/);
    });
  });
}
