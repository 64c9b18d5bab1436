import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { PySpySource } from '../../cloud/hosts/port.js';
import { pySpyFrom, pySpyPath } from '../../cloud/hosts/stacks/py-spy.js';
import { takeStacks } from '../../cloud/hosts/stacks/take-stacks.js';
import {
  groupStacks,
  placesText,
  withoutWaiting,
  frameText,
  framesOf,
  type HostStacks,
  isPython,
} from '../../domain/stacks/stack.js';
import { until } from '../until.js';
import { hangsIn } from './hanging-python.js';
import { NOTICE, request } from './run.js';
import { type HostSession, never, withHost } from './session.js';

const RUN = 'train-x1-a1';
const OPTIONS = { runId: RUN, answerMs: 15_000, installMs: 60_000, signal: never };

/** Of hosts that fetch it themselves. */
const NEVER: PySpySource = () => Promise.reject(new Error('it was to be fetched by the host'));

/** From PyPI, which this file needs: the live step runs it. */
describe('the stacks of real Python processes, by py-spy from PyPI', function () {
  this.timeout(120_000);
  let cache: string;
  before(() => (cache = mkdtempSync(join(tmpdir(), 'py-spy-cache-'))));
  after(() => rmSync(cache, { recursive: true, force: true }));

  const stacksOf = async (session: HostSession, host: number, place: string, pySpy = NEVER): Promise<HostStacks> => {
    await session.connection.startRun(request(hangsIn(place)));
    await until('python hangs', async () => (existsSync(join(session.host.home, 'hangs')) ? true : undefined));
    return takeStacks(session.connection, { ...OPTIONS, host, pySpy });
  };
  const over = async (session: HostSession): Promise<void> => {
    await session.connection.stopRun(RUN, 0, NOTICE);
  };

  it('of a gang in which one host differs: equal ones are one group, and the one that differs stands alone', () =>
    withHost((first) =>
      withHost((second) =>
        withHost(async (third) => {
          const all = [first, second, third];
          const places = ['all_reduce', 'all_reduce', 'next_batch'];
          const hosts = await Promise.all(all.map((session, host) => stacksOf(session, host, places[host] ?? '')));
          const shown = withoutWaiting(hosts);
          const groups = groupStacks(shown).map((group) => [
            placesText(group, shown),
            framesOf(group.members[0].process).map(frameText).slice(1, 3),
          ]);
          assert.deepEqual(groups, [
            ['hosts 0-1', ['all_reduce (train.py:6)', 'step (train.py:12)']],
            ['host 2', ['next_batch (train.py:9)', 'step (train.py:12)']],
          ]);
          const [python] = shown[0]!.processes;
          assert.deepEqual(
            python?.threads?.map(({ name }) => name),
            ['MainThread', 'feeder'],
          );
          // It fetched py-spy itself, for the next time too, and left nothing else.
          assert.ok(existsSync(join(first.host.home, pySpyPath(process.arch === 'arm64' ? 'aarch64' : 'x86_64'))));
          assert.deepEqual(readdirSync(join(first.host.home, '.jobctl/tools')).length, 1);
          await Promise.all(all.map(over));
        }),
      ),
    ));

  it('a host without the internet is given py-spy, which is kept here', () =>
    withHost(
      async (session) => {
        const { processes, problem } = await stacksOf(session, 0, 'all_reduce', pySpyFrom(cache));
        assert.equal(problem, undefined);
        const [python] = processes.filter(isPython);
        assert.equal(python?.problem, undefined);
        assert.equal(framesOf(python!).length, 4);
        assert.equal(readdirSync(join(cache, 'py-spy')).length, 1);
        const offline = pySpyFrom(cache, () => Promise.reject(new Error('not from PyPI again')));
        assert.ok((await offline('x86_64')).length > 1_000_000);
        await over(session);
      },
      { env: { https_proxy: 'http://127.0.0.1:9', HTTPS_PROXY: 'http://127.0.0.1:9' } },
    ));

  it('processes are not stopped for it: one that works is looked at again and again, and never waits', () =>
    withHost(async (session) => {
      await stacksOf(session, 0, 'busy');
      let seen = 0;
      for (let round = 0; round < 10; round++) {
        const { processes } = await takeStacks(session.connection, { ...OPTIONS, host: 0, pySpy: NEVER });
        const [python] = processes.filter(isPython);
        assert.equal(python?.problem, undefined);
        assert.notEqual(python?.state, 'T');
        // A stack that changes while it is read may come out torn.
        if (framesOf(python!).some((frame) => frame.function === 'busy')) seen++;
      }
      assert.ok(seen > 0, 'no look saw what it does');
      await over(session);
    }));
});
