import assert from 'node:assert/strict';
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { firstOutput } from '../first-output.js';
import { podCommand } from '../../cloud/hosts/pod-exec.js';
import { until } from '../until.js';
import { isAlive } from './session.js';

describe('a command as it is executed in a pod', () => {
  const home = mkdtempSync(join(tmpdir(), 'pod-command-'));
  after(() => rmSync(home, { recursive: true }));

  /** As an exec begins it: in a session of its own. */
  function start(command: string, options: Parameters<typeof podCommand>[1]): ChildProcessWithoutNullStreams {
    const [program = '', ...words] = podCommand(command, options).argv;
    return spawn(program, words, { detached: true, env: { PATH: process.env['PATH'], HOME: home } });
  }
  async function ended(child: ChildProcessWithoutNullStreams): Promise<{ out: string; code: number | null }> {
    let out = '';
    child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()));
    await once(child, 'close');
    return { out, code: child.exitCode };
  }

  it('has its exit code and its quotes, and an empty stdin that ends', async () => {
    const child = start(`printf '%s|' "it's"; cat; exit 7`, { stdinBytes: 0 });
    assert.deepEqual(await ended(child), { out: "it's|", code: 7 });
  });

  it('reads exactly its bytes, and ends although stdin does not', async () => {
    const child = start('wc -c', { stdinBytes: 1_000_000 });
    child.stdin.write(Buffer.alloc(1_000_000));
    assert.deepEqual(await ended(child), { out: '1000000\n', code: 0 });
  });

  it('is told to end when the connection ends, even where nobody reads its output', async () => {
    const child = start('echo $$; yes', { stdinBytes: 0 });
    const line = await firstOutput(child);
    child.stdout.pause();
    const pid = Number.parseInt(line, 10);
    assert.ok(isAlive(pid));
    child.stdin.end();
    await until('its end', () => !isAlive(pid));
  });

  it('marks its end where a process that it leaves behind holds its output', async () => {
    const { argv, endMark } = podCommand('sleep 1000 & exit 3', { stdinBytes: 0 });
    const child = spawn(argv[0] ?? '', argv.slice(1), {
      detached: true,
      env: { PATH: process.env['PATH'], HOME: home },
    });
    try {
      let errors = '';
      child.stderr.on('data', (chunk: Buffer) => (errors += chunk.toString()));
      await until('the mark', () => errors === `${endMark.toString()}3\n`);
    } finally {
      process.kill(-(child.pid ?? 0), 'SIGKILL');
    }
  });

  it('leaves the end of a stream to the command', async () => {
    const child = start('cat; exit 4', {});
    child.stdin.end('to the end');
    assert.deepEqual(await ended(child), { out: 'to the end', code: 4 });
  });
});
