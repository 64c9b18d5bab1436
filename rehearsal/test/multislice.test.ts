import assert from 'node:assert/strict';
import { nodeBody, nodeName, PARENT, PureCloud, requestName, ZONE } from './pure-cloud.js';

const POOL = `${ZONE}/v5litepod`;

function specIds(c: PureCloud, id: string): readonly string[] {
  const tpu = c.request(id)?.resource['tpu'] as { readonly nodeSpec: readonly { readonly nodeId: string }[] };
  return tpu.nodeSpec.map((spec) => spec.nodeId);
}

describe('a multislice', () => {
  it('is one node spec per node from the start, named by the prefix, or by the request', () => {
    const c = new PureCloud();
    const multisliceParams = { nodeCount: 3, nodeIdPrefix: 'part' };
    const tpu = { nodeSpec: [{ parent: PARENT, multisliceParams, node: nodeBody() }] };
    c.cloud.createQueuedResource(PARENT, 'a', { tpu });
    c.queue('b', { count: 2 });
    assert.deepEqual(
      [specIds(c, 'a'), specIds(c, 'b')],
      [
        ['part-0', 'part-1', 'part-2'],
        ['b-0', 'b-1'],
      ],
    );
    assert.equal(c.request('a')?.chips, 24);
    c.step(1000);
    assert.equal(c.node('part-2').resource['multisliceNode'], true);
    assert.equal(c.node('b-1').resource.queuedResource, requestName('b'));
  });

  it('is granted whole or not at all', () => {
    const c = new PureCloud({ capacity: { [POOL]: 16 } });
    c.create('other');
    c.queue('a', { count: 2 });
    c.step(1000);
    assert.deepEqual(
      [c.stateOf('a'), c.nodeState('a-0'), c.nodeState('a-1')],
      ['WAITING_FOR_RESOURCES', 'gone', 'gone'],
    );
    c.cloud.deleteNode(nodeName('other'));
    c.step(1000).step(1000);
    assert.deepEqual([c.stateOf('a'), c.nodeState('a-0'), c.nodeState('a-1')], ['ACTIVE', 'READY', 'READY']);
  });

  it('is ACTIVE when the last of its nodes is READY', () => {
    const c = new PureCloud();
    c.isBooting = false;
    c.queue('a', { count: 2 });
    c.step(1000);
    c.cloud.markBooted(nodeName('a-0'), c.node('a-0').resource.id);
    c.step(1000);
    assert.deepEqual([c.stateOf('a'), c.nodeState('a-0'), c.nodeState('a-1')], ['PROVISIONING', 'READY', 'CREATING']);
    assert.equal(c.boot().stateOf('a'), 'ACTIVE');
  });

  for (const [othersOnPreemption, left] of [
    ['kept', 'READY'],
    ['preempted', 'PREEMPTED'],
  ] as const) {
    it(`that loses one node is suspended, its others are ${othersOnPreemption}`, () => {
      const c = new PureCloud({ othersOnPreemption });
      c.queue('a', { count: 3 });
      c.step(1000);
      c.cloud.preempt(c.node('a-1'), 'preempted');
      c.step(1000);
      assert.equal(c.stateOf('a'), 'SUSPENDED');
      assert.deepEqual(
        ['a-0', 'a-1', 'a-2'].map((id) => c.nodeState(id)),
        [left, 'PREEMPTED', left],
      );
    });
  }

  it('of which one node cannot be made FAILED, and leaves no node', () => {
    const c = new PureCloud({ bootFailures: [{ nameMatches: 'a-1$', message: 'no such disk' }] });
    c.queue('a', { count: 2 });
    c.step(1000);
    assert.deepEqual([c.stateOf('a'), c.nodeState('a-0'), c.nodeState('a-1')], ['FAILED', 'gone', 'gone']);
    assert.equal(c.cloud.records.usage.capacityInUse(POOL), 0);
  });

  it('is deleted by force with all its nodes, and gone when the last of them is', () => {
    const c = new PureCloud();
    c.queue('a', { count: 2 });
    c.step(1000);
    c.cloud.state.holds = [{ state: 'DELETING', nameMatches: 'a-1$' }];
    c.cloud.deleteQueuedResource(requestName('a'), true);
    c.step(60_000);
    assert.deepEqual([c.stateOf('a'), c.nodeState('a-0'), c.nodeState('a-1')], ['DELETING', 'gone', 'DELETING']);
    c.cloud.state.holds = [];
    assert.deepEqual([c.step().stateOf('a'), c.nodeState('a-1')], ['gone', 'gone']);
  });

  it('is refused while one of its names is taken, and with a count that is none', () => {
    const c = new PureCloud();
    c.create('a-1');
    assert.throws(() => c.queue('a', { count: 2 }), {
      code: 6,
      message: `Resource '${nodeName('a-1')}' already exists`,
    });
    for (const nodeCount of [1, 0, -1, 1.5, '2']) {
      const tpu = { nodeSpec: [{ parent: PARENT, multisliceParams: { nodeCount }, node: nodeBody() }] };
      assert.throws(() => c.cloud.createQueuedResource(PARENT, 'b', { tpu }), {
        code: 3,
        message: /node_count must be greater than 1/,
      });
    }
  });

  for (const [acceleratorType, isTaken] of [
    ['v2-8', false],
    ['v3-32', false],
    ['v4-8', true],
  ] as const)
    it(`of ${acceleratorType} is ${isTaken ? 'taken' : 'refused in a text that says nothing of it'}`, () => {
      const c = new PureCloud();
      const queue = () => c.queue('a', { count: 2, node: { acceleratorType } });
      if (isTaken) return void queue();
      assert.throws(queue, { code: 3, message: /^Cloud TPU was unable to complete the operation\. Please try again/ });
    });

  it('is reset whole: one operation, which answers with the request', () => {
    const c = new PureCloud();
    c.queue('a', { count: 2 });
    c.step(1000);
    const operation = c.cloud.resetQueuedResource(requestName('a'));
    assert.deepEqual(
      [c.nodeState('a-0'), c.nodeState('a-1'), c.outcome(operation)],
      ['RESTARTING', 'RESTARTING', 'open'],
    );
    c.step(1000);
    assert.deepEqual([c.nodeState('a-0'), c.nodeState('a-1'), c.outcome(operation)], ['READY', 'READY', 'ok']);
    assert.equal(c.cloud.state.operations[operation.name]?.result?.type, 'QueuedResource');
    c.cloud.preempt(c.node('a-0'), 'preempted');
    assert.throws(() => c.cloud.resetQueuedResource(requestName('a')), {
      code: 9,
      message: 'ResetQueuedResource is not supported when state is SUSPENDING (must be one of [ACTIVE])',
    });
  });
});
