import assert from 'node:assert/strict';
import { utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { MockActivityEnvironment } from '@temporalio/testing';
import { DefaultLogger } from '@temporalio/worker';
import type { AttemptHost } from '../../activities/attempt/attempt-hosts.js';
import { type Silence, type SilenceLimit, SilenceWatch } from '../../activities/attempt/silence-watch.js';
import type { HostConnection } from '../../cloud/hosts/port.js';
import type { SilentHost } from '../../domain/silence.js';
import { NOTICE, request } from '../hosts/run.js';
import { type HostSession, withHost } from '../hosts/session.js';
import { startTcpCutter } from '../hosts/tcp-cutter.js';
import { until } from '../until.js';

const RUN = 'train-x1-a1';
const SILENT = new DefaultLogger('ERROR', () => undefined);
const HOUR_MS = 3_600_000;

/** Two hosts with a command each, real processes under the on-host runner. */
interface TwoHosts {
  readonly sessions: readonly [HostSession, HostSession];
  /** The second host cannot be reached any more. */
  unplug(): Promise<void>;
  /** What a worker does with a run: it attaches, reads the output, and waits for silence. */
  watch(limit: number | SilenceLimit): Promise<Watching>;
}
interface Watching {
  readonly silent: Promise<Silence>;
  verdict(): Silence | undefined;
  /** Which hosts were asked, each time. */
  asked(): readonly number[];
  /** What was told of hosts that are silent while others print: their indexes, each time. */
  readonly alone: readonly (readonly number[])[];
  end(): void;
}

/** @param scripts the commands of host 0 and host 1 */
async function onTwoHosts(scripts: readonly [string, string], work: (hosts: TwoHosts) => Promise<void>): Promise<void> {
  await withHost((first) =>
    withHost(async (second) => {
      const cutter = await startTcpCutter(second.host.port);
      const sessions = [first, second] as const;
      let unplugged: Promise<void> | undefined;
      const unplug = (): Promise<void> => (unplugged ??= cutter.close());
      const started: Watching[] = [];
      try {
        await Promise.all(
          sessions.map(({ connection }, index) => connection.startRun(request(scripts[index] as string))),
        );
        const watch = async (limit: number | SilenceLimit): Promise<Watching> => {
          const connections = await Promise.all([first.another(), second.another({ port: cutter.port })]);
          const watching = await attach(connections, typeof limit === 'number' ? { endMs: limit } : limit);
          started.push(watching);
          return watching;
        };
        await new MockActivityEnvironment({}, { logger: SILENT }).run(() => work({ sessions, unplug, watch }));
      } finally {
        for (const watching of started) watching.end();
        await Promise.all(sessions.map(({ connection }) => connection.stopRun(RUN, 0, NOTICE)));
        await unplug();
      }
    }),
  );
}

async function attach(connections: readonly HostConnection[], limit: SilenceLimit): Promise<Watching> {
  const end = new AbortController();
  const hosts = connections.map(({ target }, number): AttemptHost => ({
    target: { ...target, index: number },
    number,
  }));
  const asked: number[] = [];
  const ask = (host: AttemptHost): ReturnType<HostConnection['runStatus']> => {
    asked.push(host.number);
    return (connections[host.number] as HostConnection).runStatus(RUN);
  };
  const alone: (readonly number[])[] = [];
  const onAlone = (silent: readonly SilentHost[]): void => void alone.push(silent.map(({ host }) => host));
  const watch = new SilenceWatch(limit, hosts, { ask, onAlone }, end.signal);
  for (const [number, connection] of connections.entries()) {
    const host = hosts[number] as AttemptHost;
    let position = 0;
    watch.reading(host, await connection.runStatus(RUN), () => position);
    const read = connection.followOutput(
      RUN,
      0,
      (chunk) => {
        watch.heard(host, chunk.length);
        position += chunk.length;
      },
      end.signal,
    );
    void read.then(async () => watch.said(host, await connection.runStatus(RUN))).catch(() => undefined);
  }
  let verdict: Silence | undefined;
  const silent = watch.silent().then((silence) => (verdict = silence));
  silent.catch(() => undefined);
  return {
    silent,
    verdict: () => verdict,
    asked: () => asked,
    alone,
    end: () => end.abort(new Error('the test is over')),
  };
}

const file = ({ host }: HostSession, name: string): string => join(host.home, '.jobctl/runs', RUN, name);

/** As if the host's command had begun two hours ago, and printed last an hour ago. */
function silentForAnHour(session: HostSession): void {
  const [at, up] = session.read(`.jobctl/runs/${RUN}/clock`).split(' ').map(Number) as [number, number];
  writeFileSync(file(session, 'clock'), `${at - 2 * HOUR_MS} ${up - 2 * HOUR_MS}\n`);
  const then = Date.now() / 1000 - HOUR_MS / 1000;
  utimesSync(file(session, 'output'), then, then);
}

const PRINTS_UNTIL_TOLD = 'until [ -e ~/enough ]; do printf .; sleep 0.05; done';
const HANGS = 'echo begun; sleep 300';

describe('a watch for silence, over real hosts', function () {
  this.timeout(30_000);

  it('asks no host that prints, and tells of silence when all have fallen silent', () =>
    onTwoHosts([`${PRINTS_UNTIL_TOLD}; sleep 300`, HANGS], async ({ sessions, watch }) => {
      const watching = await watch(1_000);
      const dots = (): number => sessions[0].read(`.jobctl/runs/${RUN}/output`).length;
      await until('it has printed for longer than the limit', () => dots() > 40);
      assert.deepEqual([watching.verdict(), watching.asked().filter((host) => host === 0)], [undefined, []]);
      writeFileSync(join(sessions[0].host.home, 'enough'), '');
      const { last, quietMs } = await watching.silent;
      assert.deepEqual(last, { what: 'output', slice: 0, host: 0 });
      assert.ok(quietMs >= 1_000);
    }));

  it('tells of a host that is silent while another prints, once, and that it prints again', () =>
    onTwoHosts(
      [PRINTS_UNTIL_TOLD, `echo begun; until [ -e ~/go ]; do sleep 0.05; done; echo on; sleep 300`],
      async ({ sessions, watch }) => {
        const watching = await watch(1_000);
        await until('it is told', () => (watching.alone.at(-1)?.includes(1) ? true : undefined));
        const told = (): readonly (readonly number[])[] =>
          watching.alone.slice(watching.alone[0]?.length === 0 ? 1 : 0);
        assert.deepEqual([watching.verdict(), told()], [undefined, [[1]]]);
        writeFileSync(join(sessions[1].host.home, 'go'), '');
        await until('it is taken back', () => (watching.alone.at(-1)?.length === 0 ? true : undefined));
        assert.deepEqual(told(), [[1], []]);
        await until('and told anew', () => (watching.alone.at(-1)?.includes(1) ? true : undefined));
        assert.ok(!watching.asked().includes(0));
      },
    ));

  it('tells of a host that has been silent alone since before this worker, and has printed nothing at all', () =>
    onTwoHosts([PRINTS_UNTIL_TOLD, 'sleep 300'], async ({ sessions, watch }) => {
      silentForAnHour(sessions[1]);
      const watching = await watch(HOUR_MS / 2);
      await until('it is told', () => (watching.alone.at(-1)?.includes(1) ? true : undefined));
    }));

  it('gives those that wait for a host that was done the whole time once more', () =>
    onTwoHosts([PRINTS_UNTIL_TOLD, HANGS], async ({ sessions, watch }) => {
      silentForAnHour(sessions[1]);
      const watching = await watch(1_000);
      writeFileSync(join(sessions[0].host.home, 'enough'), '');
      const { last, quietMs } = await watching.silent;
      assert.deepEqual(last, { what: 'end', slice: 0, host: 0 });
      assert.ok(quietMs >= 1_000 && quietMs < HOUR_MS);
    }));

  it('takes the word of hosts that it has not watched before: what another worker saw need not be carried', () =>
    onTwoHosts([HANGS, HANGS], async ({ sessions, watch }) => {
      await until('both print', () => sessions.every(({ read }) => read(`.jobctl/runs/${RUN}/output`) === 'begun\n'));
      sessions.forEach(silentForAnHour);
      const { quietMs } = await (await watch(HOUR_MS)).silent;
      assert.ok(quietMs >= HOUR_MS);
    }));

  it('does not take a host that it cannot reach for a silent one', () =>
    onTwoHosts([HANGS, HANGS], async ({ sessions, unplug, watch }) => {
      const watching = await watch(1_000);
      await unplug();
      sessions.forEach(silentForAnHour);
      await until('it was time more than once', () => watching.asked().length >= 4);
      assert.equal(watching.verdict(), undefined);
    }));

  describe('of a job without a limit', () => {
    const NOTE = { noteMs: 1_000 };
    const PRINTS_UNTIL = (name: string): string => `until [ -e ~/${name} ]; do printf .; sleep 0.05; done`;
    const dots = ({ read }: HostSession): number => read(`.jobctl/runs/${RUN}/output`).length;

    it('tells of a host that printed regularly and stopped while another goes on, once, and that it prints again', () =>
      onTwoHosts(
        [PRINTS_UNTIL_TOLD, `${PRINTS_UNTIL('hang')}; until [ -e ~/go ]; do sleep 0.05; done; echo on; sleep 300`],
        async ({ sessions, watch }) => {
          const watching = await watch(NOTE);
          await until('it has a rhythm', () => dots(sessions[1]) > 60);
          assert.deepEqual([watching.alone, watching.asked()], [[], []]);
          writeFileSync(join(sessions[1].host.home, 'hang'), '');
          await until('it is told', () => (watching.alone.length > 0 ? true : undefined));
          assert.deepEqual([watching.verdict(), watching.alone], [undefined, [[1]]]);
          assert.ok(watching.asked().length > 0 && !watching.asked().includes(0));
          writeFileSync(join(sessions[1].host.home, 'go'), '');
          await until('it is taken back', () => (watching.alone.length > 1 ? true : undefined));
          assert.deepEqual(watching.alone, [[1], []]);
        },
      ));

    it('tells nothing, and asks nobody, of a host that has printed its start alone', () =>
      onTwoHosts([PRINTS_UNTIL_TOLD, HANGS], async ({ sessions, watch }) => {
        const watching = await watch(NOTE);
        await until('many times the least silence has gone by', () => dots(sessions[0]) > 120);
        assert.deepEqual([watching.alone, watching.asked()], [[], []]);
      }));

    it('takes back what an earlier worker has noted once the host prints again, and not before', () =>
      onTwoHosts(
        [PRINTS_UNTIL_TOLD, 'echo begun; until [ -e ~/go ]; do sleep 0.05; done; echo on; sleep 300'],
        async ({ sessions, watch }) => {
          await until('it prints', () => sessions[1].read(`.jobctl/runs/${RUN}/output`) === 'begun\n');
          silentForAnHour(sessions[1]);
          const watching = await watch(NOTE);
          await until('the other goes on', () => dots(sessions[0]) > 60);
          assert.deepEqual(watching.alone, []);
          writeFileSync(join(sessions[1].host.home, 'go'), '');
          await until('it is taken back', () => (watching.alone.length > 0 ? true : undefined));
          assert.deepEqual(watching.alone, [[]]);
        },
      ));
  });
});
