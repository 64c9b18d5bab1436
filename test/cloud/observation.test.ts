import assert from 'node:assert/strict';
import { protos } from '@google-cloud/tpu';
import { observedNode, observedQueuedResource, pathParts } from '../../cloud/machines/cloud-tpu/observation.js';
import { labelsOf } from '../../domain/identity.js';
import { ownership } from './cloud-tpu-plan.js';

const SHAPE = 'wanted projects/P/locations/ZONE/KIND/NAME';

/** An enum of the generated code, without its value for what was not said. */
const named = <T extends number>(of: Readonly<Record<string, T | string>>): readonly [string, T][] =>
  Object.entries(of).filter((entry): entry is [string, T] => typeof entry[1] === 'number' && entry[1] !== 0);

describe('a node as observed', () => {
  it('has its state by name, whether the client gave a name or a number', () => {
    assert.equal(observedNode({ state: 'PREEMPTED', health: 'UNHEALTHY_MAINTENANCE' }).state, 'PREEMPTED');
    const decoded = observedNode({ state: 11, health: 5 });
    assert.deepEqual([decoded.state, decoded.health], ['PREEMPTED', 'UNHEALTHY_MAINTENANCE']);
  });

  it('has the name that Google’s own client gives the number', () => {
    const { Health, State } = protos.google.cloud.tpu.v2.Node;
    for (const [name, number] of named(State)) assert.equal(observedNode({ state: number }).state, name);
    for (const [name, number] of named(Health)) assert.equal(observedNode({ health: number }).health, name);
    assert.equal(observedNode({ health: 0 }).health, '');
  });

  it('has a state that was not said as no state that we know', () =>
    assert.equal(observedNode({}).state, 'STATE_UNSPECIFIED'));

  it('has what was said of its health, and whose it is, and nothing that was not said', () => {
    const node = { id: '7', health: 'TIMEOUT', healthDescription: 'slow', labels: labelsOf(ownership()) } as const;
    const more = { state: 'STATE_UNSPECIFIED', hosts: [] };
    const wanted = { nodeId: '7', health: 'TIMEOUT', healthDescription: 'slow', ownership: ownership() };
    assert.deepEqual(observedNode(node), { ...more, ...wanted });
    assert.deepEqual(observedNode({}), { ...more, nodeId: '', health: '' });
  });

  it('has a state of later times as it came', () => assert.equal(observedNode({ state: 77 as never }).state, '77'));

  it('has no health where none was said', () => {
    assert.equal(observedNode({ health: 'HEALTH_UNSPECIFIED' }).health, '');
    assert.equal(observedNode({}).health, '');
  });

  it('keeps the index of a host when another one has no address yet', () => {
    const networkEndpoints = [{ ipAddress: '' }, { ipAddress: '10.0.0.2', accessConfig: { externalIp: '1.2.3.4' } }];
    assert.deepEqual(observedNode({ networkEndpoints }).hosts, [
      { reach: 'ssh' as const, index: 1, internalIp: '10.0.0.2', externalIp: '1.2.3.4' },
    ]);
  });

  it('has as many hosts as its type, whatever addresses there are', () => {
    assert.equal(observedNode({ acceleratorType: 'v5litepod-16' }).hostCount, 4);
    assert.equal(observedNode({ acceleratorType: 'v99-8' }).hostCount, undefined);
  });

  it('keeps an id above 2^53 exact', () => {
    assert.equal(observedNode({ id: '4611686018427387905' }).nodeId, '4611686018427387905');
  });
});

describe('a queued resource as observed', () => {
  it("is whose its first node's labels say", () => {
    const labelled = { tpu: { nodeSpec: [{ node: { labels: labelsOf(ownership()) } }] } };
    assert.deepEqual(observedQueuedResource(labelled).ownership, ownership());
    for (const tpu of [{ nodeSpec: [{ node: {} }] }, { nodeSpec: [{}] }, { nodeSpec: [] }, {}, null])
      assert.equal(observedQueuedResource({ tpu }).ownership, undefined);
  });

  it('says why it failed', () => {
    const late = { createTime: { seconds: '100' }, queueingPolicy: { validUntilDuration: { seconds: 20 } } };
    assert.equal(observedQueuedResource(late).validUntil, 120_000);
    assert.equal(observedQueuedResource({ queueingPolicy: { validUntilTime: { seconds: 7 } } }).validUntil, 7000);
    const failed = { state: { state: 'FAILED' as const, failedData: { error: { code: 8, message: 'no chips' } } } };
    assert.deepEqual(observedQueuedResource(failed), { state: 'FAILED', error: { code: 8, message: 'no chips' } });
    const silent = { state: { state: 'FAILED' as const, failedData: { error: {} } } };
    assert.deepEqual(observedQueuedResource(silent).error, { code: 0, message: '' });
  });

  it('has the name that Google’s own client gives the number of its state', () => {
    for (const [name, number] of named(protos.google.cloud.tpu.v2.QueuedResourceState.State))
      assert.equal(observedQueuedResource({ state: { state: number } }).state, name);
  });
});

it('a resource name of another shape is a fault, not a resource', () => {
  assert.deepEqual(pathParts('projects/p/locations/z/nodes/n'), { googleProject: 'p', zone: 'z', name: 'n' });
  const wrong = ['project/p/locations/z/nodes/n', 'projects/p/zones/z/nodes/n', 'projects//locations/z/nodes/n'];
  for (const path of [...wrong, 'projects/p/locations//nodes/n', 'projects/p/locations/z/nodes/', 'nodes/n', undefined])
    assert.throws(() => pathParts(path), new TypeError(`Cloud TPU named a resource '${path}': ${SHAPE}`));
});
