import assert from 'node:assert/strict';
import type { JsonObject } from '../json.js';
import { capacityOfNode, quotaOfNode, quotaOfRequest } from '../tpu/capacity.js';
import { readScheduling, tierOf } from '../tpu/requests.js';
import { nodeName, PureCloud, requestName, ZONE } from './pure-cloud.js';
import { randomCloud } from './seeded-calls.js';

const POOL = `${ZONE}/v5litepod`;
const EID = '[EID: 0x1bc8f9d790be9142]';
const spot = { schedulingConfig: { spot: true } };
const reserved = { schedulingConfig: { reserved: true } };

describe('the tier of a request', () => {
  const tiers: Readonly<Record<string, readonly [node: JsonObject, request: JsonObject, tier: string]>> = {
    'nothing said': [{}, {}, 'on-demand'],
    'a spot request': [{}, { spot: {} }, 'spot'],
    'a best effort request (v2alpha1)': [{}, { bestEffort: {} }, 'spot'],
    'a spot node': [spot, {}, 'spot'],
    'a preemptible node': [{ schedulingConfig: { preemptible: true } }, {}, 'spot'],
    'a guaranteed request': [{}, { guaranteed: {} }, 'on-demand'],
    'a guaranteed request that is reserved (v2alpha1)': [{}, { guaranteed: { reserved: true } }, 'reserved'],
    'a request with a reservation': [{}, { reservationName: 'projects/p/locations/z/reservations/-' }, 'reserved'],
    'a reserved node': [reserved, {}, 'reserved'],
  };
  for (const [name, [node, request, tier]] of Object.entries(tiers)) {
    it(`is ${tier}: ${name}`, () => assert.equal(tierOf(readScheduling(node, request)), tier));
  }
});

describe('capacity', () => {
  it('of a tier is its own, and that of the generation is shared by all', () => {
    const c = new PureCloud({ capacity: { [POOL]: 24, [`${POOL}/spot`]: 8 } });
    const outcomes = [
      c.create('spot-1', spot),
      c.create('spot-2', spot),
      c.create('demand-1'),
      c.create('demand-2', reserved),
      c.create('demand-3'),
    ].map((operation) => c.outcome(operation).slice(0, 12));
    assert.deepEqual(outcomes, ['open', '8 There is n', 'open', 'open', '8 There is n']);
  });

  it('that is reserved and used up has an error of its own, and is listed as a reservation', () => {
    const c = new PureCloud({ capacity: { [`${POOL}/reserved`]: 8 } });
    c.create('first', reserved);
    const text = 'Insufficient reserved capacity. Contact customer support to increase your reservation.';
    assert.equal(c.outcome(c.create('second', reserved)), `8 ${text} ${EID}`);
    const [reservation, ...others] = c.cloud.listReservations(`projects/p/locations/${ZONE}`);
    const standard = { size: 8, capacityUnits: 'CHIPS', resourceType: 'v5litepod', usage: { total: '8' } };
    assert.deepEqual(reservation?.['standard'], standard);
    assert.deepEqual([others, c.cloud.listReservations('projects/p/locations/us-east1-d')], [[], []]);
  });

  it('is given in the order of the queue, and to a later one where only that fits', () => {
    const c = new PureCloud({ capacity: { [POOL]: 16 } });
    c.create('big', { acceleratorType: 'v5litepod-16' });
    c.step(1000);
    c.queue('first', { node: { acceleratorType: 'v5litepod-16' } });
    c.step(10);
    for (const id of ['second', 'third', 'fourth']) void (c.queue(id), c.step(10));
    assert.equal(c.stateOf('second'), 'WAITING_FOR_RESOURCES');
    c.cloud.configure({ capacity: { [POOL]: 24 } });
    c.step();
    assert.deepEqual(
      ['first', 'second', 'third'].map((id) => c.stateOf(id)),
      ['WAITING_FOR_RESOURCES', 'PROVISIONING', 'WAITING_FOR_RESOURCES'],
    );
    c.cloud.deleteNode(nodeName('big'));
    c.step(1000);
    assert.deepEqual(
      ['first', 'third', 'fourth'].map((id) => c.stateOf(id)),
      ['ACTIVE', 'WAITING_FOR_RESOURCES', 'WAITING_FOR_RESOURCES'],
    );
  });

  it('that was taken away throws nobody out, and nobody gets any', () => {
    const c = new PureCloud();
    c.queue('a');
    c.step(1000);
    c.cloud.configure({ capacity: { [POOL]: 0 } });
    c.queue('b');
    c.settle();
    assert.deepEqual([c.stateOf('a'), c.stateOf('b')], ['ACTIVE', 'WAITING_FOR_RESOURCES']);
  });
});

describe('quota', () => {
  const key = `p/${ZONE}/v5litepod/spot`;
  const over = (limit: number): string =>
    `Quota 'TPUV5LITEsPreemptiblePodPerProjectPerRegionForTPUAPI' exhausted. Limit ${limit} in region us-central1`;

  it('is held by a request in every state, SUSPENDED and FAILED too, until it is gone', () => {
    const c = new PureCloud({ quota: { [key]: 16 }, capacity: { [POOL]: 8 } });
    c.queue('preempted');
    c.step(1000);
    c.queue('failed', { queueingPolicy: { validUntilDuration: '1s' } });
    c.step(2000);
    c.cloud.preempt(c.node('preempted'), 'vanish');
    c.step(1000);
    assert.deepEqual([c.stateOf('preempted'), c.stateOf('failed')], ['SUSPENDED', 'FAILED']);
    assert.throws(() => c.queue('next'), { code: 8, message: over(16) });
    assert.equal(c.request('next'), undefined);
    c.cloud.deleteQueuedResource(requestName('failed'), false);
    assert.throws(() => c.queue('next'), { code: 8 });
    c.step(1000);
    c.queue('next');
  });

  it('is held by a node that nobody queued, stopped or preempted too, and by a husk that its request left', () => {
    const c = new PureCloud({ quota: { [key]: 8, [`p/${ZONE}/v5litepod/on-demand`]: 8 } });
    c.create('stopped');
    c.step(1000);
    c.cloud.stopNode(nodeName('stopped'));
    c.step(1000);
    assert.throws(() => c.create('next'), { code: 8, message: /^Quota 'TPUV5LITEsPodPerProject/ });
    c.queue('a');
    c.step(1000);
    c.cloud.preempt(c.node('a'), 'preempted');
    c.step(1000);
    c.cloud.deleteQueuedResource(requestName('a'), false);
    c.step(1000);
    assert.equal(c.nodeState('a'), 'PREEMPTED');
    assert.throws(() => c.queue('b'), { code: 8, message: over(8) });
    c.cloud.deleteNode(nodeName('a'));
    c.step(1000);
    c.queue('b');
  });

  it('of a project that is named is its own; * is the limit of each other one', () => {
    const c = new PureCloud({ quota: { [`*/${ZONE}/v5litepod/on-demand`]: 8, [`p/${ZONE}/v5litepod/on-demand`]: 16 } });
    c.create('a');
    c.create('b');
    assert.throws(() => c.create('c'), { code: 8, message: /Limit 16/ });
    const other = `projects/q/locations/${ZONE}`;
    const node = { acceleratorType: 'v5litepod-8', runtimeVersion: 'x' };
    c.cloud.createNode(other, 'a', node);
    assert.throws(() => c.cloud.createNode(other, 'b', node), { code: 8, message: /Limit 8/ });
  });

  it('that is over may make a request that FAILED, which holds none of it', () => {
    const c = new PureCloud({ quota: { [key]: 8 }, quotaRefusal: 'failed' });
    c.queue('a', { count: 2 });
    c.step(1000);
    const state = { state: 'FAILED', failedData: { error: { code: 8, message: over(8) } }, stateInitiator: 'SERVICE' };
    assert.deepEqual(c.request('a')?.resource.state, state);
    c.queue('b');
    assert.equal(c.step(1000).stateOf('b'), 'ACTIVE');
  });
});

describe('external addresses', () => {
  const external = { acceleratorType: 'v5litepod-16', networkConfig: { enableExternalIps: true } };
  const message = "Quota 'IN_USE_ADDRESSES' exceeded. IN_USE_ADDRESSES limit: 8.0";

  it('that a region has not enough of fail a request when its turn comes, and a node in its operation', () => {
    const c = new PureCloud({ addresses: { 'us-central1': 8 }, queueMs: 60_000 });
    for (const id of ['a', 'b', 'over']) c.queue(id, { node: external });
    c.queue('inside', { node: { acceleratorType: 'v5litepod-16' } });
    c.step();
    assert.equal(c.stateOf('over'), 'WAITING_FOR_RESOURCES');
    c.step(60_000).step(1000);
    assert.deepEqual(
      ['a', 'b', 'inside'].map((id) => c.stateOf(id)),
      ['ACTIVE', 'ACTIVE', 'ACTIVE'],
    );
    const state = { state: 'FAILED', failedData: { error: { code: 8, message } }, stateInitiator: 'SERVICE' };
    assert.deepEqual(c.request('over')?.resource.state, state);
    assert.equal(c.outcome(c.create('node', external)), `8 ${message}`);
    c.cloud.preempt(c.node('a'), 'preempted');
    assert.equal(c.outcome(c.create('node', external)), 'open');
  });
});

describe('what is counted as in use', () => {
  it('is what a count of every resource says, after any story', () => {
    for (let seed = 1; seed <= 60; seed += 1) {
      const { cloud } = randomCloud(seed);
      const nodes = Object.values(cloud.state.nodes);
      const requests = Object.values(cloud.state.queuedResources);
      const sum = (chips: readonly number[]): number => chips.reduce((total, each) => total + each, 0);
      assert.equal(cloud.records.usage.capacityInUse(POOL), sum(nodes.map(capacityOfNode)), `seed ${seed}`);
      for (const tier of ['spot', 'on-demand'] as const) {
        const held = [
          ...requests.filter((record) => record.tier === tier).map(quotaOfRequest),
          ...nodes.filter((node) => node.tier === tier).map((node) => quotaOfNode(node, cloud.state)),
        ];
        assert.equal(cloud.records.usage.quotaInUse(`p/${ZONE}/v5litepod/${tier}`), sum(held), `seed ${seed} ${tier}`);
      }
    }
  });
});
