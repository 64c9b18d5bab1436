import assert from 'node:assert/strict';
import type { Settings } from '../tpu/settings.js';
import { nodeName, PureCloud, requestName } from './pure-cloud.js';
import { randomStory } from './seeded-calls.js';
import { active, inTurn, NODE_STATES as STATES, preempted, second, SECOND } from './stages.js';

/** A state of node `a` and the way there, on a cloud where each phase lasts a second. */
interface Transition {
  readonly settings?: Partial<Settings>;
  readonly given: (cloud: PureCloud) => void;
  readonly from: string;
  readonly cause: (cloud: PureCloud) => void;
  readonly to: string;
  /** Health as GetNode shows it; none: the node is gone. */
  readonly health?: string;
}

const create = (c: PureCloud): void => void c.create('a');
const ready = (c: PureCloud): void => void (create(c), c.step(1000));
const stopping = (c: PureCloud): void => void (ready(c), c.cloud.stopNode(nodeName('a')));
const stopped = (c: PureCloud): void => void (stopping(c), c.step(1000));
const starting = (c: PureCloud): void => void (stopped(c), c.cloud.startNode(nodeName('a')));
const repairing = (c: PureCloud): void => void (ready(c), c.cloud.performMaintenance(nodeName('a')));
const restarting = (c: PureCloud): void => {
  active(c);
  c.cloud.resetQueuedResource(requestName('a'));
};
const vanish = (c: PureCloud): void => c.cloud.preempt(c.node('a'), 'vanish');
const remove = (c: PureCloud): void => void c.cloud.deleteNode(nodeName('a'));
const announce = (c: PureCloud): void => c.cloud.maintenance.announcePreemption(c.node('a'), 300_000);
const DAY = 86_400_000;

const TRANSITIONS: Readonly<Record<string, Transition>> = {
  'a create call': { given: () => undefined, from: 'gone', cause: create, to: 'CREATING', health: 'HEALTHY' },
  'VMs that answer, in their time': { given: create, from: 'CREATING', cause: second, to: 'READY', health: 'HEALTHY' },
  'a boot that comes to nothing': {
    settings: { bootFailures: [{}] },
    given: create,
    ...{ from: 'CREATING', cause: second, to: 'gone' },
  },
  'a preemption before it was ready': {
    given: create,
    ...{ from: 'CREATING', cause: preempted, to: 'PREEMPTED', health: 'HEALTHY' },
  },
  'a preemption without a word': { given: ready, from: 'READY', cause: preempted, to: 'PREEMPTED', health: 'HEALTHY' },
  'a preemption that leaves no trace': { given: ready, from: 'READY', cause: vanish, to: 'gone' },
  'a preemption five minutes after its notice': {
    given: inTurn(ready, announce, (c) => void c.step(299_999)),
    from: 'READY',
    cause: (c) => void c.step(1),
    ...{ to: 'PREEMPTED', health: 'UNHEALTHY_MAINTENANCE' },
  },
  'the age of a preemptible node': {
    given: (c) => {
      c.create('a', { schedulingConfig: { preemptible: true } });
      c.step(1000).step(DAY - 1001);
    },
    from: 'READY',
    cause: (c) => void c.step(1),
    ...{ to: 'PREEMPTED', health: 'HEALTHY' },
  },
  StopNode: {
    given: ready,
    from: 'READY',
    cause: (c) => void c.cloud.stopNode(nodeName('a')),
    ...{ to: 'STOPPING', health: 'HEALTHY' },
  },
  'the end of StopNode': { given: stopping, from: 'STOPPING', cause: second, to: 'STOPPED', health: 'HEALTHY' },
  StartNode: {
    given: stopped,
    from: 'STOPPED',
    cause: (c) => void c.cloud.startNode(nodeName('a')),
    ...{ to: 'STARTING', health: 'HEALTHY' },
  },
  'the end of StartNode': { given: starting, from: 'STARTING', cause: second, to: 'READY', health: 'HEALTHY' },
  'a preemption while it starts': {
    given: starting,
    ...{ from: 'STARTING', cause: preempted, to: 'PREEMPTED', health: 'HEALTHY' },
  },
  'a start that leaves no trace': { given: starting, from: 'STARTING', cause: vanish, to: 'gone' },
  PerformMaintenance: {
    given: ready,
    from: 'READY',
    cause: (c) => void c.cloud.performMaintenance(nodeName('a')),
    ...{ to: 'REPAIRING', health: 'HEALTHY' },
  },
  'the end of maintenance': { given: repairing, from: 'REPAIRING', cause: second, to: 'READY', health: 'HEALTHY' },
  'a preemption during maintenance': {
    given: repairing,
    ...{ from: 'REPAIRING', cause: preempted, to: 'PREEMPTED', health: 'HEALTHY' },
  },
  ResetQueuedResource: {
    given: active,
    from: 'READY',
    cause: (c) => void c.cloud.resetQueuedResource(requestName('a')),
    ...{ to: 'RESTARTING', health: 'HEALTHY' },
  },
  'the end of a reset': { given: restarting, from: 'RESTARTING', cause: second, to: 'READY', health: 'HEALTHY' },
  'a preemption during a reset': {
    given: restarting,
    ...{ from: 'RESTARTING', cause: preempted, to: 'PREEMPTED', health: 'HEALTHY' },
  },
  'the end of its deletion': {
    given: inTurn(ready, remove),
    ...{ from: 'DELETING', cause: second, to: 'gone' },
  },
};

describe('a node’s transitions', () => {
  for (const [name, { settings, given, from, cause, to, health }] of Object.entries(TRANSITIONS)) {
    it(`${from} -> ${to}: ${name}`, () => {
      const c = new PureCloud({ ...SECOND, ...settings });
      given(c);
      assert.equal(c.nodeState('a'), from);
      const before = c.events.length;
      cause(c);
      const told = c.events
        .slice(before)
        .find(({ kind, subject }) => kind === 'node-state' && subject === nodeName('a'));
      const was = from === 'gone' ? 'absent' : from;
      assert.deepEqual([told?.details['from'], told?.details['to'], told?.details['chips']], [was, to, 8]);
      const resource = c.cloud.state.nodes[nodeName('a')]?.resource;
      assert.deepEqual([resource?.state, resource?.health], to === 'gone' ? [undefined, undefined] : [to, health]);
      assert.deepEqual(told?.details['resource'], resource);
    });
  }

  for (const state of STATES) {
    it(`${state} -> DELETING: DeleteNode, and a second one joins it`, () => {
      const c = new PureCloud(SECOND);
      ready(c);
      c.cloud.force(c.node('a'), state);
      const both = [c.cloud.deleteNode(nodeName('a')), c.cloud.deleteNode(nodeName('a'))];
      assert.equal(c.nodeState('a'), 'DELETING');
      c.step(1000);
      assert.equal(c.nodeState('a'), 'gone');
      assert.deepEqual(
        both.map((operation) => c.outcome(operation)),
        ['ok', 'ok'],
      );
    });
  }

  for (const state of ['REIMAGING', 'TERMINATED', 'HIDING', 'HIDDEN', 'UNHIDING', 'UNKNOWN'] as const) {
    it(`READY -> ${state}: from behind alone, and no time leaves it`, () => {
      const c = new PureCloud(SECOND);
      ready(c);
      c.cloud.force(c.node('a'), state, { health: 'TIMEOUT' });
      c.settle();
      assert.deepEqual([c.nodeState('a'), c.node('a').resource.health], [state, 'TIMEOUT']);
    });
  }

  it('are no more than these, whatever is called when', () => {
    const known = new Set(
      Object.values(TRANSITIONS).map(({ from, to }) => `${from === 'gone' ? 'absent' : from} ${to}`),
    );
    const seen = new Set<string>();
    for (let seed = 1; seed <= 60; seed += 1) {
      for (const { kind, details } of randomStory(seed, SECOND)) {
        if (kind === 'node-state') seen.add(`${String(details['from'])} ${String(details['to'])}`);
      }
    }
    const isKnown = (edge: string): boolean => known.has(edge) || STATES.some((state) => edge === `${state} DELETING`);
    assert.deepEqual(
      [...seen].filter((edge) => !isKnown(edge)),
      [],
    );
    assert.ok(seen.size > 15, `the stories came by ${seen.size} transitions only`);
  });
});
