import assert from 'node:assert/strict';
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { findServer } from '../../cli/local/dev/guarded-server/find-server.js';
import { scratchFolder } from '../../rehearsal/test/scratch.js';

describe('the way to a Temporal server that asks who calls', () => {
  const scratch = scratchFolder('find-server');
  after(() => scratch.remove());
  const program = (name: string, says: string): string => {
    const path = join(scratch.path, name);
    writeFileSync(path, `#!/bin/sh\necho '${says}'\n`);
    chmodSync(path, 0o755);
    return path;
  };
  const find = (env: Record<string, string>): Promise<string> =>
    findServer({ PATH: '/nonexistent', XDG_CACHE_HOME: scratch.path, ...env }, () => undefined);

  it('takes the one that is named, else the one on PATH', async () => {
    const named = program('named', 'temporal version 1.29.1');
    const onPath = program('temporal-server', 'temporal version 1.30.0');
    // The shell that says the version is not there.
    const PATH = `${scratch.path}:/usr/bin:/bin`;
    assert.equal(await find({ PATH, JOBCTL_TEMPORAL_SERVER: named }), named);
    assert.equal(await find({ PATH }), onPath);
  });

  it('without any it names each way with its reason, and what to do', async () => {
    const old = program('old', 'temporal version 1.24.2');
    const strange = program('strange', 'hello');
    const cases = [
      ['', 'JOBCTL_TEMPORAL_SERVER: not set'],
      [old, `JOBCTL_TEMPORAL_SERVER: ${old} is version 1.24.2; 1.29.0 or later is needed`],
      [strange, `JOBCTL_TEMPORAL_SERVER: ${strange} --version does not print a version`],
      ['/nonexistent/server', 'JOBCTL_TEMPORAL_SERVER: /nonexistent/server --version failed (ENOENT)'],
    ] as const;
    for (const [named, reason] of cases) {
      await assert.rejects(
        find({ JOBCTL_TEMPORAL_SERVER: named }),
        (error: Error & { details?: readonly string[] }) => {
          const text = [error.message, ...(error.details ?? [])].join('\n');
          for (const part of [
            reason,
            'no `temporal-server` on PATH',
            'is not there yet',
            'Go is not installed',
            '--i-am-alone-here',
            '--temporal-address',
          ])
            assert.ok(text.includes(part), `${part} in ${text}`);
          return true;
        },
      );
    }
  });
});
