import assert from 'node:assert/strict';
import { KINDS, type EventKind, type Told } from '../../domain/job-events/kinds.js';
import {
  BASTION_EVENTS,
  BY_NAME_ALONE,
  isEnd,
  isTold,
  NEVER_TOLD,
  TOPIC_WORDS,
  TOPICS,
} from '../../domain/job-events/topics.js';
import { resolveJob } from '../../domain/job-file/resolve.js';
import { quotedWords, tableRows } from '../docs/tables.js';
import { TOLD } from './told-events.js';

const kinds = Object.keys(KINDS) as EventKind[];
const ofTopics: readonly (readonly [string, readonly EventKind[]])[] = Object.entries(TOPICS).map(([name, topic]) => [
  name,
  topic.kinds,
]);
const told = (kind: EventKind): readonly Told[] => TOLD.flatMap(([event]) => (event.kind === kind ? [event] : []));
const problemsOf = (on: string) => {
  const file = { tpu: { accelerator: 'v5litepod-16', zone: 'us-central1-a' }, command: { run: 'true' } };
  const resolved = resolveJob({ ...file, notify: { on: [on], to: { mail: ['ann@example.com'] } } });
  return resolved.ok ? [] : resolved.problems;
};
const topicsOf = (event: Told): readonly string[] =>
  ofTopics.flatMap(([name]) => (isTold([name], event) ? [name] : []));

describe('topics of notify', () => {
  it('have each kind of event in a topic, or in one list of those that have none', () => {
    const listed = [...new Set(ofTopics.flatMap(([, of]) => of)), ...BY_NAME_ALONE, ...NEVER_TOLD];
    assert.deepEqual([...listed].sort(), [...kinds].sort());
  });

  it('include the kind of their own name, and each word is one topic or one kind', () => {
    for (const [name, of] of ofTopics)
      if ((kinds as readonly string[]).includes(name)) assert.ok(of.includes(name as EventKind), name);
    assert.equal(new Set(TOPIC_WORDS).size, TOPIC_WORDS.length);
    assert.deepEqual(
      TOPIC_WORDS.filter((word) => (NEVER_TOLD as readonly string[]).includes(word)),
      [],
    );
  });

  it('have a word for each event that Bastion publishes, and an error that says it', () => {
    // JobLifecycleState of AXLearn's bastion.py.
    const published =
      'CANCELLING CLEANING COMPLETED FAILED PREEMPTING QUEUED RESCHEDULING RUNNING STARTING SUCCEEDED UPDATING';
    assert.deepEqual(Object.keys(BASTION_EVENTS).sort(), published.split(' '));
    for (const [event, word] of Object.entries(BASTION_EVENTS)) {
      assert.ok(TOPIC_WORDS.includes(word), word);
      const [problem] = problemsOf(event);
      assert.match(problem?.hint ?? '', new RegExp(`^what Bastion calls ${event} is ${word} here`));
      assert.deepEqual(problemsOf(word), []);
    }
    assert.doesNotMatch(problemsOf('toString')[0]?.hint ?? '', /Bastion/);
  });

  it('are those that docs/notify.md explains, in its words', () =>
    assert.deepEqual(
      tableRows('docs/notify.md', '| topic |'),
      Object.entries(TOPICS).map(([name, { when }]) => [`\`${name}\``, when]),
    ));

  it('and docs/contract.md has each kind in its table of events', () => {
    const documented = tableRows('docs/contract.md', '| kind | when |').flatMap(([cell]) => quotedWords(cell));
    assert.deepEqual(documented.toSorted(), kinds.toSorted());
  });

  it('a kind by its own name is told, and never one that nobody is told of', () => {
    for (const kind of kinds) {
      const isNever = (NEVER_TOLD as readonly string[]).includes(kind);
      for (const event of told(kind))
        assert.equal(isTold([kind], event), !isNever && !('isOver' in event.facts), JSON.stringify(event));
    }
  });

  it('the trouble that is over is told to nobody', () => {
    const over = TOLD.flatMap(([event]) => ('isOver' in event.facts ? [event] : []));
    assert.ok(over.length > 3);
    for (const event of over) assert.deepEqual(topicsOf(event), []);
  });

  it('a wait after a refusal is of the refusal, and what is tried again is of retried, whatever the cause', () => {
    const cause = {
      kind: 'refused',
      facts: { slice: 0, zone: 'z', provider: 'p', scope: 'zone', message: 'm' },
    } as const;
    assert.deepEqual(topicsOf({ kind: 'backoff', facts: { after: cause, zone: 'z' } }), ['refused']);
    const reaction = { do: 'retry', budget: 'preemption', used: 1, of: 20 } as const;
    assert.deepEqual(topicsOf({ kind: 'preempted', facts: { slice: 0, message: 'm', reaction } }), [
      'preempted',
      'retried',
    ]);
    const at = { host: 0, code: 75 };
    assert.deepEqual(topicsOf({ kind: 'exited', facts: { ...at, reaction } }), ['retried']);
    assert.deepEqual(topicsOf({ kind: 'exited', facts: at }), []);
  });

  it('a job that keeps its slices has ended when its outcome is known', () => {
    const [event] = told('holding');
    assert.ok(event !== undefined && isEnd(event));
    assert.deepEqual(topicsOf(event), ['succeeded', 'ended']);
  });
});
