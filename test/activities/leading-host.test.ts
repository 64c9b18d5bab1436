import assert from 'node:assert/strict';
import type { AttemptHost } from '../../activities/attempt/attempt-hosts.js';
import { leadingHost, type LedHosts, untilLeaderEnded } from '../../activities/attempt/leading-host.js';
import type { JobSpec } from '../../domain/job-spec.js';
import { commandEnd, type HostEnd } from '../../domain/recovery/host-ends.js';

const exit = { startedAt: 1, endedAt: 2, isStopped: false, host: 'up' } as const;
const at = (host: number) => ({ slice: 0, host });
const done = (host: number): HostEnd => ({ kind: 'done', at: at(host), code: 0, ...exit });
const failed = (host: number, code: number): HostEnd => ({ kind: 'failed', at: at(host), code, ...exit });
const lost = (host: number): HostEnd => ({ kind: 'run-lost', at: at(host), message: 'Ray ended' });
const told = (end: HostEnd): HostEnd => ({ ...end, isStopped: true }) as HostEnd;

interface Story {
  /** Undefined: it goes on until it is stopped. */
  readonly leader?: HostEnd;
  /** Ends when it is told to, and with which end. */
  readonly leaderTold?: HostEnd;
  readonly other?: HostEnd;
  readonly stored?: HostEnd;
  /** Comes of a slice that shuts down. */
  readonly saved?: HostEnd;
}

/** Time is none: what is there is there, and a wait is over at once if nothing comes. */
async function play({
  leader,
  leaderTold,
  other,
  stored,
  saved,
}: Story): Promise<{ ends: readonly HostEnd[]; stops: number }> {
  let stops = 0;
  let end: (end: HostEnd) => void = () => undefined;
  const leading = leader === undefined ? new Promise<HostEnd>((resolve) => (end = resolve)) : Promise.resolve(leader);
  const led: LedHosts = {
    leader: leading,
    others: [other === undefined ? new Promise<never>(() => undefined) : Promise.resolve(other)],
    stop: async () => {
      stops += 1;
      if (leaderTold !== undefined) end(leaderTold);
    },
    storedEnd: async () => stored,
    untilSaved: async (first) => [first, ...(saved === undefined ? [] : [saved])],
    wait: () => new Promise((resolve) => setImmediate(() => resolve(undefined))),
  };
  return { ends: await untilLeaderEnded(led), stops };
}

describe('the end of an attempt that one host leads', () => {
  const stories: Readonly<Record<string, readonly [Story, ...HostEnd[]]>> = {
    'is the code 0 of the leader; the others are told to end': [{ leader: done(0) }, done(0)],
    'is its code 0, though another is heard of with it': [{ leader: done(0), other: lost(1) }, done(0)],
    'is its failure': [{ leader: failed(0, 7) }, failed(0, 7)],
    'is the loss of another, of which its failure is a consequence': [
      { leader: failed(0, 1), other: lost(1) },
      ...[lost(1), failed(0, 1)],
    ],
    'is its failure after a stop, which ends all': [
      { leader: told(failed(0, 143)), other: told(done(1)) },
      told(failed(0, 143)),
    ],
    'is the loss of another while the command runs': [
      { leaderTold: told(failed(0, 143)), other: lost(1) },
      ...[lost(1), told(failed(0, 143))],
    ],
    'is no success where the leader answers that with code 0': [
      { leaderTold: told(done(0)), other: lost(1) },
      ...[lost(1), told(done(0))],
    ],
    'is the code 0 that the leader had ended with before': [{ leaderTold: done(0), other: lost(1) }, done(0)],
    'is that code where the leader no longer answers, by its record': [{ stored: done(0), other: lost(1) }, done(0)],
    'is the loss where nothing is known of the leader': [{ other: lost(1) }, lost(1)],
    'is the refusal of another, as a failure of its own': [
      { leaderTold: told(failed(0, 143)), other: failed(1, 126) },
      ...[failed(1, 126), told(failed(0, 143))],
    ],
    'is a later attempt': [
      { leader: { kind: 'fenced', at: at(0), epoch: 3 } },
      { kind: 'fenced', at: at(0), epoch: 3 },
    ],
  };
  for (const [name, [story, ...ends]] of Object.entries(stories))
    it(name, async () => {
      const played = await play(story);
      assert.deepEqual(played.ends, ends);
      assert.equal(played.stops, ends[0]?.kind === 'fenced' ? 0 : 1);
    });

  const shutDown = (end: HostEnd, host: 'stopping' | 'preempted' = 'stopping'): HostEnd =>
    ({ ...end, host }) as HostEnd;
  const saved: Readonly<Record<string, readonly [Story, HostEnd]>> = {
    'the leader': [{ leader: shutDown(done(0)), saved: done(1) }, shutDown(done(0))],
    'another host, while the command runs': [
      { other: shutDown(failed(1, 143)), saved: done(0) },
      shutDown(failed(1, 143)),
    ],
    'another host, of which the leader failed': [
      { leader: failed(0, 1), other: shutDown(done(1), 'preempted'), saved: done(2) },
      shutDown(done(1), 'preempted'),
    ],
  };
  for (const [who, [story, first]] of Object.entries(saved))
    it(`is what comes of its slice where ${who} shuts down; nothing is told to end`, async () => {
      const { ends, stops } = await play(story);
      assert.deepEqual([ends, stops], [[first, story.saved], 0]);
    });

  it('is a loss where another ended well, and by itself', async () => {
    const { ends } = await play({ leaderTold: told(failed(0, 143)), other: done(1) });
    const { kind, ...rest } = commandEnd(ends);
    assert.deepEqual([kind, 'at' in rest && rest.at], ['run-lost', at(1)]);
    assert.match('message' in rest ? rest.message : '', /^the host ended what the command on the first host needs/);
  });

  it('is led by the first host where there is Ray, and by none otherwise', () => {
    const hosts = [0, 1].map((number) => ({ number }) as AttemptHost);
    assert.equal(leadingHost({ modules: [] } as unknown as JobSpec, hosts), undefined);
    assert.equal(leadingHost({ modules: ['ray'], ray: {} } as unknown as JobSpec, hosts), hosts[0]);
  });
});
