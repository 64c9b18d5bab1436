import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { startRehearsal } from '../../index.js';
import type { Rehearsal } from '../../index.js';
import { scratchFolder, SUBNET_OCTET } from '../scratch.js';

const run = promisify(execFile);
const PROGRAM = fileURLToPath(new URL('rehearsal_client.py', import.meta.url));

/** The Node clients are in rehearsal/test/api-versions.test.ts, plain REST in rehearsal/test/rest.test.ts. */
describe('Google’s Python client of Cloud TPU, from PyPI, on a rehearsal', function () {
  this.timeout(300_000);
  const scratch = scratchFolder('python');
  let rehearsal: Rehearsal;
  let python: string;

  before(async () => {
    await run('python3', ['-m', 'venv', join(scratch.path, 'venv')]);
    python = join(scratch.path, 'venv/bin/python');
    await run(python, ['-m', 'pip', 'install', '--quiet', 'google-cloud-tpu==1.28.0']);
    rehearsal = await startRehearsal({
      stateDir: join(scratch.path, 'state'),
      subnetOctet: SUBNET_OCTET,
      callers: 'token',
    });
  });
  after(async () => {
    await rehearsal?.stop();
    scratch.remove();
  });

  it('creates, waits, lists, updates, is refused, deletes: v2 on both wires, v2alpha1 over gRPC', async () => {
    const { tpu, rest, tokenFile } = rehearsal.endpoints;
    const { stdout } = await run(python, [PROGRAM, tpu, new URL(rest).host, tokenFile], { timeout: 120_000 });
    assert.deepEqual(stdout.trim().split('\n'), ['v2-grpc ok', 'v2-rest ok', 'v2alpha1-grpc ok']);
  });
});
