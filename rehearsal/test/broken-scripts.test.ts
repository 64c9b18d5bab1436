import assert from 'node:assert/strict';
import { formatDuration, parseDuration } from '../script/duration.js';
import { readScript, ScriptError } from '../script/read-script.js';

/** Each is refused with exactly this text. */
const BROKEN: Readonly<Record<string, { readonly text: string; readonly want: string | RegExp }>> = {
  nothing: { text: '', want: '1:1: version is missing' },
  'a list': { text: '- at: 1m', want: '1:1: a script: [{"at":"1m"}] is not a table of keys and values' },
  'no YAML': {
    text: 'version: 1\nevents: [',
    want: /^3:1: not YAML: |^2:10: not YAML: /,
  },
  'a tab': { text: 'version: 1\nevents:\n\t- at: 1m', want: /^3:1: not YAML: .*[Tt]ab/ },
  'a key that is there twice': { text: 'version: 1\nversion: 1', want: '2:1: not YAML: Map keys must be unique' },
  'another version': { text: 'version: 2', want: '1:10: version: 2 is not 1, the only version there is' },
  'an unknown key': {
    text: 'version: 1\nseeds: 3',
    want: "2:1: no key 'seeds' in a script; did you mean seed?; known: version, seed, timeScale, capacity, quota, settings, events",
  },
  'a scale of words': { text: 'version: 1\ntimeScale: fast', want: "2:12: timeScale: 'fast' is not a number" },
  'a place that is none': {
    text: 'version: 1\ncapacity:\n  us-central1/v5e: 8',
    want:
      "3:3: 'us-central1/v5e' is not zone/generation or zone/generation/tier; generations: v2, v3, v4, v5litepod, v5p, v6e; " +
      'tiers: reserved, on-demand, spot; or zone/machine type',
  },
  'chips of words': {
    text: 'version: 1\ncapacity: {us-central1-a/v4: many}',
    want: "2:30: capacity.us-central1-a/v4: 'many' is not a number of chips, or unlimited",
  },
  'a span upside down': {
    text: 'version: 1\nsettings: {queue: {min: 5m, max: 1m}}',
    want: '2:19: settings.queue: {"min":"5m","max":"1m"} is not a span: min is above max',
  },
  'a time without a unit': {
    text: 'version: 1\nevents:\n  - at: 30\n    recycledIp: true',
    want: '3:9: events[0].at: 30 is not a duration, such as 30s, 5m or 1h30m; with its unit: 30s or 30m',
  },
  'a word that is none of those': {
    text: 'version: 1\nevents:\n  - at: 1m\n    preempt: {node: a, mode: vanished}',
    want: "4:30: events[0].preempt.mode: 'vanished' is not one of preempted, vanish, signal; did you mean vanish?",
  },
  'an action that is none': {
    text: 'version: 1\nevents:\n  - at: 1m\n    preemt: {node: a}',
    want: /^4:5: no key 'preemt' in events\[0\]; did you mean preempt\?; known: at, when, repeat, /,
  },
  'a key of another action': {
    text: 'version: 1\nevents:\n  - at: 1m\n    preempt: {nod: a}',
    want: /4:15: no key 'nod' in events\[0\]\.preempt; did you mean node\?; known: node, which, notice, mode$/,
  },
  'an event without an action': {
    text: 'version: 1\nevents:\n  - at: 1m',
    want: /^3:5: events\[0\]: does nothing; one of capacity, quota, settings, /,
  },
  'an event with two': {
    text: 'version: 1\nevents:\n  - at: 1m\n    recycledIp: true\n    warn: {node: a}',
    want: '5:5: events[0]: does recycledIp and warn; an event does one thing',
  },
  'an event at no time': {
    text: 'version: 1\nevents:\n  - recycledIp: true',
    want: '3:5: events[0]: needs at or when, one of the two',
  },
  'an event at two': {
    text: 'version: 1\nevents:\n  - at: 1m\n    when: {node: a, state: READY}\n    recycledIp: true',
    want: '3:5: events[0]: needs at or when, one of the two',
  },
  'a condition on nothing': {
    text: 'version: 1\nevents:\n  - when: {state: READY}\n    preempt: {}',
    want: '3:11: events[0].when: {"state":"READY"} is not a condition: it names a node or a queuedResource, one of the two',
  },
  'repeats at no distance': {
    text: 'version: 1\nevents:\n  - at: 1m\n    repeat: 3\n    recycledIp: true',
    want: '4:5: events[0]: repeats at no distance; add every',
  },
  'a preemption of nothing': {
    text: 'version: 1\nevents:\n  - at: 1m\n    preempt: {notice: 30s}',
    want: '4:5: events[0]: preempt names no node; only an event with when has one to begin with',
  },
  'a pattern that is none': {
    text: 'version: 1\nevents:\n  - at: 1m\n    preempt: {node: "("}',
    want: "4:21: events[0].preempt.node: '(' is not a regular expression",
  },
  'a method that is none': {
    text: 'version: 1\nevents:\n  - at: 1m\n    error: {method: GetNod, code: 5}',
    want: /^4:21: events\[0\]\.error\.method: 'GetNod' is not one of .*; did you mean GetNode\?$/,
  },
  'a code that is none': {
    text: 'version: 1\nevents:\n  - at: 1m\n    error: {method: GetNode, code: TIRED}',
    want: "4:36: events[0].error.code: 'TIRED' is not a code of google.rpc.Code, such as UNAVAILABLE",
  },
  'several faults, in the order of the text': {
    text: 'version: 1\nevents:\n  - at: soon\n    warn: {node: a, clearAfter: 1y}\nseed: -1',
    want: [
      "3:9: events[0].at: 'soon' is not a duration, such as 30s, 5m or 1h30m",
      "4:33: events[0].warn.clearAfter: '1y' is not a duration, such as 30s, 5m or 1h30m",
      '5:7: seed: -1 is not a whole number from 0 to 9007199254740991',
    ].join('\n'),
  },
};

describe('a broken fault script', () => {
  for (const [name, { text, want }] of Object.entries(BROKEN)) {
    it(`is refused with line, column and what would be right: ${name}`, () => {
      const told = refusalOf(text);
      if (typeof want === 'string') assert.equal(told, want);
      else assert.match(told, want);
    });
  }

  it('in which everything is an alias of an alias is refused too', () => {
    const lines = Array.from(
      { length: 12 },
      (_, index) => `a${index + 1}: &a${index + 1} [${`*a${index},`.repeat(9)}]`,
    );
    assert.match(refusalOf(['a0: &a0 [1]', ...lines].join('\n')), /^1:1: not YAML: .*alias/);
  });
});

describe('a duration', () => {
  const texts = {
    '0': 0,
    '500ms': 500,
    '30s': 30_000,
    '1.5s': 1500,
    '5m': 300_000,
    '1h30m': 5_400_000,
    '2d': 172_800_000,
  };
  it('is read, and written so that it is read the same', () => {
    for (const [text, ms] of Object.entries(texts)) {
      assert.equal(parseDuration(text), ms);
      assert.equal(parseDuration(formatDuration(ms)), ms);
    }
    for (const text of ['', '5', 's', '5x', '-5m', '5m!', '5 m']) assert.equal(parseDuration(text), undefined, text);
  });
});

function refusalOf(text: string): string {
  try {
    readScript(text);
  } catch (error) {
    if (error instanceof ScriptError) return error.message;
    throw error;
  }
  return 'taken';
}
