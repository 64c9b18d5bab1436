import assert from 'node:assert/strict';
import proto from '@temporalio/proto';
import type { Change } from '../../contract/changes.js';
import { HistoryFacts } from './history-facts.js';
import { kindsOf } from './kinds.js';
import { markersMissing } from './markers.js';

type Event = proto.temporal.api.history.v1.IHistoryEvent;
const { TIMEOUT_TYPE_HEARTBEAT, TIMEOUT_TYPE_SCHEDULE_TO_START } = proto.temporal.api.enums.v1.TimeoutType;

const json = (value: unknown) => ({
  payloads: [{ metadata: { encoding: Buffer.from('json/plain') }, data: Buffer.from(JSON.stringify(value)) }],
});

/** As the SDK reads it from the server: numbers of events are 64 bits wide. */
function history(name: string, input: unknown, events: readonly Event[] = []): HistoryFacts {
  const started = { workflowExecutionStartedEventAttributes: { workflowType: { name }, input: json(input) } };
  const numbered = [started, ...events].map((event, index) => ({ ...event, eventId: index + 1 }));
  const { History } = proto.temporal.api.history.v1;
  return new HistoryFacts(History.decode(History.encode(History.fromObject({ events: numbered })).finish()));
}

const scheduled = (name: string): Event => ({ activityTaskScheduledEventAttributes: { activityType: { name } } });
const marker = (id: string): Event => ({
  markerRecordedEventAttributes: { markerName: 'core_patch', details: { 'patch-data': json({ id }) } },
});

describe('what a recorded history shows', () => {
  const timedOut = (timeoutType: number): Event =>
    ({
      activityTaskTimedOutEventAttributes: { scheduledEventId: 2, failure: { timeoutFailureInfo: { timeoutType } } },
    }) as unknown as Event;
  const cases: Record<string, { of: HistoryFacts; shows: string; not?: true }> = {
    'a supervision whose heartbeats stopped is a lost worker': {
      of: history('job', {}, [scheduled('superviseAttempt'), timedOut(TIMEOUT_TYPE_HEARTBEAT)]),
      shows: 'job: lost its worker',
    },
    'a supervision that nobody took is none': {
      of: history('job', {}, [scheduled('superviseAttempt'), timedOut(TIMEOUT_TYPE_SCHEDULE_TO_START)]),
      shows: 'job: lost its worker',
      not: true,
    },
    'another activity whose heartbeats stopped is none': {
      of: history('job', {}, [scheduled('setUpHosts'), timedOut(TIMEOUT_TYPE_HEARTBEAT)]),
      shows: 'job: lost its worker',
      not: true,
    },
    'slices in two zones are the next zone': {
      of: history(
        'job',
        {},
        ['a', 'b'].map((zone) => ({
          startChildWorkflowExecutionInitiatedEventAttributes: { input: json({ task: { plan: { ref: { zone } } } }) },
        })),
      ),
      shows: 'job: in the next zone',
    },
    'a reclaimed slice says so in its input': {
      of: history('slice', { task: { kind: 'reclaim' } }),
      shows: 'slice: reclaim',
    },
    'the same words in another workflow are nothing': {
      of: history('job', { task: { kind: 'reclaim' } }),
      shows: 'slice: reclaim',
      not: true,
    },
  };
  for (const [name, { of, shows, not }] of Object.entries(cases))
    it(name, () => assert.equal(kindsOf(of).includes(shows), !not, kindsOf(of).join(', ')));

  it('a change has to be carried by a history of each workflow that it changes', () => {
    const changes: Record<string, Change> = {
      x: { what: 'a timer', since: '1.0.0', workflows: ['job', 'quota'], phase: 'known' },
    };
    const job = history('job', {}, [marker('x')]);
    assert.deepEqual(markersMissing(changes, [job, history('quota', {}, [marker('y')])]), [
      "no history of quota carries the marker of change 'x'",
    ]);
    assert.deepEqual(markersMissing(changes, [job, history('quota', {}, [marker('x')])]), []);
  });
});
