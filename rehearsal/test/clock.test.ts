import assert from 'node:assert/strict';
import { newClockState, RehearsalClock } from '../clock.js';
import { Random } from '../random.js';
import { TpuCloud } from '../tpu/cloud.js';
import { DEFAULT_SETTINGS } from '../tpu/settings.js';
import { emptyState } from '../tpu/state.js';
import { nodeBody, nodeName, PARENT, PureCloud, requestName, START } from './pure-cloud.js';

function clockAt(wall: { now: number }, change = {}): RehearsalClock {
  return new RehearsalClock(newClockState(wall.now, change), () => wall.now);
}

describe('the rehearsal’s clock', () => {
  it('shows the wall’s time until it is told otherwise, and then runs on from where it is', () => {
    const wall = { now: 1000 };
    const clock = clockAt(wall);
    wall.now = 1500;
    assert.equal(clock.now(), 1500);
    clock.set({ scale: 100 });
    assert.equal(clock.now(), 1500);
    wall.now = 1510;
    assert.equal(clock.now(), 2500);
    clock.set({ scale: 0.001 });
    wall.now = 3510;
    assert.equal(clock.now(), 2502);
  });

  it('stands still while it is frozen, goes on without a leap, and is moved by steps in both', () => {
    const wall = { now: 0 };
    const clock = clockAt(wall, { scale: 10 });
    wall.now = 100;
    clock.set({ frozen: true });
    wall.now = 5000;
    assert.deepEqual([clock.now(), clock.isFrozen], [1000, true]);
    clock.step(500);
    assert.equal(clock.now(), 1500);
    clock.set({ frozen: false });
    wall.now = 5001;
    assert.equal(clock.now(), 1510);
    clock.step(0);
    clock.step(90);
    assert.equal(clock.now(), 1600);
  });

  it('never goes back, also where the wall’s clock does', () => {
    const wall = { now: 10_000 };
    const clock = clockAt(wall);
    wall.now = 9000;
    assert.equal(clock.now(), 10_000);
    clock.set({ scale: 2 });
    wall.now = 9500;
    assert.equal(clock.now(), 11_000);
  });

  it('goes on from its state as if the process had never stopped: so much wall time, so much of its own', () => {
    const wall = { now: 0 };
    const state = newClockState(0, { scale: 60 });
    new RehearsalClock(state, () => wall.now).step(7);
    wall.now = 1000;
    const again = new RehearsalClock(structuredClone(state), () => wall.now);
    assert.equal(again.now(), 60_007);
  });

  it('says how long a wall’s timer has to wait, or that nothing comes while it is frozen', () => {
    const wall = { now: 0 };
    const clock = clockAt(wall, { scale: 1000 });
    assert.deepEqual([clock.wallMsUntil(2500), clock.wallMsUntil(0), clock.wallMsUntil(-5)], [3, 0, 0]);
    clock.set({ frozen: true });
    assert.deepEqual([clock.wallMsUntil(2500), clock.wallMsUntil(0)], [undefined, 0]);
  });

  it('tells of each change, until nobody wants to know', () => {
    const clock = clockAt({ now: 0 });
    let told = 0;
    const end = clock.onChange(() => (told += 1));
    clock.set({ scale: 2 });
    clock.step(1);
    end();
    clock.step(1);
    assert.equal(told, 2);
  });

  it('refuses a scale and a step that make no sense', () => {
    const clock = clockAt({ now: 0 });
    for (const scale of [0, -1, 0.0009, 10_000_001, NaN, Infinity]) {
      assert.throws(() => clock.set({ scale }), new RangeError(`clock: scale ${scale} is not from 0.001 to 10000000`));
    }
    for (const ms of [-1, 0.5, NaN, Infinity]) assert.throws(() => clock.step(ms), RangeError);
    assert.equal(clock.scale, 1);
  });

  it('shows an instant that is past to what is carried out late, and then the present again', () => {
    const clock = clockAt({ now: 500 });
    const seen = clock.atInstant(100, () => [clock.now(), clock.atInstant(50, () => clock.now()), clock.now()]);
    assert.deepEqual([...seen, clock.now()], [100, 50, 100, 500]);
  });
});

describe('the cloud on a clock that leaps', () => {
  it('tells each thing at the instant when it was due, as if somebody had looked all the time', () => {
    const settings = { creatingMs: 10, queueMs: 600_000, provisioningMs: 900_000 };
    const story = (steps: readonly number[]): unknown => {
      const c = new PureCloud(settings, 7);
      c.queue('a', { queueingPolicy: { validUntilDuration: '7200s' } });
      c.queue('b', { node: { schedulingConfig: { preemptible: true } } });
      for (const ms of steps) c.step(ms);
      return c.events
        .filter(({ kind }) => kind.endsWith('-state'))
        .map(({ at, subject, details }) => [at - START, subject, details['to']]);
    };
    const leap = story([1_000_000, 90_000_000, 1000]);
    const walk = story([...Array<number>(1000).fill(1000), ...Array<number>(900).fill(100_000), 1000]);
    assert.deepEqual(leap, walk);
    assert.ok((leap as readonly unknown[]).length > 8);
  });

  it('shows in a read what is due, though no timer came yet', () => {
    const c = new PureCloud({ queueMs: 1000 });
    c.queue('a');
    c.clock.step(500);
    assert.equal(c.cloud.getQueuedResource(requestName('a')).state.state, 'WAITING_FOR_RESOURCES');
    c.clock.step(500);
    assert.equal(c.cloud.getQueuedResource(requestName('a')).state.state, 'PROVISIONING');
  });

  it('tells nothing before what it told first, though the clock runs an hour while one call is carried out', () => {
    let wall = 0;
    const state = emptyState({ ...DEFAULT_SETTINGS, queueMs: 60_000 }, { seed: 1, wallNow: 0 });
    // Each look at the wall's clock is a second later, and a second of it an hour here.
    const clock = new RehearsalClock(state.clock, () => (wall += 1000));
    clock.set({ scale: 3600 });
    const times: number[] = [];
    const cloud = new TpuCloud(state, {
      now: () => clock.now(),
      atInstant: (instant, run) => clock.atInstant(instant, run),
      random: new Random(state.random),
      subnetOctet: 77,
      record: () => times.push(clock.now()),
    });
    const tpu = { nodeSpec: [{ parent: PARENT, nodeId: 'a', node: nodeBody() }] };
    cloud.createQueuedResource(PARENT, 'a', { tpu });
    const created = [...times];
    cloud.lifecycle.advance();
    cloud.markBooted(nodeName('a'), cloud.getNode(nodeName('a')).id);
    cloud.lifecycle.advance();
    cloud.deleteQueuedResource(requestName('a'), true);
    cloud.lifecycle.advance();
    assert.equal(new Set(created).size, 1, 'one call, one time');
    assert.deepEqual(
      times,
      times.toSorted((a, b) => a - b),
    );
    assert.ok(times.length > 12, `${times.length} events`);
  });
});
