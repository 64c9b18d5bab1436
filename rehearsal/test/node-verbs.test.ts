import assert from 'node:assert/strict';
import { nodeName, PureCloud, ZONE } from './pure-cloud.js';
import { inTurn, NODE_STATES, preempted, second, SECOND } from './stages.js';
import type { Step } from './stages.js';

const create: Step = (c) => void c.create('a');
const ready = inTurn(create, second);
const spot = { schedulingConfig: { spot: true } };

describe('a node', () => {
  it('is never READY before its VMs answer, also when it starts again', () => {
    const c = new PureCloud(SECOND);
    c.isBooting = false;
    create(c);
    assert.equal(c.step(60_000).nodeState('a'), 'CREATING');
    assert.equal(c.boot().nodeState('a'), 'READY');
    c.cloud.stopNode(nodeName('a'));
    c.step(1000);
    c.cloud.startNode(nodeName('a'));
    assert.equal(c.step(60_000).nodeState('a'), 'STARTING');
    assert.equal(c.boot().nodeState('a'), 'READY');
  });

  it('keeps id, addresses and names of its hosts over a stop and a start, and gives its chips back between', () => {
    const c = new PureCloud({ ...SECOND, capacity: { [`${ZONE}/v5litepod`]: 8 } });
    ready(c);
    const { resource, hosts } = c.node('a');
    assert.match(c.outcome(c.create('b')), /^8 There is no more capacity/);
    c.cloud.stopNode(nodeName('a'));
    c.step(1000);
    c.create('b');
    c.step(1000);
    assert.match(
      c.outcome(c.cloud.startNode(nodeName('a'))),
      /^8 There is no more capacity in the zone "us-central1-a"/,
    );
    assert.equal(c.nodeState('a'), 'STOPPED');
    c.cloud.deleteNode(nodeName('b'));
    c.step(1000);
    c.cloud.startNode(nodeName('a'));
    c.step(1000);
    assert.deepEqual([c.node('a').resource.id, c.node('a').hosts], [resource.id, hosts]);
    assert.equal(c.nodeState('a'), 'READY');
  });

  const refusals: Readonly<Record<string, (c: PureCloud) => unknown>> = {
    stop: (c) => c.cloud.stopNode(nodeName('a')),
    start: (c) => c.cloud.startNode(nodeName('a')),
    update: (c) => c.cloud.updateNode(nodeName('a'), { labels: {} }, ['labels']),
    performMaintenance: (c) => c.cloud.performMaintenance(nodeName('a')),
    simulateMaintenanceEvent: (c) => c.cloud.simulateMaintenanceEvent(nodeName('a'), []),
  };
  const allowed: Readonly<Record<string, readonly string[]>> = {
    ...{ stop: ['READY'], start: ['STOPPED'], update: ['READY', 'STOPPED', 'REPAIRING'] },
    ...{ performMaintenance: ['READY'], simulateMaintenanceEvent: ['READY'] },
  };
  for (const [verb, call] of Object.entries(refusals)) {
    it(`takes ${verb} while it is ${allowed[verb]?.join(' or ')}, and in no other state`, () => {
      for (const state of [...NODE_STATES, 'DELETING' as const]) {
        const c = new PureCloud(SECOND);
        ready(c);
        c.cloud.force(c.node('a'), state);
        const text = `Cloud TPU received a bad request. ${verb} is not supported while in state ${state} [EID: 0x1bc8f9d790be9142]`;
        if (allowed[verb]?.includes(state) === true) call(c);
        else assert.throws(() => call(c), { code: 3, message: text });
      }
    });
  }

  const unstoppable: Readonly<Record<string, (c: PureCloud) => void>> = {
    'a Spot node': (c) => void c.create('a', spot),
    'a slice of several hosts': (c) => void c.create('a', { acceleratorType: 'v5litepod-16' }),
    'a node of a queued resource': (c) => void (c.queue('a', { spot: undefined }), c.step(1000).step(1000)),
  };
  for (const [what, make] of Object.entries(unstoppable)) {
    it(`cannot be stopped if it is ${what}`, () => {
      const c = new PureCloud(SECOND);
      make(c);
      c.step(1000);
      assert.equal(c.nodeState('a'), 'READY');
      assert.throws(() => c.cloud.stopNode(nodeName('a')), { code: 3, message: /stop is not supported for/ });
    });
  }
});

describe('an update of a node', () => {
  it('is there when its operation ends, replaces a map whole and takes a field away', () => {
    const c = new PureCloud(SECOND);
    c.create('a', {
      metadata: { 'ssh-keys': 'x', other: 'y' },
      description: 'old',
      networkConfig: { network: 'mine' },
    });
    c.step(1000);
    const changes = { metadata: { 'ssh-keys': 'z' }, networkConfig: { enableExternalIps: true }, tags: ['no'] };
    const mask = ['metadata', 'description', 'networkConfig.enableExternalIps'];
    const operation = c.cloud.updateNode(nodeName('a'), changes, mask);
    assert.deepEqual([c.outcome(operation), c.node('a').resource['description']], ['open', 'old']);
    c.step(1000);
    const { metadata, description, networkConfig, tags } = c.node('a').resource;
    assert.deepEqual(
      [c.outcome(operation), metadata, description, tags],
      ['ok', { 'ssh-keys': 'z' }, undefined, undefined],
    );
    assert.deepEqual(networkConfig, { network: 'mine', subnetwork: 'default', enableExternalIps: true });
    const told = c.events.findLast(({ kind }) => kind === 'node-change');
    assert.deepEqual(told?.details['resource'], c.node('a').resource);
  });

  it('is refused beside another, and goes down with its node', () => {
    const c = new PureCloud(SECOND);
    ready(c);
    const first = c.cloud.updateNode(nodeName('a'), { labels: { a: '1' } }, ['labels']);
    assert.throws(() => c.cloud.updateNode(nodeName('a'), { labels: { a: '2' } }, ['labels']), {
      code: 10,
      message: 'unable to queue the operation',
    });
    preempted(c);
    assert.equal(c.outcome(first), '10 The node was preempted.');
    assert.deepEqual(c.step(1000).node('a').resource['labels'], {});
  });
});
