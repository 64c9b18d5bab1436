import assert from 'node:assert/strict';
import { lookOf } from '../../cli/terminal/render/look.js';
import { renderTimeline } from '../../cli/commands/verbs/status-timeline.js';
import { textWidth } from '../../cli/terminal/render/columns.js';
import { timelineOf, type TimelineFacts } from '../../cli/jobs/timeline.js';
import type { SetUpRecord, SetUpStepRecord } from '../../domain/set-up-record.js';

const T0 = Date.UTC(2026, 10, 22, 12);
const S = 1000;

function step(host: number, module: string, from: number, to: number | undefined, more: Partial<SetUpStepRecord> = {}) {
  const end = to === undefined ? {} : { endedAt: T0 + to * S, code: 0, outcome: 'done' as const };
  return { host, module, step: 'install', startedAt: T0 + from * S, tries: 1, ...end, ...more };
}

const SET_UP: SetUpRecord = {
  v: 1,
  modules: ['ssh', 'venv'],
  hosts: 2,
  startedAt: T0 + 10 * S,
  endedAt: T0 + 20 * S,
  ready: { ssh: 2, venv: 2 },
  steps: [
    step(1, 'venv', 12, 13, { step: 'make' }),
    // Twice in vain, with pauses: the last try alone was short.
    step(1, 'venv', 19, 20, { tries: 3, firstStartedAt: T0 + 13 * S }),
    step(0, 'ssh', 10, 11, { step: 'check', outcome: 'unchanged' }),
    step(1, 'ssh', 10, 12),
    step(0, 'venv', 11, 14),
  ],
};

const FACTS: TimelineFacts = {
  submittedAt: T0,
  endedAt: T0 + 60 * S,
  events: [
    { at: T0, text: 'submitted' },
    { at: T0, text: 'queued: waits for quota of project vision' },
    { at: T0 + 4 * S, text: 'provisioning: 1 x v5litepod-8 in us-central1-a' },
    { at: T0 + 10 * S, text: 'setting-up: modules ssh, venv on 2 hosts' },
    { at: T0 + 20 * S, text: 'running: attempt 1' },
    { at: T0 + 30 * S, text: 'its priority is 2 from now on' },
    { at: T0 + 58 * S, text: 'finishing: storing the outcome' },
    { at: T0 + 59 * S, text: 'succeeded in 59s' },
  ],
  setUps: [{ attempt: 1, record: SET_UP }],
};

describe('the timeline of a job', () => {
  it('a phase lasts to the next one, the last to the end; notes are no phases', () => {
    const { phases } = timelineOf(FACTS, T0 + 999 * S);
    assert.deepEqual(
      phases.map(({ phase, startedAt, endedAt }) => [phase, (startedAt - T0) / S, (endedAt - T0) / S]),
      [
        ['queued', 0, 4],
        ['provisioning', 4, 10],
        ['setting-up', 10, 20],
        ['running', 20, 58],
        ['finishing', 58, 59],
      ],
    );
  });

  it('the phase of an event with a kind is told by it, whatever its sentence says', () => {
    const { phases } = timelineOf(
      {
        ...FACTS,
        events: [
          { at: T0, kind: 'queued', phase: 'queued', facts: {}, text: 'queued: waits for quota' },
          { at: T0 + 1 * S, kind: 'restored', facts: { text: 'running: x' }, text: 'running: x' },
          {
            at: T0 + 2 * S,
            kind: 'cancelled',
            phase: 'cancelled',
            facts: { attempts: 0, preemptions: 0 },
            text: 'cancelled: x',
          },
        ],
      },
      T0,
    );
    assert.deepEqual(phases, [{ phase: 'queued', why: 'waits for quota', startedAt: T0, endedAt: T0 + 2 * S }]);
  });

  it('a set-up that was cut short ends with its phase, and the next one begins anew', () => {
    const { endedAt: _, ...open } = SET_UP;
    const setUps = [
      { attempt: 1, record: open },
      { attempt: 2, record: { ...open, startedAt: T0 + 40 * S } },
    ];
    const events = [
      ...FACTS.events.slice(0, 4),
      { at: T0 + 22 * S, text: 'evicting: a person asked for a restart' },
      { at: T0 + 39 * S, text: 'setting-up: modules ssh, venv on 2 hosts' },
    ];
    const { endedAt: __, ...facts } = FACTS;
    const timeline = timelineOf({ ...facts, events, setUps }, T0 + 50 * S);
    assert.deepEqual(
      timeline.setUps.map(({ isCut, isOver, endedAt }) => [isCut, isOver, (endedAt - T0) / S]),
      [
        [true, true, 22],
        [false, false, 50],
      ],
    );
    const text = renderTimeline('train', timeline, lookOf({ isTTY: false }, {})).join('\n');
    assert.match(text, /set-up of attempt 1: 12s on 2 hosts, cut short; /);
    assert.match(text, /set-up of attempt 2: 10s on 2 hosts, not over yet; /);
  });

  it('says how long each host waited for the last one, and which module was tried again', () => {
    const [setUp] = timelineOf(FACTS, T0 + 999 * S).setUps;
    assert.deepEqual(
      setUp?.hosts.map(({ host, waitedMs, modules }) => [host, waitedMs, modules.map(({ module }) => module)]),
      [
        [0, 6 * S, ['ssh', 'venv']],
        [1, 0, ['ssh', 'venv']],
      ],
    );
    assert.deepEqual(
      setUp?.hosts.flatMap(({ modules }) => modules.map(({ outcome, tries }) => [outcome, tries])),
      [
        ['unchanged', 1],
        ['done', 1],
        ['done', 1],
        ['done', 3],
      ],
    );
  });

  it('what goes on ends now', () => {
    const { endedAt: _, ...open } = SET_UP;
    const running = { ...open, steps: [step(0, 'ssh', 10, undefined)] };
    const facts = { submittedAt: T0, events: FACTS.events.slice(0, 4), setUps: [{ attempt: 1, record: running }] };
    const timeline = timelineOf(facts, T0 + 15 * S);
    assert.deepEqual(
      [timeline.endedAt, timeline.phases.at(-1)?.endedAt, timeline.setUps[0]?.hosts[0]?.modules[0]?.outcome],
      [T0 + 15 * S, T0 + 15 * S, 'running'],
    );
  });

  it('is drawn in the width of the terminal: a line a phase and a host, letters for modules', () => {
    const look = lookOf({ isTTY: true, columns: 80 }, { NO_COLOR: '1', LANG: 'C' });
    const lines = renderTimeline('train-7f3k', timelineOf(FACTS, T0), look);
    assert.ok(
      lines.slice(0, 6).every((line) => textWidth(line) <= 80),
      lines.join('\n'),
    );
    const barOf = (word: string): string => lines.find((line) => line.startsWith(`  ${word}`)) ?? '';
    assert.match(barOf('running'), /running +38s +#{10,}/);
    assert.match(barOf('host 0'), /host 0 +4s  s+v+\.+$/);
    assert.match(barOf('host 1'), /host 1 +10s  s+v+$/);
    assert.ok(
      lines.includes(
        'set-up of attempt 1: 10s on 2 hosts; host 1 was the last, 6s after the first (venv: 8s, step install, 3 tries)',
      ),
    );
    assert.equal(lines.at(-1), '  s ssh   v venv   . waits for the last host   ! failed');
  });

  it('of hundreds of hosts the slowest are drawn, and modules of one letter get two', () => {
    const steps = Array.from({ length: 64 }, (_, host) => [
      step(host, 'conda', 10, 11),
      step(host, 'copy', 11, 12 + host / 10),
    ]).flat();
    const facts = { ...FACTS, setUps: [{ attempt: 1, record: { ...SET_UP, hosts: 64, steps } }] };
    const lines = renderTimeline('a', timelineOf(facts, T0), lookOf({}, {}));
    assert.deepEqual(lines.filter((line) => line.startsWith('  host ')).length, 16);
    assert.ok(lines.some((line) => line.startsWith('  host 63')) && !lines.some((line) => line.startsWith('  host 0')));
    assert.match(lines.at(-2) ?? '', /\.\. 48 hosts more/);
    assert.match(lines.at(-1) ?? '', /^ {2}c conda {3}o copy/);
  });
});
