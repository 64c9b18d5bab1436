import assert from 'node:assert/strict';
import type { Settings } from '../tpu/settings.js';
import { nodeName, PureCloud, requestName, START, ZONE } from './pure-cloud.js';
import { randomStory } from './seeded-calls.js';
import {
  active,
  inTurn,
  preempted,
  provisioning,
  queued,
  remove,
  second,
  SECOND,
  suspended,
  suspending,
  waiting,
} from './stages.js';

/** A state of `a` and the way there, on a cloud where each phase lasts a second. */
interface Transition {
  readonly settings?: Partial<Settings>;
  /** Up to the moment before. */
  readonly given: (cloud: PureCloud) => void;
  readonly from: string;
  readonly cause: (cloud: PureCloud) => void;
  readonly to: string;
  /** QueuedResourceState as GetQueuedResource shows it; undefined: it is gone. */
  readonly shown: object | undefined;
}

const NONE_LEFT = { capacity: { [`${ZONE}/v5litepod`]: 0 } };
const EXPIRED = `The queued resource ${requestName('a')} was not fulfilled before its deadline.`;
const QUOTA = `Quota 'TPUV5LITEsPreemptiblePodPerProjectPerRegionForTPUAPI' exhausted. Limit 0 in region us-central1`;
const NO_QUOTA: Partial<Settings> = { quota: { [`*/${ZONE}/v5litepod/spot`]: 0 }, quotaRefusal: 'failed' };

const giveUp = (c: PureCloud): void => {
  const record = c.request('a');
  assert.ok(record && c.cloud.giveUp(record, { code: 13, message: 'stalled' }));
};
const sendBack = (c: PureCloud): void => {
  const record = c.request('a');
  assert.ok(record && c.cloud.sendBack(record));
};
const deleting = { state: 'DELETING', deletingData: {}, stateInitiator: 'USER' };
const failed = (code: number, message: string): object => {
  return { state: 'FAILED', failedData: { error: { code, message } }, stateInitiator: 'SERVICE' };
};

const TRANSITIONS: Readonly<Record<string, Transition>> = {
  'a create call': {
    given: () => undefined,
    ...{ from: 'gone', cause: queued, to: 'CREATING' },
    shown: { state: 'CREATING', creatingData: {}, stateInitiator: 'USER' },
  },
  'its admission to the queue': {
    given: queued,
    ...{ from: 'CREATING', cause: second, to: 'WAITING_FOR_RESOURCES' },
    shown: { state: 'WAITING_FOR_RESOURCES', stateInitiator: 'SERVICE' },
  },
  'its admission, before 2024': {
    settings: { queuedState: 'ACCEPTED' },
    given: queued,
    ...{ from: 'CREATING', cause: second, to: 'ACCEPTED' },
    shown: { state: 'ACCEPTED', acceptedData: {}, stateInitiator: 'SERVICE' },
  },
  'no quota left': {
    settings: NO_QUOTA,
    given: queued,
    ...{ from: 'CREATING', cause: second, to: 'FAILED', shown: failed(8, QUOTA) },
  },
  'its turn': {
    given: waiting,
    ...{ from: 'WAITING_FOR_RESOURCES', cause: second, to: 'PROVISIONING' },
    shown: { state: 'PROVISIONING', provisioningData: {}, stateInitiator: 'SERVICE' },
  },
  'its turn, before 2024': {
    settings: { queuedState: 'ACCEPTED' },
    given: waiting,
    ...{ from: 'ACCEPTED', cause: second, to: 'PROVISIONING' },
    shown: { state: 'PROVISIONING', provisioningData: {}, stateInitiator: 'SERVICE' },
  },
  valid_until_duration: {
    settings: NONE_LEFT,
    given: (c) => void (c.queue('a', { queueingPolicy: { validUntilDuration: '3600s' } }), c.step(3_599_999)),
    ...{ from: 'WAITING_FOR_RESOURCES', cause: (c) => void c.step(1), to: 'FAILED', shown: failed(4, EXPIRED) },
  },
  'valid_until_time, before 2024': {
    settings: { ...NONE_LEFT, queuedState: 'ACCEPTED' },
    given: (c) => {
      c.queue('a', { queueingPolicy: { validUntilTime: new Date(START + 60_000).toISOString() } });
      c.step(59_999);
    },
    ...{ from: 'ACCEPTED', cause: (c) => void c.step(1), to: 'FAILED', shown: failed(4, EXPIRED) },
  },
  'the end of its valid_interval': {
    settings: NONE_LEFT,
    given: (c) => {
      const [startTime, endTime] = [START + 30_000, START + 60_000].map((at) => new Date(at).toISOString());
      c.queue('a', { queueingPolicy: { validInterval: { startTime: startTime ?? '', endTime: endTime ?? '' } } });
      c.step(59_999);
    },
    ...{ from: 'WAITING_FOR_RESOURCES', cause: (c) => void c.step(1), to: 'FAILED', shown: failed(4, EXPIRED) },
  },
  valid_after_time: {
    given: (c) => {
      c.queue('a', { queueingPolicy: { validAfterTime: new Date(START + 60_000).toISOString() } });
      c.step(59_999);
    },
    ...{ from: 'WAITING_FOR_RESOURCES', cause: (c) => void c.step(1), to: 'PROVISIONING' },
    shown: { state: 'PROVISIONING', provisioningData: {}, stateInitiator: 'SERVICE' },
  },
  'the end of a Flex-start run': {
    given: (c) => {
      c.queue('a', { spot: undefined, provisioningModel: 'FLEX_START', runDuration: { maxRunDuration: '3600s' } });
      while (c.stateOf('a') !== 'ACTIVE') c.step(100);
      c.step(3_599_999);
      assert.equal(c.nodeState('a'), 'READY');
    },
    ...{ from: 'ACTIVE', cause: (c) => void c.step(1), to: 'SUSPENDING' },
    shown: { state: 'SUSPENDING', suspendingData: {}, stateInitiator: 'SERVICE' },
  },
  'a service that gives up while it waits': {
    given: waiting,
    ...{ from: 'WAITING_FOR_RESOURCES', cause: giveUp, to: 'FAILED', shown: failed(13, 'stalled') },
  },
  'chips that are taken before its nodes are there': {
    given: provisioning,
    ...{ from: 'PROVISIONING', cause: sendBack, to: 'WAITING_FOR_RESOURCES' },
    shown: { state: 'WAITING_FOR_RESOURCES', stateInitiator: 'SERVICE' },
  },
  'chips for one that was sent back': {
    given: (c) => {
      provisioning(c);
      sendBack(c);
      assert.throws(() => c.node('a'), 'its nodes went');
    },
    ...{ from: 'WAITING_FOR_RESOURCES', cause: second, to: 'PROVISIONING' },
    shown: { state: 'PROVISIONING', provisioningData: {}, stateInitiator: 'SERVICE' },
  },
  'the last of its nodes READY': {
    given: provisioning,
    ...{ from: 'PROVISIONING', cause: second, to: 'ACTIVE' },
    shown: { state: 'ACTIVE', activeData: {}, stateInitiator: 'SERVICE' },
  },
  'a node that cannot be made': {
    settings: { bootFailures: [{ nameMatches: '/a$' }] },
    given: provisioning,
    ...{ from: 'PROVISIONING', cause: second, to: 'FAILED' },
    shown: failed(13, 'an internal error has occurred'),
  },
  'a service that gives up on a stalled one': {
    given: provisioning,
    ...{ from: 'PROVISIONING', cause: giveUp, to: 'SUSPENDING' },
    shown: { state: 'SUSPENDING', suspendingData: {}, stateInitiator: 'SERVICE' },
  },
  '.. which then FAILED': {
    given: inTurn(provisioning, giveUp),
    ...{ from: 'SUSPENDING', cause: second, to: 'FAILED', shown: failed(13, 'stalled') },
  },
  'a preemption while it is provisioned': {
    given: provisioning,
    ...{ from: 'PROVISIONING', cause: preempted, to: 'SUSPENDING' },
    shown: { state: 'SUSPENDING', suspendingData: {}, stateInitiator: 'SERVICE' },
  },
  'a preemption': {
    given: active,
    ...{ from: 'ACTIVE', cause: preempted, to: 'SUSPENDING' },
    shown: { state: 'SUSPENDING', suspendingData: {}, stateInitiator: 'SERVICE' },
  },
  'a node that vanishes': {
    given: active,
    ...{ from: 'ACTIVE', cause: (c) => c.cloud.preempt(c.node('a'), 'vanish'), to: 'SUSPENDING' },
    shown: { state: 'SUSPENDING', suspendingData: {}, stateInitiator: 'SERVICE' },
  },
  'the deletion of its node': {
    given: active,
    ...{ from: 'ACTIVE', cause: (c) => void c.cloud.deleteNode(nodeName('a')), to: 'SUSPENDING' },
    shown: { state: 'SUSPENDING', suspendingData: {}, stateInitiator: 'USER' },
  },
  'the end of suspending, by the service': {
    given: suspending,
    ...{ from: 'SUSPENDING', cause: second, to: 'SUSPENDED' },
    shown: { state: 'SUSPENDED', suspendedData: {}, stateInitiator: 'SERVICE' },
  },
  'the end of suspending, by the user': {
    given: (c) => void (active(c), c.cloud.deleteNode(nodeName('a'))),
    ...{ from: 'SUSPENDING', cause: second, to: 'SUSPENDED' },
    shown: { state: 'SUSPENDED', suspendedData: {}, stateInitiator: 'USER' },
  },
  'a deletion while it waits': {
    given: waiting,
    ...{ from: 'WAITING_FOR_RESOURCES', cause: remove(false), to: 'DELETING', shown: deleting },
  },
  'a deletion while it waits, before 2024': {
    settings: { queuedState: 'ACCEPTED' },
    given: waiting,
    ...{ from: 'ACCEPTED', cause: remove(false), to: 'DELETING', shown: deleting },
  },
  'a deletion of a SUSPENDED one': {
    given: suspended,
    ...{ from: 'SUSPENDED', cause: remove(false), to: 'DELETING', shown: deleting },
  },
  'a deletion of a FAILED one': {
    given: inTurn(waiting, giveUp),
    ...{ from: 'FAILED', cause: remove(false), to: 'DELETING', shown: deleting },
  },
  'force, at once': { given: queued, from: 'CREATING', cause: remove(true), to: 'DELETING', shown: deleting },
  'force, while it is provisioned': {
    given: provisioning,
    ...{ from: 'PROVISIONING', cause: remove(true), to: 'DELETING', shown: deleting },
  },
  'force, while it is ACTIVE': {
    given: active,
    ...{ from: 'ACTIVE', cause: remove(true), to: 'DELETING', shown: deleting },
  },
  'force, while it is suspended': {
    given: suspending,
    ...{ from: 'SUSPENDING', cause: remove(true), to: 'DELETING', shown: deleting },
  },
  'the end of its deletion': {
    given: inTurn(waiting, remove(false)),
    ...{ from: 'DELETING', cause: second, to: 'gone', shown: undefined },
  },
};

describe('a queued resource’s transitions', () => {
  for (const [name, { settings, given, from, cause, to, shown }] of Object.entries(TRANSITIONS)) {
    it(`${from} -> ${to}: ${name}`, () => {
      const c = new PureCloud({ ...SECOND, ...settings });
      given(c);
      assert.equal(c.stateOf('a'), from);
      const before = c.events.length;
      cause(c);
      const told = c.events
        .slice(before)
        .find(({ kind, subject }) => kind === 'queued-resource-state' && subject === requestName('a'));
      const was = from === 'gone' ? 'absent' : from;
      assert.deepEqual([told?.details['from'], told?.details['to'], told?.details['chips']], [was, to, 8]);
      const resource = c.request('a')?.resource;
      assert.deepEqual(resource?.state, shown);
      // What the journal says of it is what the API says of it.
      assert.deepEqual(told?.details['resource'], resource);
    });
  }

  it('are no more than these, whatever is called when', () => {
    const known = new Set(
      Object.values(TRANSITIONS).map(({ from, to }) => `${from === 'gone' ? 'absent' : from} ${to}`),
    );
    const seen = new Set<string>();
    for (let seed = 1; seed <= 60; seed += 1) {
      const events = randomStory(seed, { ...SECOND, quotaRefusal: 'failed' });
      for (const { kind, details } of events) {
        if (kind === 'queued-resource-state') seen.add(`${String(details['from'])} ${String(details['to'])}`);
      }
    }
    assert.deepEqual(
      [...seen].filter((edge) => !known.has(edge)),
      [],
    );
    assert.ok(seen.size > 15, `the stories came by ${seen.size} transitions only`);
  });

  it('never bring back one that was suspended', () => {
    const c = new PureCloud(SECOND);
    suspended(c);
    assert.equal(c.settle().stateOf('a'), 'SUSPENDED');
  });
});
