import assert from 'node:assert/strict';
import fc from 'fast-check';
import { evidenceOf, type Look, verdictOn } from '../../../domain/recovery/evidence.js';
import { commandEnd, type HostEnd, type HostPlace } from '../../../domain/recovery/host-ends.js';
import { begin, next } from '../../../domain/recovery/supervision.js';
import {
  deciding,
  type Effect,
  isSame,
  type News,
  type Supervision,
  type Watched,
} from '../../../domain/recovery/supervision-state.js';
import type { SilentEnd } from '../../../domain/silence.js';
import type * as the from './supervised.js';
import { at, done, failed, fenced, heard, play, runLost, shutDown, stored, taken, told } from './supervised.js';

const alike = (hosts: number, success: Watched['success'] = 'all'): Watched => ({
  ...{ hosts: Array.from({ length: hosts }, (_, host) => at(host)), isLed: false, success },
});
const led = (hosts: number): Watched => ({ ...alike(hosts), isLed: true });
const stops = ({ effects }: the.Played): number => effects.filter((effect) => effect.do === 'stop').length;

describe('the ends that decide an attempt', () => {
  type Story = readonly [Watched, readonly HostEnd[], number, ...HostEnd[]];
  const stories: Readonly<Record<string, Story>> = {
    'all: both done': [alike(2), [done(1), done(0)], 0, done(0), done(1)],
    'all: one failed': [alike(2), [failed(1)], 1, told(done(0)), failed(1)],
    'all: the only one failed, and nothing is left to stop': [alike(1), [failed(0)], 0, failed(0)],
    'first: the first is done, the others never end': [alike(3, 'first'), [done(0)], 1, done(0)],
    'first: another is done, which is nothing yet': [alike(2, 'first'), [done(1), done(0)], 0, done(0), done(1)],
    'first: another failed while the first goes on': [alike(2, 'first'), [failed(1)], 1, told(done(0)), failed(1)],
    'first: another failed as a consequence, and is heard of first': [
      alike(2, 'first'),
      [failed(1), done(0)],
      1,
      done(0),
    ],
    'first: the first failed': [alike(2, 'first'), [failed(0)], 1, failed(0), told(done(1))],
    'first: its answer to a stop is no success': [
      alike(2, 'first'),
      [told(done(0)), told(failed(1))],
      0,
      told(done(0)),
      told(failed(1)),
    ],
    'first: another shuts down': [alike(2, 'first'), [shutDown(failed(1))], 1, shutDown(failed(1))],
    'first: the first is done while another shuts down': [
      alike(2, 'first'),
      [shutDown(failed(1)), done(0)],
      1,
      done(0),
    ],
    'any: one is done': [alike(3, 'any'), [done(2)], 1, done(2)],
    'any: one failed before': [alike(2, 'any'), [failed(0)], 1, failed(0), told(done(1))],
  };
  for (const [name, [watched, ends, stopped, ...want]] of Object.entries(stories))
    it(name, () => {
      const played = play(watched, ends.map(stored));
      assert.deepEqual([played.ends, stops(played)], [want, stopped]);
    });

  it('are of a host that lost its place at once, whoever succeeds', () => {
    const { ends, end } = play(alike(2, 'any'), [fenced(0), done(1)].map(stored));
    assert.deepEqual([ends?.[0], end], [fenced(0), { kind: 'fenced', epoch: 3 }]);
  });

  it('are the first host’s with first or with a leader, all hosts’ otherwise', () => {
    assert.deepEqual([deciding(alike(2, 'first')), deciding(led(2))], [[at(0)], [at(0)]]);
    assert.deepEqual([deciding(alike(2, 'any')), deciding(alike(2))], [alike(2).hosts, alike(2).hosts]);
  });

  it('before a loss are one alone with any, if it succeeded by itself', () => {
    const loss: News = { of: 'loss', slice: taken(0) };
    const one = play(alike(4, 'any'), [heard(failed(0)), heard(done(1)), loss]);
    assert.deepEqual([one.ends, one.end.kind], [[done(1)], 'exited']);
    const answers = play(alike(4, 'any'), [heard(told(done(0))), loss]);
    assert.deepEqual([answers.ends, answers.end.kind], [[told(done(0))], 'slices-lost']);
  });
});

describe('the end of an attempt that one host leads', () => {
  interface Story {
    readonly heard: readonly HostEnd[];
    /** How the leader ends when it is told to. Undefined: it does not answer. */
    readonly leader?: HostEnd;
    readonly stored?: HostEnd;
  }
  const stories: Readonly<Record<string, readonly [Story, ...HostEnd[]]>> = {
    'is the code 0 of the leader; the others are told to end': [{ heard: [done(0)] }, done(0)],
    'is its code 0, though another is heard of with it': [{ heard: [runLost(1), done(0)] }, done(0)],
    'is its failure': [{ heard: [failed(0, 7)] }, failed(0, 7)],
    'is the loss of another, of which its failure is a consequence': [
      { heard: [failed(0, 1), runLost(1)] },
      ...[runLost(1), failed(0, 1)],
    ],
    'is its failure after a stop, which ends all': [
      { heard: [told(failed(0, 143)), told(done(1))] },
      told(failed(0, 143)),
    ],
    'is the loss of another while the command runs': [
      { heard: [runLost(1)], leader: told(failed(0, 143)) },
      ...[runLost(1), told(failed(0, 143))],
    ],
    'is no success where the leader answers that with code 0': [
      { heard: [runLost(1)], leader: told(done(0)) },
      ...[runLost(1), told(done(0))],
    ],
    'is the code 0 that the leader had ended with before': [{ heard: [runLost(1)], leader: done(0) }, done(0)],
    'is that code where the leader no longer answers, by its record': [
      { heard: [runLost(1)], stored: done(0) },
      done(0),
    ],
    'is the loss where nothing is known of the leader': [{ heard: [runLost(1)] }, runLost(1)],
    'is the refusal of another, as a failure of its own': [
      { heard: [failed(1, 126)], leader: told(failed(0, 143)) },
      ...[failed(1, 126), told(failed(0, 143))],
    ],
    'is a later attempt': [{ heard: [fenced(0)] }, fenced(0)],
  };
  for (const [name, [{ heard: ends, leader, stored: record }, ...want]] of Object.entries(stories))
    it(name, () => {
      const played = play(led(2), ends.map(stored), {
        toldEnd: ({ host }) => (host === 0 ? leader : undefined),
        stored: record === undefined ? [] : [record],
      });
      assert.deepEqual(played.ends, want);
      assert.equal(stops(played), want[0]?.kind === 'fenced' ? 0 : 1);
    });

  const saved: Readonly<Record<string, readonly [readonly HostEnd[], ...HostEnd[]]>> = {
    'the leader': [[shutDown(done(0)), done(1)], shutDown(done(0)), done(1)],
    'another host, while the command runs': [[shutDown(failed(1, 143))], shutDown(failed(1, 143))],
    'another host, of which the leader failed': [
      [failed(0, 1), shutDown(done(1), 'preempted')],
      ...[failed(0, 1), shutDown(done(1), 'preempted')],
    ],
  };
  for (const [who, [ends, ...want]] of Object.entries(saved))
    it(`is what comes of its slice where ${who} shuts down; the gang is told, and nothing else`, () => {
      const { effects, ends: decidedBy, state } = play(led(2), ends.map(stored), { isLost: false });
      assert.deepEqual(decidedBy ?? state.stored, want);
      const before = effects.findIndex((effect) => effect.do === 'look at slices' || effect.do === 'end rest');
      assert.deepEqual(
        effects.slice(0, before).flatMap((effect) => (effect.do === 'wait' ? [] : [effect.do])),
        ['tell gang'],
      );
    });

  it('is a loss where another ended well, and by itself', () => {
    const { ends = [] } = play(led(2), [stored(done(1))], { toldEnd: ({ host }) => told(failed(host, 143)) });
    const { kind, ...rest } = commandEnd(ends);
    assert.deepEqual([kind, 'at' in rest && rest.at], ['run-lost', at(1)]);
    assert.match('message' in rest ? rest.message : '', /^the host ended what the command on the first host needs/);
  });
});

describe('a loss', () => {
  const loss = (slice = 0): News => ({ of: 'loss', slice: taken(slice) });
  const two: Watched = { ...alike(0), hosts: [at(0, 0), at(0, 1)] };

  it('is told to the hosts that are left before anything is read', () => {
    const { effects, end } = play(two, [loss()]);
    assert.deepEqual(
      effects.map((effect) => effect.do),
      ['tell left', 'read stored ends', 'end rest'],
    );
    assert.deepEqual(end, { kind: 'slices-lost', slices: [taken(0)] });
  });

  it('changes no end of a command whose hosts had all ended before, by their word or by what they stored', () => {
    const code = (end: object): unknown => ('code' in end ? end.code : end);
    assert.equal(code(play(two, [heard(done(0, 0)), heard(done(0, 1)), loss()]).end), 0);
    assert.equal(code(play(two, [heard(done(0, 0)), loss()], { stored: [done(0, 1)] }).end), 0);
    assert.equal(play(two, [heard(done(0, 0)), loss()]).end.kind, 'slices-lost');
  });

  it('counts a host once that is heard of while what it stored is read', () => {
    const news: News[] = [heard(done(0, 0)), loss(), heard(done(0, 1))];
    const { end, ends } = play(two, news, { stored: [done(0, 1)] });
    assert.deepEqual([end.kind, ends], ['exited', [done(0, 0), done(0, 1)]]);
  });

  it('is of all slices that are seen lost until the rest has ended', () => {
    const { end } = play(two, [loss(1), loss(0)]);
    assert.deepEqual(end, { kind: 'slices-lost', slices: [taken(1), taken(0)] });
  });

  it('is what it comes to where a host shuts down, and its slice is then seen lost', () => {
    const { end } = play(two, [stored(shutDown(failed(0, 143))), loss()]);
    assert.deepEqual(end, { kind: 'slices-lost', slices: [taken(0)] });
  });

  it('that only the look shows ends the attempt when it is told', () => {
    let { state } = next(begin(alike(1)), stored(failed(0)));
    ({ state } = next(state, { of: 'look', isLost: true }));
    assert.equal(state.step.at, 'looking');
    ({ state } = next(state, loss()));
    ({ state } = next(state, { of: 'rest ended' }));
    assert.deepEqual(state.step.at === 'over' && state.step.end.kind, 'slices-lost');
  });

  it('is the hosts’ own word where they were preempted: nobody has to see it', () => {
    const { end } = play(alike(1), [stored(shutDown(done(0), 'preempted'))]);
    assert.equal(end.kind === 'slices-lost' && end.slices[0]?.cause, 'preempted');
  });
});

describe('a silence', () => {
  const silence: SilentEnd = { kind: 'no-output', last: { what: 'output', ...at(0), at: 5 } };
  const silent: News = { of: 'silence', end: silence };

  it('ends the attempt when its stacks are stored and its slices are there', () => {
    const { end, effects } = play(alike(2), [silent], { stacks: 2 });
    assert.deepEqual(end, { ...silence, stacks: 2 });
    assert.deepEqual(
      effects.map((effect) => effect.do),
      ['store stacks', 'look at slices'],
    );
    assert.deepEqual(play(alike(2), [silent]).end, silence);
  });

  it('is not the end of a command that came to its own meanwhile', () => {
    assert.equal(play(alike(1), [silent, heard(done(0))]).end.kind, 'exited');
  });

  it('is a loss where the slices are gone', () => {
    const { end } = play(alike(1), [silent, { of: 'loss', slice: taken(0) }]);
    assert.equal(end.kind, 'slices-lost');
  });

  it('is nothing while a failed command is being ended', () => {
    const { end } = play(alike(2), [stored(failed(0)), silent]);
    assert.equal(end.kind === 'exited' && end.code, 7);
  });
});

describe('an idleness', () => {
  const idle = { kind: 'idle', since: 5, last: { ...at(0), what: 'login from 10.0.0.3' } } as const;
  const news: News = { of: 'idle', end: idle };

  it('ends the attempt at once, while all of its watchers run', () => {
    const { end, effects } = play(alike(2), [news]);
    assert.deepEqual([end, effects], [idle, []]);
  });

  it('is nothing once a watcher has ended, or a slice is lost: the attempt ends by that', () => {
    assert.equal(play(alike(2), [heard(failed(1, 143)), news, stored(failed(1, 143))]).end.kind, 'exited');
    assert.equal(play(alike(2), [{ of: 'loss', slice: taken(0) }, news]).end.kind, 'slices-lost');
  });
});

describe('a supervision', () => {
  it('without a command ends with a loss, a hand-over or its time, and with nothing else', () => {
    assert.equal(play(alike(0), [{ of: 'loss', slice: taken(0) }]).end.kind, 'slices-lost');
    assert.equal(play(alike(0), [{ of: 'handed over' }]).end.kind, 'handed-over');
    assert.equal(play(alike(0), [{ of: 'time is up' }]).end.kind, 'still-running');
  });

  it('that is over stays so', () => {
    const { state } = play(alike(1), [stored(done(0))]);
    assert.deepEqual(next(state, { of: 'loss', slice: taken(0) }), { state, effects: [] });
  });
});

describe('step by step, a supervision', () => {
  /** What is done about the last piece of news, where it stands then, and the ends by which it was decided. */
  function after(watched: Watched, ...news: readonly News[]) {
    let [state, effects]: [Supervision, readonly Effect[]] = [begin(watched), []];
    for (const each of news) ({ state, effects } = next(state, each));
    const { step } = state;
    return {
      at: step.at,
      effects,
      ends: 'ends' in step ? step.ends : step.at === 'over' ? step.decidedBy?.ends : [],
      step,
    };
  }
  const over = (step: 'consequence' | 'cause' | 'last lines' | 'saving' | 'late'): News => ({ of: 'wait over', step });
  const stopped: News = { of: 'stopped' };
  const wait = (step: string, ms: number) => ({ do: 'wait', step, ms });
  const four: Watched = { ...alike(0), hosts: [at(0, 0), at(1, 0), at(0, 1), at(1, 1)] };

  it('gives hosts that were told to end ten seconds for their last lines', () => {
    const told0 = stored(told(done(0)));
    const waiting = after(alike(2), stored(failed(1)), stopped);
    assert.deepEqual([waiting.at, waiting.effects], ['last lines', [wait('last lines', 10_000)]]);
    assert.deepEqual(after(alike(2), stored(failed(1)), stopped, told0).ends, [told(done(0)), failed(1)]);
    assert.deepEqual(after(alike(2), stored(failed(1)), stopped, over('last lines')).ends, [failed(1)]);
    assert.deepEqual(after(alike(2), stored(failed(1)), told0, stopped).ends, [told(done(0)), failed(1)]);
    assert.equal(after(alike(3), stored(failed(1)), stopped, told0).at, 'last lines');
  });

  it('waits for what the hosts of a slice save that shuts down, thirty seconds at most, and for no other slice', () => {
    const first = stored(shutDown(failed(0, 143, 0)));
    const saving = after(four, first);
    assert.deepEqual(
      [saving.at, saving.effects],
      ['saving', [{ do: 'tell gang', of: at(0, 0) }, wait('saving', 30_000)]],
    );
    assert.equal(after(four, first, stored(done(0, 1))).at, 'saving');
    const second = shutDown(done(1, 0));
    const both = [shutDown(failed(0, 143, 0)), second];
    assert.deepEqual(after(four, first, stored(done(0, 1)), stored(second)).ends, both);
    assert.deepEqual(after(four, first, heard(second), stored(done(0, 1)), over('saving')).ends, both);
    assert.deepEqual(after(four, first, over('saving')).ends, [shutDown(failed(0, 143, 0))]);
    const last = after(four, stored(second), first);
    assert.deepEqual([last.at, last.ends], ['looking', both]);
  });

  it('waits five seconds for a success that a failure may be the consequence of, or until all have ended', () => {
    const waiting = after(alike(2, 'any'), stored(failed(0)));
    assert.deepEqual([waiting.at, waiting.effects], ['consequence', [wait('consequence', 5_000)]]);
    assert.deepEqual(after(alike(2, 'any'), stored(failed(0)), stored(failed(1))).ends, [failed(0), failed(1)]);
    assert.equal(after(alike(3, 'any'), stored(failed(0)), stored(failed(1))).at, 'consequence');
    assert.deepEqual(after(alike(2, 'any'), stored(failed(0)), over('consequence')).effects, [
      { do: 'stop', reason: 'the command failed on another host' },
    ]);
  });

  it('waits for the leader five seconds, and ten when it was told to end, then for its record', () => {
    const left = stored(runLost(1));
    assert.deepEqual(after(led(2), left).effects, [wait('consequence', 5_000)]);
    assert.deepEqual(after(led(2), left, over('consequence')).at, 'stopping');
    const late = after(led(2), left, over('consequence'), stopped);
    assert.deepEqual([late.at, late.effects], ['late', [wait('late', 10_000)]]);
    const record = after(led(2), left, over('consequence'), stopped, over('late'));
    assert.deepEqual([record.at, record.effects], ['record', [{ do: 'read stored ends', hosts: [at(0)] }]]);
    assert.equal(after(led(3), left, over('consequence'), stopped, stored(done(2))).at, 'late');
    assert.deepEqual(after(led(2), left, over('consequence'), stopped, stored(done(0))).ends, [done(0)]);
    assert.deepEqual(after(led(2), left, over('consequence'), stored(done(0)), stopped).ends, [done(0)]);
  });

  it('waits five seconds for another host of which the leader’s failure is a consequence, and for no second one', () => {
    const fails = stored(failed(0, 1));
    assert.deepEqual(after(led(3), fails).effects, [wait('cause', 5_000)]);
    assert.deepEqual(after(led(3), fails, over('cause'), stopped).ends, [failed(0, 1)]);
    assert.deepEqual(after(led(3), fails, stored(runLost(2)), stopped).ends, [runLost(2), failed(0, 1)]);
  });

  it('takes no notice of a wait or an answer that is of another step', () => {
    for (const stale of [over('saving'), over('late'), over('cause'), stopped, { of: 'rest ended' } as const]) {
      const { at: where, effects } = after(alike(2, 'any'), stored(failed(0)), stale);
      assert.deepEqual([where, effects], ['consequence', []]);
    }
    const looking = after(
      alike(1),
      stored(failed(0)),
      { of: 'stacks', hosts: 1 },
      { of: 'stored ends', ends: [done(0)] },
    );
    assert.deepEqual([looking.at, looking.effects], ['looking', []]);
  });

  it('keeps as evidence how many hosts its ends stand for', () => {
    const hosts = (watched: Watched, ...news: readonly News[]): unknown => {
      const { step } = after(watched, ...news);
      return step.at === 'over' ? step.decidedBy?.hosts : step.at;
    };
    assert.equal(hosts(alike(3, 'any'), stored(done(2)), stopped), 1);
    assert.equal(hosts(alike(2, 'any'), stored(done(0)), stored(done(1)), stopped), 1);
    assert.equal(hosts(alike(3), stored(failed(0)), stopped, over('last lines'), { of: 'look', isLost: false }), 3);
    assert.equal(hosts(alike(1, 'any'), stored(failed(0)), { of: 'look', isLost: false }), 1);
    assert.equal(hosts(alike(3, 'any'), stored(failed(0)), over('consequence'), stopped, over('last lines'), LOOK), 3);
    assert.equal(hosts(led(3), stored(done(0)), stopped), 1);
  });
  const LOOK: News = { of: 'look', isLost: false };
});

describe('whatever the order of the news', () => {
  interface Drawn {
    readonly watched: Watched;
    readonly news: readonly News[];
    readonly world: the.World;
  }
  const drawn: fc.Arbitrary<Drawn> = fc
    .record({
      slices: fc.integer({ min: 1, max: 2 }),
      hostsOfEach: fc.integer({ min: 1, max: 3 }),
      isLed: fc.boolean(),
      success: fc.constantFrom('all' as const, 'first' as const, 'any' as const),
    })
    .chain(({ slices, hostsOfEach, isLed, success }) => {
      const hosts = Array.from({ length: slices * hostsOfEach }, (_, one) =>
        at(one % hostsOfEach, Math.floor(one / hostsOfEach)),
      );
      const endOf = ({ slice, host }: HostPlace): fc.Arbitrary<HostEnd> =>
        fc
          .record({
            code: fc.constantFrom(0, 0, 7, 143),
            condition: fc.constantFrom(
              'up' as const,
              'up' as const,
              'stopping' as const,
              'preempted' as const,
              undefined,
            ),
            isStopped: fc.boolean(),
            endedAt: fc.integer({ min: 2, max: 9 }),
            kind: fc.constantFrom('exit', 'exit', 'exit', 'run-lost', 'fenced'),
          })
          .map(({ code, condition, isStopped, endedAt, kind }): HostEnd => {
            if (kind === 'run-lost') return { kind: 'run-lost', at: at(host, slice), message: 'gone' };
            if (kind === 'fenced') return { kind: 'fenced', at: at(host, slice), epoch: 3 };
            const exit = {
              ...{ at: at(host, slice), code, startedAt: 1, endedAt, isStopped },
              ...(condition && { host: condition }),
            };
            return { kind: code === 0 ? 'done' : 'failed', ...exit };
          });
      const ends = fc.tuple(...hosts.map((place) => fc.option(endOf(place), { nil: undefined })));
      const losses = fc.subarray(Array.from({ length: slices }, (_, slice) => slice));
      return fc
        .record({ ends, losses, storedToo: fc.boolean(), isSilent: fc.boolean(), answers: fc.boolean() })
        .chain(({ ends: each, losses: lost, storedToo, isSilent, answers }) => {
          const ofHosts = each.flatMap((end) => end ?? []);
          const news: News[] = [
            ...ofHosts.flatMap((end) => [heard(end), stored(end)]),
            ...lost.map((slice): News => ({ of: 'loss', slice: taken(slice) })),
            ...(isSilent ? [{ of: 'silence', end: SILENCE } as const] : []),
          ];
          const world: the.World = {
            stored: storedToo
              ? hosts.map((place) => ofHosts.find(({ at: of }) => isSame(of, place)) ?? done(place.host, place.slice))
              : [],
            ...(answers ? {} : { toldEnd: () => undefined }),
          };
          const watched: Watched = { hosts, isLed, success };
          return fc
            .shuffledSubarray(news, { minLength: news.length })
            .map((order) => ({ watched, world, news: inOrder(order) }));
        });
    });
  const SILENCE: SilentEnd = { kind: 'no-output', last: { what: 'output', ...at(0), at: 5 } };
  /** An end is heard of before its output is stored. */
  const inOrder = (news: readonly News[]): readonly News[] => {
    const firsts = new Set<string>();
    return news.map((each) => {
      if (each.of !== 'host') return each;
      const place = JSON.stringify(each.end.at);
      const isFirst = !firsts.has(place);
      firsts.add(place);
      return { ...each, isStored: !isFirst };
    });
  };
  const RUNS = Number(process.env['JOBCTL_PROPERTY_RUNS'] ?? 300);
  const check = (holds: (drawn: Drawn, played: the.Played) => void, runs = RUNS): void =>
    fc.assert(
      fc.property(drawn, (one) =>
        holds(one, play(one.watched, one.news, { ...one.world, last: { of: 'time is up' } })),
      ),
      { numRuns: runs },
    );

  it('there is an end, of each kind', () => {
    const kinds = new Set<string>();
    // Enough that each is drawn.
    check((_, { end }) => void kinds.add(end.kind), 1_500);
    assert.deepEqual([...kinds].sort(), ['exited', 'fenced', 'no-output', 'run-lost', 'slices-lost', 'still-running']);
  });

  it('another build comes to the same end by the same evidence', () =>
    check(({ news }, { end, state }) => {
      if (state.step.at !== 'over' || state.step.decidedBy === undefined) return;
      const looks = news.flatMap((each): Look[] =>
        each.of === 'loss' && state.lost.includes(each.slice)
          ? [{ at: 3, slice: each.slice.index, look: 'directly', condition: 'preempted', text: each.slice.message }]
          : [],
      );
      const verdict = verdictOn(evidenceOf({ ...state.step.decidedBy, looks }));
      assert.equal(verdict.kind, end.kind);
      if (verdict.kind === 'exited' && end.kind === 'exited') assert.equal(verdict.code, end.code);
    }));

  it('code 0 is said only of hosts that ended with it, as many as the job asks for', () =>
    check(({ watched, news, world }, { end }) => {
      // Code 0 that answers a stop is a lost run (workflows/job/attempt-record.ts).
      if (end.kind !== 'exited' || end.code !== 0 || end.isStopped === true) return;
      const ends = [...news.flatMap((each) => (each.of === 'host' ? [each.end] : [])), ...(world.stored ?? [])];
      const good = watched.hosts.filter((place) =>
        ends.some((each) => each.kind === 'done' && each.host !== 'preempted' && isSame(each.at, place)),
      );
      const [first] = watched.hosts;
      const isFirstGood = first !== undefined && good.includes(first);
      if (watched.isLed || watched.success === 'first') assert.ok(isFirstGood || good.length === watched.hosts.length);
      else assert.ok(watched.success === 'any' ? good.length > 0 : good.length === watched.hosts.length);
    }));

  it('the slices that are named lost were seen lost, or their hosts said so', () =>
    check(({ news }, { end }) => {
      if (end.kind !== 'slices-lost') return;
      assert.ok(end.slices.length > 0);
      for (const { index } of end.slices)
        assert.ok(
          news.some(
            (each) =>
              (each.of === 'loss' && each.slice.index === index) ||
              (each.of === 'host' &&
                'host' in each.end &&
                each.end.host === 'preempted' &&
                each.end.at.slice === index),
          ),
        );
      assert.equal(new Set(end.slices.map(({ index }) => index)).size, end.slices.length);
    }));

  it('nothing is told to end before something has ended, and every effect is of a use', () =>
    check(({ news }, { effects }) => {
      if (news.some((each) => each.of === 'host' || each.of === 'loss')) return;
      assert.deepEqual(
        effects.filter((effect) => effect.do === 'stop' || effect.do === 'end rest'),
        [],
      );
    }));
});
