import assert from 'node:assert/strict';
import { surviveKill, VICTIMS } from './torture.js';
import { ended, NOTICE, request } from './run.js';
import { withHost } from './session.js';

describe('the on-host runner: torture', function () {
  this.timeout(60_000);

  it('begins at most once whoever of a start is killed, and tells what became of it', () =>
    withHost(async ({ host, connection, another }) => {
      const tortured = { home: host.home, connection, another, cut: () => host.cut() };
      let attempt = 0;
      // Some hundred at other moments: test/long/runner-torture.test.ts.
      for (const delayMs of [30, 120])
        for (const victim of VICTIMS) await surviveKill(tortured, (attempt += 1), victim, delayMs);
    }));

  it('keeps all of 128 MiB of output with no reader, and the exit code', () =>
    withHost(async ({ connection }) => {
      const size = 128 * 1024 * 1024;
      await connection.startRun(request(`head -c ${size} /dev/zero; echo end; exit 5`));
      const status = await ended(connection);
      assert.deepEqual({ code: status.code, bytes: status.outputBytes }, { code: 5, bytes: size + 4 });
      let rest = '';
      await connection.followOutput(
        'train-x1-a1',
        size,
        (chunk) => void (rest += chunk.toString()),
        new AbortController().signal,
      );
      assert.equal(rest, 'end\n');
      await connection.stopRun('train-x1-a1', 0, NOTICE);
    }));
});
