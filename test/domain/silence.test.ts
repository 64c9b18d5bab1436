import assert from 'node:assert/strict';
import {
  askAgainMs,
  type FirstSilent,
  type HostSilence,
  heardAgain,
  NOTE_AFTER_MS,
  noteDueMs,
  quietMsOf,
  silenceOf,
  type SilenceVerdict,
  UNHEARD,
} from '../../domain/silence.js';

const MINUTE = 60_000;
const LIMIT_MS = 30 * MINUTE;

function host(
  index: number,
  quietMinutes: number,
  more: Partial<Extract<HostSilence, { quietMs: number }>> = {},
): HostSilence {
  return { kind: 'running', slice: 0, host: index, quietMs: quietMinutes * MINUTE, hasPrinted: true, ...more };
}
const UNKNOWN: HostSilence = { kind: 'unknown' };

describe('when a command counts as silent', () => {
  const silent = (
    quietMinutes: number,
    what: 'output' | 'start' | 'end',
    index: number,
    slice = 0,
    first?: FirstSilent,
  ): SilenceVerdict => ({
    kind: 'silent',
    quietMs: quietMinutes * MINUTE,
    last: { what, slice, host: index },
    ...(first && { first }),
  });
  const firstOf = (index: number, quietMinutes: number, hasPrinted = true): FirstSilent => ({
    ...{ slice: 0, host: index, quietMs: quietMinutes * MINUTE, hasPrinted },
  });
  const cases: Record<string, { hosts: readonly HostSilence[]; want: SilenceVerdict }> = {
    'when none of its hosts printed for that long, by the one that printed last': {
      hosts: [host(0, 45), host(1, 31), host(2, 50)],
      want: silent(31, 'output', 1, 0, firstOf(2, 50)),
    },
    'to the very moment': { hosts: [host(0, 30)], want: silent(30, 'output', 0) },
    'not while one host of many prints': {
      hosts: [host(0, 500), host(1, 500), host(2, 29)],
      want: { kind: 'not-yet', dueInMs: MINUTE },
    },
    'also when nothing was ever printed, since its start on the last host': {
      hosts: [host(0, 33, { hasPrinted: false }), host(1, 32, { hasPrinted: false, slice: 3 })],
      want: silent(32, 'start', 1, 3, firstOf(0, 33, false)),
    },
    'not while a host is not known of, however long the others are silent': {
      hosts: [host(0, 5000), UNKNOWN, host(2, 5000)],
      want: { kind: 'unknown' },
    },
    'not while no host is known of': { hosts: [UNKNOWN, UNKNOWN], want: { kind: 'unknown' } },
    'not before the time has passed once more since a host was done': {
      hosts: [host(0, 10, { kind: 'ended' }), host(1, 90)],
      want: { kind: 'not-yet', dueInMs: 20 * MINUTE },
    },
    'when a host was done that long ago, and the others wait in vain': {
      hosts: [host(0, 30, { kind: 'ended' }), host(1, 90)],
      want: silent(30, 'end', 0, 0, firstOf(1, 90)),
    },
    'not when all hosts are done': {
      hosts: [host(0, 90, { kind: 'ended' }), host(1, 90, { kind: 'ended' })],
      want: { kind: 'unknown' },
    },
  };
  for (const [name, { hosts, want }] of Object.entries(cases))
    it(name, () => {
      assert.deepEqual(silenceOf(hosts, LIMIT_MS), want);
      assert.deepEqual(silenceOf(hosts.toReversed(), LIMIT_MS), want, 'the order of hosts decides nothing');
    });
});

describe('how long one host has been quiet', () => {
  const cases: Record<
    string,
    { outputBytes: number; said?: number; read: { position: number; forMs: number }; want: number | undefined }
  > = {
    "by its own word, where it says more than this worker's reading": {
      outputBytes: 9,
      said: 700,
      read: { position: 9, forMs: 20 },
      want: 700,
    },
    'by what was read, where its clock was set back': {
      outputBytes: 9,
      said: 0,
      read: { position: 9, forMs: 900 },
      want: 900,
    },
    'unknown, where it cannot tell: a full disk takes nothing of what is printed': {
      outputBytes: 9,
      read: { position: 9, forMs: 900 },
      want: undefined,
    },
    'nothing by what was read, where more has been printed than was read': {
      outputBytes: 10,
      said: 5,
      read: { position: 9, forMs: 900 },
      want: 5,
    },
    'nothing by what was read, where more came while it was asked': {
      outputBytes: 9,
      said: 0,
      read: { position: 12, forMs: -3 },
      want: 0,
    },
    'never less than nothing': { outputBytes: 9, said: 0, read: { position: 9, forMs: -3 }, want: 0 },
  };
  for (const [name, { outputBytes, said, read, want }] of Object.entries(cases))
    it(name, () =>
      assert.equal(quietMsOf({ outputBytes, ...(said === undefined ? {} : { quietMs: said }) }, read), want),
    );
});

it('hosts that could not tell are asked again after a tenth of the limit, between a second and a minute', () =>
  assert.deepEqual([5_000, LIMIT_MS / 10, 24 * 60 * MINUTE].map(askAgainMs), [1_000, 18_000, 60_000]));

describe('when a host that is silent alone is worth a note', () => {
  /** Has printed after each of these times, and then not for so long. */
  const heard = (gapsMinutes: readonly number[], quietMinutes: number) => ({
    rhythm: gapsMinutes.map((minutes) => minutes * MINUTE).reduce(heardAgain, UNHEARD),
    quietMs: quietMinutes * MINUTE,
  });
  const each = (minutes: number, times: number): readonly number[] => Array.from({ length: times }, () => minutes);
  const regular = each(0.5, 60);
  type Heard = ReturnType<typeof heard>;
  const cases: Record<string, { host: Heard; others: readonly Heard[]; inMinutes: number }> = {
    'after ten minutes, if it printed often and another goes on': {
      ...{ host: heard(regular, 10), others: [heard(regular, 0.2)], inMinutes: 0 },
    },
    'not before': { host: heard(regular, 4), others: [heard(regular, 0.2)], inMinutes: 6 },
    'after ten times its longest silence, if that is longer': {
      ...{ host: heard([...regular, 3], 12), others: [heard(regular, 0.2)], inMinutes: 18 },
    },
    'if one of many others goes on, though seldom': {
      ...{ host: heard(regular, 10), others: [heard(regular, 20), heard(each(4, 20), 4)], inMinutes: 0 },
    },
    'not if all fell silent at about the same time': {
      ...{ host: heard(regular, 60), others: [heard(regular, 59)], inMinutes: Infinity },
    },
    'not if the others have never printed': {
      ...{ host: heard(regular, 60), others: [heard([], 1)], inMinutes: Infinity },
    },
    'not if it is the only one left': { host: heard(regular, 60), others: [], inMinutes: Infinity },
    'not if it has printed its start alone, as all ranks but one do': {
      ...{ host: heard(each(0.1, 50), 600), others: [heard(regular, 0.2)], inMinutes: Infinity },
    },
    'not if it has printed twice, far apart': {
      ...{ host: heard([30, 30], 600), others: [heard(regular, 0.2)], inMinutes: Infinity },
    },
    'not if it has printed nothing': {
      ...{ host: heard([], 600), others: [heard(regular, 0.2)], inMinutes: Infinity },
    },
  };
  for (const [name, { host: one, others, inMinutes }] of Object.entries(cases))
    it(name, () => assert.equal(noteDueMs(one, others, NOTE_AFTER_MS), inMinutes * MINUTE));
});
