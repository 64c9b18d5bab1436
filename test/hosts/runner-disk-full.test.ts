import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { HostConnection } from '../../cloud/hosts/port.js';
import { RunnerFailed } from '../../cloud/hosts/port.js';
import { startNamespace } from './namespace.js';
import { ended, NOTICE, outputOf, request } from './run.js';
import { type HostSession, never, withHost } from './session.js';

/** A host whose home folder has a disk of 1 MiB. */
async function withSmallDisk(work: (session: HostSession) => Promise<void>): Promise<void> {
  const home = await mkdtemp(join(tmpdir(), 'hosts-test-'));
  const small = await startNamespace(`mount -t tmpfs -o size=1m tmpfs ${home}`);
  try {
    await withHost(work, { home, enter: small.enter });
  } finally {
    small.kill();
    await rm(home, { recursive: true });
  }
}

async function onHost(connection: HostConnection, command: string): Promise<void> {
  const nothing = (): void => undefined;
  await connection.exec(command, { onStdout: nothing, onStderr: nothing, signal: never });
}

describe('the on-host runner: a disk that is full', () => {
  it('before the start: nothing is started, it says why, and with room the same run starts once', () =>
    withSmallDisk(async ({ connection }) => {
      await connection.runStatus('warm-a1');
      await onHost(connection, 'head -c 4M /dev/zero > ~/filler');
      await assert.rejects(
        connection.startRun(request('echo ran')),
        (error) => error instanceof RunnerFailed && error.message.endsWith(' or the disk is full; nothing was started'),
      );
      assert.deepEqual(await connection.runStatus('train-x1-a1'), { kind: 'absent' });
      await onHost(connection, 'rm ~/filler');
      assert.equal(await outputOf(connection, 'echo ran'), 'ran\n');
      assert.equal((await ended(connection)).code, 0);
    }));

  it('while it runs: it cannot tell whether anything is printed; a stop reaches it, with its grace, and its own exit code is kept', () =>
    withSmallDisk(async ({ connection }) => {
      const script = `trap 'exit 9' TERM; head -c 4M /dev/zero > ~/filler 2> /dev/null; echo full; while :; do sleep 0.05; done`;
      await connection.startRun(request(script));
      await onHost(connection, 'while [ "$(df --output=avail ~ | tail -n 1)" -gt 4 ]; do sleep 0.05; done');
      const running = await connection.runStatus('train-x1-a1');
      assert.ok(running.kind === 'running' && running.quietMs === undefined, JSON.stringify(running));
      const status = await connection.stopRun('train-x1-a1', 8000, NOTICE);
      assert.equal(status.kind === 'exited' && status.code, 9);
    }));
});
