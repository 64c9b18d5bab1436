import assert from 'node:assert/strict';
import fc from 'fast-check';
import { TpuCloud } from '../tpu/cloud.js';
import { ApiError } from '../tpu/api-error.js';
import { isDone } from '../tpu/operations.js';
import { DEFAULT_SETTINGS } from '../tpu/settings.js';
import { emptyState } from '../tpu/state.js';
import { Random } from '../random.js';

const PARENT = 'projects/p/locations/us-central1-a';
const CAPACITY = 16;

/** The state machine alone: a clock that the test moves, no wire, VMs that boot when told. */
function bareCloud(tickPerLook = 0): {
  readonly cloud: TpuCloud;
  readonly clock: { now: number };
  readonly seen: string[];
} {
  const clock = { now: 1_000_000 };
  const seen: string[] = [];
  const now = (): number => (clock.now += tickPerLook);
  const state = emptyState({ ...DEFAULT_SETTINGS, capacity: { 'us-central1-a/v5litepod': CAPACITY } });
  const record = (kind: string, subject: string, details: Readonly<Record<string, unknown>>): void => {
    seen.push(`${kind} ${subject.slice(subject.lastIndexOf('/') + 1)} ${String(details['to'])}`);
  };
  return {
    cloud: new TpuCloud(state, { now, random: new Random(state.random), subnetOctet: 77, record }),
    clock,
    seen,
  };
}

function request(nodeId: string, more: object = {}): Record<string, never> {
  const node = { acceleratorType: 'v5litepod-8', runtimeVersion: 'any' };
  return { tpu: { nodeSpec: [{ parent: PARENT, nodeId, node }] }, ...more } as unknown as Record<string, never>;
}

function bootAll(cloud: TpuCloud): void {
  for (const { resource } of Object.values(cloud.state.nodes)) cloud.markBooted(resource.name, resource.id);
}

describe('the rehearsal’s state machine', () => {
  it('tells every time at which something comes due, on a clock that never stands still', () => {
    const { cloud, clock } = bareCloud(1);
    cloud.createQueuedResource(PARENT, 'a', request('a'));
    for (
      let steps = 0;
      cloud.state.queuedResources[`${PARENT}/queuedResources/a`]?.resource.state.state !== 'ACTIVE';
      steps += 1
    ) {
      assert.ok(steps < 20, 'it stopped on its way');
      const due = cloud.lifecycle.advance();
      bootAll(cloud);
      if (due !== undefined) clock.now = Math.max(clock.now, due);
    }
  });

  it('makes no node READY before its VMs answer', () => {
    const { cloud, clock } = bareCloud();
    cloud.createNode(PARENT, 'a', { acceleratorType: 'v5litepod-8', runtimeVersion: 'any' });
    clock.now += 60_000;
    cloud.lifecycle.advance();
    assert.equal(cloud.getNode(`${PARENT}/nodes/a`).state, 'CREATING');
    bootAll(cloud);
    cloud.lifecycle.advance();
    assert.equal(cloud.getNode(`${PARENT}/nodes/a`).state, 'READY');
  });

  it('fails a request that still waits at its deadline, and keeps it', () => {
    const { cloud, clock } = bareCloud();
    cloud.state.holds = [{ state: 'WAITING_FOR_RESOURCES', nameMatches: undefined }];
    cloud.createQueuedResource(PARENT, 'late', request('late', { queueingPolicy: { validUntilDuration: '60s' } }));
    assert.equal(cloud.lifecycle.advance(), clock.now + 60_000);
    clock.now += 60_000;
    cloud.lifecycle.advance();
    const { state } = cloud.getQueuedResource(`${PARENT}/queuedResources/late`);
    assert.equal(state.state, 'FAILED');
    cloud.deleteQueuedResource(`${PARENT}/queuedResources/late`, false);
  });

  it('fails a node whose VM cannot be booted, its operation and its request', () => {
    const { cloud } = bareCloud();
    cloud.createQueuedResource(PARENT, 'broken', request('broken'));
    cloud.lifecycle.advance();
    const { id, name } = cloud.getNode(`${PARENT}/nodes/broken`);
    cloud.markBootFailed(name, id, new Error('no disk'));
    assert.equal(cloud.getQueuedResource(`${PARENT}/queuedResources/broken`).state.state, 'FAILED');
    assert.throws(() => cloud.getNode(name), ApiError);
  });

  it('keeps what a request carries and nobody here knows', () => {
    const { cloud } = bareCloud();
    cloud.createNode(PARENT, 'a', { acceleratorType: 'v5litepod-8', runtimeVersion: 'any', provisioningModel: 'SPOT' });
    assert.equal(cloud.getNode(`${PARENT}/nodes/a`)['provisioningModel'], 'SPOT');
  });

  it('never hands out more chips than there are or one address twice, and settles after any calls', () => {
    let full = 0;
    const ids = fc.constantFrom('a', 'b', 'c', 'd');
    const call = fc.oneof(
      ...['queue', 'node', 'delete', 'delete-node', 'force', 'preempt', 'vanish'].map((verb) =>
        fc.tuple(fc.constant(verb), ids),
      ),
      fc.tuple(fc.constant('wait'), fc.integer({ min: 0, max: 500 })),
      fc.tuple(fc.constant('boot'), ids),
    );
    const property = fc.property(fc.array(call, { minLength: 5, maxLength: 60 }), (calls) => {
      const { cloud, clock } = bareCloud();
      for (const [verb, argument] of calls) {
        if (verb === 'wait') clock.now += Number(argument);
        else perform(cloud, verb, String(argument));
        cloud.lifecycle.advance();
        full += checkSafety(cloud);
      }
      settle(cloud, clock);
    });
    fc.assert(property, { numRuns: 300 });
    // The pool was full in so many looks: the property has seen what it is about.
    assert.ok(full > 100, `only ${full} looks at a full zone`);
  });
});

function perform(cloud: TpuCloud, verb: string, id: string): void {
  const [queued, node] = [`${PARENT}/queuedResources/${id}`, `${PARENT}/nodes/${id}`];
  const verbs: Record<string, () => unknown> = {
    queue: () => cloud.createQueuedResource(PARENT, id, request(id)),
    node: () => cloud.createNode(PARENT, id, { acceleratorType: 'v5litepod-8', runtimeVersion: 'any' }),
    delete: () => cloud.deleteQueuedResource(queued, false),
    force: () => cloud.deleteQueuedResource(queued, true),
    'delete-node': () => cloud.deleteNode(node),
    preempt: () => preempt(cloud, node, 'preempted'),
    vanish: () => preempt(cloud, node, 'vanish'),
    boot: () => bootAll(cloud),
  };
  try {
    verbs[verb]?.();
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
  }
}

function preempt(cloud: TpuCloud, name: string, mode: 'preempted' | 'vanish'): void {
  const node = cloud.state.nodes[name];
  if (node?.resource.state === 'READY' || node?.resource.state === 'CREATING') cloud.preempt(node, mode);
}

/** @returns 1 if the zone is full. */
function checkSafety(cloud: TpuCloud): number {
  const nodes = Object.values(cloud.state.nodes);
  const held = nodes.filter((node) => !node.isReclaimed);
  const chips = held.reduce((sum, node) => sum + node.chips, 0);
  assert.ok(chips <= CAPACITY, `${chips} chips of ${CAPACITY}`);
  const addresses = nodes.flatMap((node) => node.hosts.map((host) => host.address));
  assert.equal(new Set(addresses).size, addresses.length);
  for (const { resource, nodes: made } of Object.values(cloud.state.queuedResources)) {
    if (resource.state.state !== 'ACTIVE') continue;
    for (const name of made) assert.equal(cloud.state.nodes[name]?.resource.state, 'READY');
  }
  return chips === CAPACITY ? 1 : 0;
}

/** With all deleted, time alone leaves nothing, and no operation without an end. */
function settle(cloud: TpuCloud, clock: { now: number }): void {
  for (const name of Object.keys(cloud.state.queuedResources)) cloud.deleteQueuedResource(name, true);
  for (const name of Object.keys(cloud.state.nodes)) cloud.deleteNode(name);
  for (let steps = 0; steps < 5; steps += 1) {
    clock.now += 1000;
    cloud.lifecycle.advance();
  }
  assert.deepEqual([Object.keys(cloud.state.queuedResources), Object.keys(cloud.state.nodes)], [[], []]);
  assert.deepEqual(
    Object.values(cloud.state.operations).filter((operation) => !isDone(operation)),
    [],
  );
}
