import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { isAlive } from '../hosts/session.js';
import { wordsOf } from '../own-program.js';
import { TEMPORAL_START_MS } from '../temporal-server.js';
import { until } from '../until.js';

describe('a process of tests that mocha ends by a signal', function () {
  this.timeout(TEMPORAL_START_MS);

  it('ends its Temporal server', async () => {
    const program = spawn(process.execPath, wordsOf(new URL('held-server.ts', import.meta.url)), {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const ended = once(program, 'exit');
    const [line] = (await once(createInterface(program.stdout), 'line')) as [string];
    program.kill('SIGTERM');
    assert.deepEqual(await ended, [143, null]);
    await until('the server has ended', () => !isAlive(Number(line)));
  });
});
