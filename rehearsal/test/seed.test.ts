import assert from 'node:assert/strict';
import { Random, seededState } from '../random.js';
import { nodeName, PureCloud, requestName } from './pure-cloud.js';
import { randomStory } from './seeded-calls.js';

describe('the seeded generator', () => {
  it('says what the published algorithm says', () => {
    // xoshiro128** 1.1 from the state 1, 2, 3, 4: the vector that the Rust crate rand_xoshiro took from the authors' C code.
    const random = new Random([1, 2, 3, 4]);
    const want = [11520, 0, 5927040, 70819200, 2031721883, 1637235492];
    assert.deepEqual(
      want.map(() => random.uint32()),
      want,
    );
  });

  it('goes on from its state, and has another story for another seed', () => {
    const state = seededState(42);
    const random = new Random(state);
    const first = [random.hex(13), random.integer(1, 6)];
    const rest = new Random([...state]);
    assert.deepEqual([random.uint32(), random.uint32()], [rest.uint32(), rest.uint32()]);
    const again = new Random(seededState(42));
    assert.deepEqual([again.hex(13), again.integer(1, 6)], first);
    assert.notEqual(new Random(seededState(43)).hex(13), first[0]);
  });

  it('draws every whole number of a range about equally often, and none beside', () => {
    const random = new Random(seededState(1));
    const counts = Array<number>(6).fill(0);
    for (let draws = 0; draws < 6000; draws += 1) {
      const drawn = random.integer(0, 5);
      counts[drawn] = (counts[drawn] ?? 0) + 1;
    }
    assert.ok(counts.length === 6 && counts.every((count) => count > 850 && count < 1150), counts.join(' '));
  });
});

describe('two clouds of one seed', () => {
  it('tell the same story word for word, ids and all; one of another seed does not', () => {
    const settings = { queueMs: { min: 0, max: 5000 }, provisioningMs: { min: 100, max: 900 } };
    assert.deepEqual(randomStory(5, settings), randomStory(5, settings));
    assert.notDeepEqual(randomStory(5, settings), randomStory(6, settings));
  });

  it('give a queue time from its range, another one each time', () => {
    const c = new PureCloud({ queueMs: { min: 60_000, max: 3_600_000 } }, 3);
    for (let index = 0; index < 20; index += 1) c.queue(`r${index}`);
    c.step();
    const waits = Array.from({ length: 20 }, (_, index) => (c.request(`r${index}`)?.dueAt ?? 0) - c.clock.now());
    assert.ok(
      waits.every((wait) => wait >= 60_000 && wait <= 3_600_000),
      waits.join(' '),
    );
    assert.ok(new Set(waits).size > 15);
  });
});

describe('faults that the core knows', () => {
  it('a worker may be missing from the endpoints of new nodes', () => {
    const c = new PureCloud({ missingWorkers: [{ nameMatches: 'short$', workers: [1, 3] }] });
    for (const id of ['short', 'whole']) c.create(id, { acceleratorType: 'v5litepod-16' });
    const addresses = c.node('short').hosts.map((host) => host.address);
    const shown = c.node('short').resource.networkEndpoints.map((endpoint) => endpoint['ipAddress']);
    assert.deepEqual(shown, [addresses[0], addresses[2]]);
    assert.equal(c.node('whole').resource.networkEndpoints.length, 4);
  });

  it('a worker may be in its place without an address, and the endpoints of new nodes in another order than their workers', () => {
    const c = new PureCloud({
      missingWorkers: [{ nameMatches: 'gap$', workers: [1], keepsPlace: true }],
      endpointOrders: [{ nameMatches: 'mixed$', order: [2, 0] }],
    });
    for (const id of ['gap', 'mixed']) c.create(id, { acceleratorType: 'v5litepod-16' });
    const addresses = (id: string): readonly unknown[] => c.node(id).hosts.map(({ address }) => address);
    const shown = (id: string): readonly unknown[] =>
      c.node(id).resource.networkEndpoints.map((endpoint) => endpoint['ipAddress']);
    assert.deepEqual(shown('gap'), addresses('gap').with(1, undefined));
    assert.deepEqual(
      shown('mixed'),
      [2, 0, 1, 3].map((worker) => addresses('mixed')[worker]),
    );
  });

  it('an address that was freed last is given out first when addresses are recycled, else not soon', () => {
    for (const recycleAddresses of [true, false]) {
      const c = new PureCloud({ recycleAddresses });
      for (const id of ['a', 'b']) c.create(id);
      c.step(1000);
      const old = c.node('a').hosts[0]?.address;
      c.cloud.deleteNode(nodeName('a'));
      c.step(1000);
      c.create('c');
      assert.equal(c.node('c').hosts[0]?.address === old, recycleAddresses);
      assert.notEqual(c.node('c').hosts[0]?.address, c.node('b').hosts[0]?.address);
    }
  });

  it('a stall holds a state until it is released, and a late grant comes then', () => {
    const c = new PureCloud();
    c.cloud.state.holds.push({ state: 'WAITING_FOR_RESOURCES', nameMatches: 'late$' });
    for (const id of ['late', 'soon']) c.queue(id);
    c.step(70 * 60_000);
    assert.deepEqual([c.stateOf('late'), c.stateOf('soon')], ['WAITING_FOR_RESOURCES', 'ACTIVE']);
    c.cloud.state.holds.pop();
    c.step().step(1000);
    assert.equal(c.stateOf('late'), 'ACTIVE');
    c.cloud.deleteQueuedResource(requestName('late'), true);
  });

  it('Flex-start where it is not sold fails in the operation, and makes nothing', () => {
    const c = new PureCloud();
    const operation = c.queue('a', {
      spot: undefined,
      provisioningModel: 'FLEX_START',
      node: { acceleratorType: 'v4-8' },
    });
    const text =
      '3 FLEX_START provisioning model is not supported for accelerator type "v4-8" in location "us-central1-a"';
    assert.deepEqual([c.outcome(operation), c.stateOf('a')], [text, 'gone']);
  });
});
