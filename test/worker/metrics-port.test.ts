import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { promisify } from 'node:util';
import { wordsOf } from '../own-program.js';

it('a worker whose metrics port is taken names the port, and what to do', async function () {
  this.timeout(60_000);
  const holder = createServer().listen(0, '127.0.0.1');
  await once(holder, 'listening');
  try {
    const { port } = holder.address() as AddressInfo;
    const words = [...wordsOf(new URL('taken-metrics-port.ts', import.meta.url)), String(port)];
    const { stdout } = await promisify(execFile)(process.execPath, words);
    assert.match(
      stdout,
      new RegExp(`^metrics port 127\\.0\\.0\\.1:${port} cannot be listened on: .* JOBCTL_METRICS_PORT$`, 'm'),
    );
  } finally {
    holder.close();
  }
});
