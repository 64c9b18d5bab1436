import assert from 'node:assert/strict';
import { renderBoard } from '../../cli/jobs/render-job-list.js';
import { renderJobStatus } from '../../cli/terminal/render/job-status.js';
import { lookOf } from '../../cli/terminal/render/look.js';
import { clockTime } from '../../cli/terminal/render/quantities.js';
import { untilSentence, untilText } from '../../cli/terminal/render/job-phrases.js';
import { askingOf, renderWaiting, renderWhy } from '../../cli/terminal/render/why.js';
import type { WhyWaiting } from '../../quota/explanation/why-waiting.js';
import type { JobView, ZoneAnswer, ZoneTurn } from '../../contract/job.js';
import { resolveJob } from '../../domain/job-file/resolve.js';
import { row, T0 } from './rows.js';

const MINUTE = 60_000;
const UNTIL = T0 + 95 * MINUTE;
const at = (ms: number): string => clockTime(ms, T0);
const resolved = resolveJob({ name: 'x', tpu: { accelerator: 'v6e-8', zones: ['us-east1-d', 'us-east5-a'] } });
assert.ok(resolved.ok);
const { spec } = resolved;

function shown(more: Partial<JobView>): Readonly<Record<'why' | 'status' | 'list', string>> {
  const waits = row({ phase: 'provisioning', attempts: 0, why: 'asking', waitsUntil: UNTIL });
  const view = { id: waits.id, spec, phase: 'provisioning', slices: [], events: [], ...more } as unknown as JobView;
  const nowhere = { bucket: undefined, uiUrl: undefined, namespace: undefined };
  const board = { groups: [], rows: [waits], total: 1, open: 1, phases: new Map(), places: { byJob: new Map() } };
  return {
    why: renderWhy(waits, view, T0).join('\n'),
    status: renderJobStatus(waits, { view }, nowhere, T0).join('\n'),
    list: renderBoard(board, T0, lookOf({ isTTY: false, columns: undefined } as never, {})).table.join('\n'),
  };
}

describe('how long a job waits, and for what', () => {
  it('is told by why, status and list: when timeouts.queue ends it', () => {
    const { why, status, list } = shown({});
    for (const text of [why, status])
      assert.ok(text.includes(`It waits until ${at(UNTIL)} at most, 1h 35m from now (timeouts.queue).`), text);
    assert.ok(list.includes(`until ${at(UNTIL)} at most: asking`), list);
  });

  it('is told by the minute in which the wait is over, and not by the one before', () => {
    for (const [seconds, minute] of [
      [1, 1],
      [59, 1],
      [60, 1],
      [61, 2],
    ] as const) {
      const waits = { waitsUntil: UNTIL + seconds * 1000 };
      assert.equal(untilText(waits, T0), `until ${at(UNTIL + minute * MINUTE)} at most`);
      assert.ok(untilSentence(waits, T0).startsWith(`It waits until ${at(UNTIL + minute * MINUTE)} at most, `));
    }
  });

  it('is told of a job in line too', () => {
    const why = { units: { v6e: 8 }, project: 'a', position: 0, of: 1, reasons: [], due: [] };
    const waiting = { why, pool: 'p', at: T0, hasTiers: false, remedies: [], admission: 'open' };
    const text = renderWaiting(row({ phase: 'queued', waitsUntil: UNTIL }), waiting as unknown as WhyWaiting, T0);
    assert.ok(text.includes(`It waits until ${at(UNTIL)} at most, 1h 35m from now (timeouts.queue).`), text.join('\n'));
  });

  it('is told by why and status: which zone comes next, and when', () => {
    const { why, status } = shown({ nextZone: { zone: 'us-east5-a', at: T0 + 20 * MINUTE } });
    const next = `If nothing comes before, us-east5-a is asked at ${at(T0 + 20 * MINUTE)}, in 20m.`;
    for (const text of [why, status]) assert.ok(text.includes(next), text);
    assert.ok(shown({ nextZone: { zone: 'us-east5-a', at: T0 } }).why.includes('us-east5-a is asked now.'));
  });

  const refusal: ZoneAnswer = { zone: 'us-east5-a', at: T0 - 3 * MINUTE, scope: 'zone', message: 'no capacity' };
  const TURNS: readonly (readonly [ZoneTurn, string])[] = [
    [{ againAt: T0 + 9 * MINUTE }, `, and is asked again at ${at(T0 + 9 * MINUTE)}, in 9m 00s: no capacity`],
    [{ againAt: T0 - 1 }, ', and is asked again now: no capacity'],
    [{ againAfter: 'us-east1-d' }, ', and has its next turn after us-east1-d: no capacity'],
    [{ isAsked: true }, ', and is asked again: no capacity'],
    [{}, ': no capacity'],
  ];
  for (const [turn, says] of TURNS)
    it(`is told of a zone that refused: ${JSON.stringify(turn)}`, () => {
      const answers = [{ ...refusal, ...turn }];
      const { why, status } = shown({ answers });
      for (const text of [why, status]) assert.ok(text.includes(`us-east5-a refused 3m 00s ago (zone)${says}`), text);
      const view = { spec, phase: 'provisioning', slices: [], answers, waitsUntil: UNTIL } as unknown as JobView;
      const told = askingOf(view, [], T0) as Pick<JobView, 'answers' | 'waitsUntil'>;
      assert.deepEqual([told.answers, told.waitsUntil], [answers, UNTIL]);
      assert.doesNotMatch(shown({ answers, phase: 'running' }).why, /refused/);
    });
});
