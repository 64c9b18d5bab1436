import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { Part } from '../../chaos/stack/part.js';
import { until } from '../until.js';

describe('a process of a private stack', () => {
  const directory = mkdtempSync(join(tmpdir(), 'jobctl-part-'));
  after(() => rmSync(directory, { recursive: true }));
  const part = (index: number): Part =>
    new Part({
      name: `part ${index}`,
      command: ['sleep', '600'],
      logFile: join(directory, 'log'),
      env: process.env,
      isReady: async () => true,
    });

  it('takes no listener of this process for itself, and leaves none', async () => {
    const before = process.listenerCount('exit');
    const parts = Array.from({ length: 12 }, (_, index) => part(index));
    for (const each of parts) each.spawn();
    const during = process.listenerCount('exit');
    await Promise.all(parts.map((each) => each.end('SIGKILL')));
    assert.deepEqual([during, process.listenerCount('exit')], [before + 1, before]);
  });

  it('ends with the process that spawned it, also if it stands still', async () => {
    const { href } = new URL('../../chaos/stack/part.ts', import.meta.url);
    const log = JSON.stringify(join(directory, 'log'));
    const program = `import { Part } from '${href}';
      const part = new Part({ name: 'p', command: ['sleep', '600'], logFile: ${log}, env: process.env, isReady: async () => true });
      part.spawn();
      part.signal('SIGSTOP');
      console.log(part.pid);`;
    const file = join(directory, 'spawns.mts');
    writeFileSync(file, `${program}\nprocess.exit(0);\n`);
    const tsx = pathToFileURL(createRequire(import.meta.url).resolve('tsx')).href;
    const { stdout } = await promisify(execFile)(process.execPath, ['--import', tsx, file]);
    const pid = Number(stdout);
    assert.ok(pid > 0, stdout);
    await until('the process is gone', () => !isAlive(pid));
  });
});

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
