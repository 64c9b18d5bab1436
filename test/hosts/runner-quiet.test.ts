import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { HostConnection } from '../../cloud/hosts/port.js';
import { parseState } from '../../cloud/hosts/runner-client.js';
import { until } from '../until.js';
import { ended, request } from './run.js';
import { type HostSession, withHost } from './session.js';

const HOUR_MS = 3_600_000;
const RUN = '.jobctl/runs/train-x1-a1';

async function quietMs(connection: HostConnection): Promise<number | undefined> {
  const status = await connection.runStatus('train-x1-a1');
  assert.ok(status.kind === 'running' || status.kind === 'exited', status.kind);
  return status.quietMs;
}

/** As if the run had begun an hour and more ago, by a clock that nobody sets, and `leapMs` were put onto the other one since. */
function beganLongAgo({ host, read }: HostSession, leapMs = 0): void {
  const [at, up] = read(`${RUN}/clock`).split(' ').map(Number) as [number, number];
  writeFileSync(join(host.home, RUN, 'clock'), `${at - 2 * HOUR_MS - leapMs} ${up - 2 * HOUR_MS}\n`);
}
const printedAt = ({ host }: HostSession, at: number): void =>
  utimesSync(join(host.home, RUN, 'output'), at / 1000, at / 1000);

describe('the on-host runner: how long a command has been quiet', () => {
  const withComma = { LOCPATH: '', LC_NUMERIC: 'comma' };
  before(() => {
    withComma.LOCPATH = mkdtempSync(join(tmpdir(), 'comma-'));
    const locales = withComma.LOCPATH;
    const source = 'LC_NUMERIC\ndecimal_point "<U002C>"\nthousands_sep ""\ngrouping -1\nEND LC_NUMERIC\n';
    writeFileSync(join(locales, 'source'), source);
    // It fails for what else a locale has, and writes this part.
    spawnSync('localedef', ['-c', '-i', join(locales, 'source'), join(locales, 'comma')]);
  });
  after(() => rmSync(withComma.LOCPATH, { recursive: true }));

  it('since its last output, of whatever kind, and not since its start', () =>
    withHost(async (session) => {
      const { connection, host } = session;
      await connection.startRun(request('echo begun; until [ -e ~/go ]; do sleep 0.01; done; printf .; sleep 60'));
      await until('it has printed', () => session.read(`${RUN}/output`) === 'begun\n');
      beganLongAgo(session);
      printedAt(session, Date.now() - HOUR_MS);
      const before = await quietMs(connection);
      assert.ok(before !== undefined && before >= HOUR_MS - 100 && before < HOUR_MS + 60_000, `${before} ms`);
      writeFileSync(join(host.home, 'go'), '');
      await until('a dot without a newline counts', async () => ((await quietMs(connection)) ?? HOUR_MS) < 60_000);
      await connection.stopRun('train-x1-a1', 0, { cause: 'cancel', reason: 'done' });
    }));

  it('since its start where it printed nothing, though the file is older: it waited for an accelerator', () =>
    withHost(async (session) => {
      await session.connection.startRun(request('sleep 60'));
      printedAt(session, Date.now() - HOUR_MS);
      assert.ok(((await quietMs(session.connection)) ?? HOUR_MS) < 60_000);
    }));

  it('less what the clock of the host was set forward by since the run began', () =>
    withHost(async (session) => {
      await session.connection.startRun(request('sleep 60'));
      beganLongAgo(session, HOUR_MS);
      printedAt(session, Date.now() - HOUR_MS - 5_000);
      const quiet = await quietMs(session.connection);
      assert.ok(quiet !== undefined && quiet >= 5_000 && quiet < 60_000, `${quiet} ms`);
    }));

  it('on a host that writes a comma before a fraction too', () =>
    withHost(
      async (session) => {
        const { connection, host } = session;
        assert.match(execFileSync('stat', ['-c', '%.3Y', host.home], { env: withComma, encoding: 'utf8' }), /\d,\d/);
        await connection.startRun(request('sleep 60'));
        beganLongAgo(session);
        printedAt(session, Date.now() - HOUR_MS);
        const quiet = await quietMs(connection);
        assert.ok(quiet !== undefined && quiet >= HOUR_MS - 100, `${quiet} ms`);
      },
      { env: withComma },
    ));

  it('nothing where its clock was set back', () =>
    withHost(async (session) => {
      await session.connection.startRun(request('sleep 60'));
      beganLongAgo(session, -HOUR_MS);
      printedAt(session, Date.now() + HOUR_MS);
      assert.equal(await quietMs(session.connection), 0);
    }));

  it('unknown where a tool of the host’s failed, and not 0', () => {
    const running = { kind: 'running', startedAt: 1, outputBytes: 2 };
    assert.deepEqual(parseState('running 1 2 '), running);
    assert.deepEqual(parseState('running 1 2 -'), running);
    assert.deepEqual(parseState('running 1 2 3'), { ...running, quietMs: 3 });
    assert.deepEqual(parseState('running 1 2 3 -'), { ...running, quietMs: 3 });
    assert.deepEqual(parseState('running 1 2 - warned'), { ...running, isWarned: true });
  });

  it('it cannot tell of a run that an earlier version has begun', () =>
    withHost(async (session) => {
      await session.connection.startRun(request('sleep 60'));
      writeFileSync(join(session.host.home, RUN, 'clock'), '');
      assert.equal(await quietMs(session.connection), undefined);
    }));

  it('of one that has ended: since its end', () =>
    withHost(async (session) => {
      await session.connection.startRun(request('echo done'));
      const { endedAt } = await ended(session.connection);
      beganLongAgo(session);
      const file = join(session.host.home, RUN, 'exit');
      writeFileSync(file, readFileSync(file, 'utf8').replace(String(endedAt), String(endedAt - HOUR_MS)));
      const quiet = await quietMs(session.connection);
      assert.ok(quiet !== undefined && quiet >= HOUR_MS && quiet < HOUR_MS + 60_000, `${quiet} ms`);
    }));
});
