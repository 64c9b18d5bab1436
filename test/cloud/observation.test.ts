import assert from 'node:assert/strict';
import { observedNode, observedQueuedResource, pathParts } from '../../cloud/machines/cloud-tpu/observation.js';
import { labelsOf } from '../../domain/identity.js';
import { ownership } from './cloud-tpu-plan.js';

describe('a node as observed', () => {
  it('has its state by name, whether the client gave a name or a number', () => {
    assert.equal(observedNode({ state: 'PREEMPTED', health: 'UNHEALTHY_MAINTENANCE' }).state, 'PREEMPTED');
    const decoded = observedNode({ state: 11, health: 5 });
    assert.deepEqual([decoded.state, decoded.health], ['PREEMPTED', 'UNHEALTHY_MAINTENANCE']);
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
    assert.equal(observedQueuedResource({ tpu: { nodeSpec: [{ node: {} }] } }).ownership, undefined);
  });

  it('says why it failed', () => {
    const failed = { state: { state: 'FAILED' as const, failedData: { error: { code: 8, message: 'no chips' } } } };
    assert.deepEqual(observedQueuedResource(failed), { state: 'FAILED', error: { code: 8, message: 'no chips' } });
  });

  it('knows WAITING_FOR_RESOURCES as number 9', () => {
    assert.equal(observedQueuedResource({ state: { state: 9 } }).state, 'WAITING_FOR_RESOURCES');
  });
});

it('a resource name of another shape is a fault, not a resource', () => {
  assert.deepEqual(pathParts('projects/p/locations/z/nodes/n'), { googleProject: 'p', zone: 'z', name: 'n' });
  assert.throws(() => pathParts('nodes/n'), /wanted projects\/P\/locations\/ZONE/);
});
