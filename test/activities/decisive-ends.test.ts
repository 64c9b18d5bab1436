import assert from 'node:assert/strict';
import type { AttemptHost } from '../../activities/attempt/attempt-hosts.js';
import { decidingHosts, decisive, untilEnded } from '../../activities/attempt/decisive-ends.js';
import type { JobSpec } from '../../domain/job-spec.js';
import type { HostEnd } from '../../domain/recovery/host-ends.js';

const exit = { startedAt: 1, endedAt: 2, isStopped: false, host: 'up' } as const;
const at = (host: number) => ({ slice: 0, host });
const done = (host: number): HostEnd => ({ kind: 'done', at: at(host), code: 0, ...exit });
const failed = (host: number): HostEnd => ({ kind: 'failed', at: at(host), code: 7, ...exit });
const told = (end: HostEnd): HostEnd => ({ ...end, isStopped: true }) as HostEnd;
const shutDown = (end: HostEnd): HostEnd => ({ ...end, host: 'stopping' }) as HostEnd;
const specOf = (success?: 'first' | 'any'): JobSpec =>
  ({ modules: [], command: { run: 'x', hosts: 'all', ...(success && { success }) } }) as unknown as JobSpec;

interface Story {
  readonly success?: 'first' | 'any';
  /** By host, in the order in which they are heard of. Those that are missing go on until they are told to end. */
  readonly heard: readonly HostEnd[];
  readonly hosts: number;
}

/** Time is none: a wait is over when nothing more is heard. A host that is told to end answers with code 0. */
async function play({ success, heard, hosts }: Story) {
  const tell = new Map<number, (end: HostEnd) => void>();
  const ends = Array.from(
    { length: hosts },
    (_, host) => new Promise<HostEnd>((resolve) => void tell.set(host, resolve)),
  );
  let stops = 0;
  const decided = untilEnded({
    ends,
    enough: success === undefined ? [] : success === 'first' ? ends.slice(0, 1) : ends,
    stop: async () => {
      stops += 1;
      for (const [host, resolve] of tell) resolve(told(done(host)));
    },
    untilSaved: async (first) => [first],
    wait: () => new Promise((resolve) => setTimeout(() => resolve(undefined), 20)),
  });
  for (const end of heard) {
    if ('at' in end) tell.get(end.at.host)?.(end);
    await new Promise((resolve) => setImmediate(resolve));
  }
  return { ends: await decided, stops };
}

describe('the ends that decide an attempt', () => {
  const stories: Readonly<Record<string, readonly [Story, number, ...HostEnd[]]>> = {
    'all: both done': [{ hosts: 2, heard: [done(1), done(0)] }, 0, done(0), done(1)],
    'all: one failed': [{ hosts: 2, heard: [failed(1)] }, 1, told(done(0)), failed(1)],
    'first: the first is done, the others never end': [{ success: 'first', hosts: 3, heard: [done(0)] }, 1, done(0)],
    'first: another is done, which is nothing yet': [
      { success: 'first', hosts: 2, heard: [done(1), done(0)] },
      0,
      done(0),
      done(1),
    ],
    'first: another failed while the first goes on': [
      { success: 'first', hosts: 2, heard: [failed(1)] },
      1,
      told(done(0)),
      failed(1),
    ],
    'first: another failed as a consequence, and is heard of first': [
      { success: 'first', hosts: 2, heard: [failed(1), done(0)] },
      1,
      done(0),
    ],
    'first: the first failed': [{ success: 'first', hosts: 2, heard: [failed(0)] }, 1, failed(0), told(done(1))],
    'first: its answer to a stop is no success': [
      { success: 'first', hosts: 2, heard: [told(done(0)), told(failed(1))] },
      0,
      told(done(0)),
      told(failed(1)),
    ],
    'first: another shuts down': [{ success: 'first', hosts: 2, heard: [shutDown(failed(1))] }, 0, shutDown(failed(1))],
    'first: the first is done while another shuts down': [
      { success: 'first', hosts: 2, heard: [shutDown(failed(1)), done(0)] },
      1,
      done(0),
    ],
    'any: one is done': [{ success: 'any', hosts: 3, heard: [done(2)] }, 1, done(2)],
    'any: one failed before': [{ success: 'any', hosts: 2, heard: [failed(0)] }, 1, failed(0), told(done(1))],
  };
  for (const [name, [story, stops, ...want]] of Object.entries(stories))
    it(name, async () => assert.deepEqual(await play(story), { ends: want, stops }));

  it('are of a host that lost its place at once, whoever succeeds', async () => {
    const fenced = { kind: 'fenced', at: at(0), epoch: 3 } as const;
    const { ends } = await play({ success: 'any', hosts: 2, heard: [fenced, done(1)] });
    assert.deepEqual(ends[0], fenced);
  });

  it('are the first host’s with first, all hosts’ otherwise', () => {
    const hosts = [0, 1].map((number) => ({ number }) as AttemptHost);
    assert.deepEqual(decidingHosts(specOf('first'), hosts), [hosts[0]]);
    assert.equal(decidingHosts(specOf('any'), hosts), hosts);
    assert.equal(decidingHosts(specOf(), hosts), hosts);
  });

  it('before a loss are one alone with any, if it succeeded by itself', () => {
    const ends = [failed(0), done(1)];
    assert.deepEqual(decisive(specOf('any'), ends, 4), { ends: [done(1)], hosts: 1 });
    assert.deepEqual(decisive(specOf(), ends, 4), { ends, hosts: 4 });
    const answers = [told(done(0))];
    assert.deepEqual(decisive(specOf('any'), answers, 4), { ends: answers, hosts: 4 });
  });
});
