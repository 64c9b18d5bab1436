import assert from 'node:assert/strict';
import { type JobEvent, eventText, readEvent, shownEvent } from '../../domain/job-events/event.js';
import { type Told, toldText, withReaction } from '../../domain/job-events/kinds.js';
import { TOLD } from './told-events.js';

const AT = Date.UTC(2026, 10, 22, 7, 14, 20, 700);
const STOPPED = { kind: 'stopped', facts: { by: 'alice', from: 'wks-12', isRelease: false } } as const;

describe("an event of a job's life has a kind and facts", () => {
  for (const [told, text] of TOLD)
    it(`${told.kind}: ${text}`, () => {
      assert.equal(toldText(told), text);
      // As it is carried, stored and shown.
      assert.equal(toldText(JSON.parse(JSON.stringify(told)) as Told), text);
    });

  const reactions = [
    [{ do: 'retry', budget: 'preemption', used: 1, of: 20 }, '; trying again (1 of 20)'],
    [{ do: 'loop', at: Date.UTC(2026, 10, 22, 9, 10) }, '; loop: it starts again at 2026-11-22 09:10:00 UTC'],
    [{ do: 'save', seconds: 30 }, '; its command has 30 s to save'],
    [{ do: 'save' }, '; its command has ended already'],
    [{ do: 'end-set-up' }, '; its set-up is ended'],
  ] as const;
  for (const [then, text] of reactions)
    it(`and what the job does about it: ${text}`, () =>
      assert.equal(toldText(withReaction(STOPPED, then)), `alice on wks-12 stopped it${text}`));

  it('is little larger than its sentence was: 200 of them are carried, stored and shown', () => {
    const bytes = (value: object): number => JSON.stringify({ at: AT, ...value }).length;
    const all = TOLD.map(([told, text]) => ({
      old: bytes({ text: `running: ${text}` }),
      now: bytes({ phase: 'running', ...told }),
    }));
    for (const [at, { old, now }] of all.entries()) assert.ok(now <= old + 128, `${TOLD[at]?.[1]}: ${old} -> ${now}`);
    const sum = (of: 'old' | 'now'): number => all.reduce((total, each) => total + each[of], 0);
    assert.ok(sum('now') < 1.3 * sum('old'), `${sum('old')} -> ${sum('now')} bytes`);
  });

  it('stands after its phase, and between the other reasons of it', () => {
    const event = { at: AT, phase: 'running', kind: 'store-trouble', facts: { what: '503' } } as const;
    assert.equal(eventText(event), 'running: 503');
    assert.equal(
      eventText({ ...event, before: 'attempt 1', after: 'host 2 is silent' }),
      'running: attempt 1; 503; host 2 is silent',
    );
    const over = { ...event, facts: { isOver: true }, before: 'attempt 1' } as const;
    assert.deepEqual(shownEvent(over), { ...over, text: 'running: attempt 1' });
  });

  it('an event from before there were kinds is read as it is', () => {
    const old = { at: AT, text: 'queued: waits for quota' };
    assert.deepEqual(readEvent(old), { at: AT, kind: 'note', facts: { text: old.text } });
    assert.equal(eventText(readEvent(old)), old.text);
    const event: JobEvent = { at: AT, kind: 'submitted', facts: {} };
    assert.equal(readEvent(event), event);
  });

  it('a kind of a later version is named, and breaks nothing', () => {
    const later = { at: AT, phase: 'running', kind: 'thawed', facts: { at: 1 } } as unknown as JobEvent;
    assert.equal(eventText(later), 'running: thawed');
  });
});
