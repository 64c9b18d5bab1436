import assert from 'node:assert/strict';
import type { JobEvent } from '../../domain/job-events/event.js';
import { JobStory, type StoryCarry } from '../../workflows/job/story.js';

const T0 = Date.UTC(2026, 10, 22);

describe("a job's story from run to run", () => {
  const old = { at: T0, text: 'queued: waits for quota of project vision' };
  const event: JobEvent = { at: T0 + 1, phase: 'running', kind: 'running', facts: { attempt: 1, hosts: 4, zone: 'z' } };
  const carry: StoryCarry = { phase: 'running', phaseSince: T0 + 1, events: [old, event] };

  it('has the events of a run from before there were kinds, and their sentences', () => {
    const story = new JobStory(carry);
    const note = { at: T0, kind: 'note', facts: { text: old.text } };
    assert.deepEqual(story.view().events, [
      { ...note, text: old.text },
      { ...event, text: 'running: attempt 1 on 4 hosts in z' },
    ]);
    assert.deepEqual(JSON.parse(JSON.stringify(story.carry())), { ...carry, events: [note, event] });
  });

  it('keeps the first event and the last ones, and carries no sentence', () => {
    const story = new JobStory(carry);
    for (let attempt = 1; attempt <= 250; attempt++) story.note({ kind: 'edited', facts: { attempt } });
    const { events } = story.carry();
    assert.deepEqual(
      [events.length, events[0], events.at(-1)].map((each) => (typeof each === 'object' ? { ...each, at: 0 } : each)),
      [200, { at: 0, kind: 'note', facts: { text: old.text } }, { at: 0, kind: 'edited', facts: { attempt: 250 } }],
    );
  });
});
