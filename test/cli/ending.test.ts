import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SafeFolder } from '../../cli/terminal/safe-folder.js';

/** A call that never returns, as on a file system that hangs: nobody writes into the pipe. The process cannot wait for its thread. */
const STUCK = `
  import { open } from 'node:fs/promises';
  import { watchEnd } from './cli/terminal/interruptions.ts';
  process.on('exit', () => console.log('removed'));
  watchEnd(undefined, 100);
  const never = open(process.env.PIPE);
  setTimeout(() => console.log('waits'), 0);
  await never;
`;

describe('a verb that is told to end', function () {
  this.timeout(60_000);
  for (const name of ['SIGTERM', 'SIGINT'] as const)
    it(`ends at ${name} also where a call never returns, and removes what is to be removed`, async () => {
      const folder = mkdtempSync(join(tmpdir(), 'ending-'));
      const pipe = join(folder, 'pipe');
      execFileSync('/usr/bin/mkfifo', [pipe]);
      const words = ['--import', 'tsx', '--input-type=module', '--eval', STUCK];
      const child = spawn(process.execPath, words, {
        env: { ...process.env, PIPE: pipe },
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      try {
        let out = '';
        child.stdout.on('data', (chunk: Buffer) => {
          out += chunk.toString();
          if (out === 'waits\n') child.kill(name);
        });
        const [code, signal] = (await once(child, 'close')) as [number | null, string | null];
        assert.deepEqual([code, signal, out], [null, name, 'waits\nremoved\n']);
      } finally {
        child.kill('SIGKILL');
        rmSync(folder, { recursive: true, force: true });
      }
    });

  for (const path of ['/proc/x', '/proc/x/y', '/proc/self/x'])
    it(`${path}, which no system makes, is an error and no wait`, async () =>
      assert.rejects(new SafeFolder(path).folder(''), { code: 'ENOENT' }));

  it('a file in the way of the folder is named', async () =>
    assert.rejects(new SafeFolder('/etc/hostname/x').folder(''), /ENOTDIR|is there and is no folder/));
});
