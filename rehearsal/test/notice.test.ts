import assert from 'node:assert/strict';
import { nodeName, PureCloud, requestName, START } from './pure-cloud.js';

const MINUTE = 60_000;

function readyCloud(accelerator = 'v5litepod-8'): PureCloud {
  const c = new PureCloud({ provisioningMs: 0, repairingMs: MINUTE });
  c.create('a', { acceleratorType: accelerator });
  return c.step();
}

function healthOf(c: PureCloud): readonly unknown[] {
  const { state, health, healthDescription } = c.node('a').resource;
  return [state, health, healthDescription];
}

describe('a preemption with notice', () => {
  it('shows in the health five minutes before, and in the guests thirty seconds before', () => {
    const c = readyCloud();
    c.cloud.maintenance.announcePreemption(c.node('a'), 5 * MINUTE);
    assert.deepEqual(healthOf(c), ['READY', 'UNHEALTHY_MAINTENANCE', 'The TPU is about to be preempted.']);
    c.step(270_000 - 1);
    assert.equal(c.node('a').notice, undefined);
    c.step(1);
    assert.deepEqual(c.node('a').notice, { kind: 'preemption', at: START + 270_000, until: START + 300_000 });
    c.step(30_000);
    assert.deepEqual([c.nodeState('a'), c.node('a').notice, c.node('a').isReclaimed], ['PREEMPTED', undefined, true]);
  });

  it('tells the guests at once where it is shorter than their part of it, and never where there is no such part', () => {
    const c = readyCloud();
    c.cloud.maintenance.announcePreemption(c.node('a'), 1000);
    assert.equal(c.step().node('a').notice?.until, START + 1000);
    const silent = readyCloud();
    silent.cloud.configure({ guestNoticeMs: 0 });
    silent.cloud.maintenance.announcePreemption(silent.node('a'), MINUTE);
    silent.step(MINUTE - 1);
    assert.equal(silent.node('a').notice, undefined);
    assert.equal(silent.step(1).nodeState('a'), 'PREEMPTED');
  });

  it('may be taken back: health clears, and nothing happens', () => {
    const c = readyCloud();
    c.cloud.maintenance.announcePreemption(c.node('a'), MINUTE);
    c.step(20_000);
    c.cloud.lifecycle.nodes.clearWarning(c.node('a'));
    assert.deepEqual([...healthOf(c), c.node('a').notice], ['READY', 'HEALTHY', undefined, undefined]);
    assert.equal(c.settle().nodeState('a'), 'READY');
  });
});

describe('the VMs of a node that is preempted', () => {
  const powerOf = (c: PureCloud) => [c.nodeState('a'), c.node('a').power];

  it('shut down when they are told, are off at its end, and the API says so after its lag', () => {
    const c = readyCloud();
    c.cloud.configure({ preemptedLagMs: MINUTE });
    c.cloud.maintenance.announcePreemption(c.node('a'), MINUTE);
    assert.deepEqual(powerOf(c.step(30_000 - 1)), ['READY', undefined]);
    assert.deepEqual(powerOf(c.step(1)), ['READY', 'stopping']);
    c.cloud.lifecycle.nodes.clearWarning(c.node('a'));
    assert.deepEqual(powerOf(c.step(30_000)), ['READY', 'off'], 'a shutdown is not taken back');
    assert.deepEqual(powerOf(c.step(MINUTE - 1)), ['READY', 'off']);
    assert.deepEqual(powerOf(c.step(1)), ['PREEMPTED', undefined]);
  });

  it('shut down though the API shows nothing, or are off with no word', () => {
    const c = readyCloud();
    c.cloud.maintenance.signalPreemption(c.node('a'));
    assert.deepEqual([...powerOf(c.step()), healthOf(c)[1]], ['READY', 'stopping', 'HEALTHY']);
    assert.deepEqual(powerOf(c.step(30_000)), ['PREEMPTED', undefined]);
    const silent = readyCloud();
    silent.cloud.configure({ preemptedLagMs: 15_000 });
    silent.cloud.maintenance.cutPower(silent.node('a'));
    assert.deepEqual([...powerOf(silent.step()), silent.node('a').notice], ['READY', 'off', undefined]);
    assert.deepEqual(powerOf(silent.step(15_000)), ['PREEMPTED', undefined]);
  });
});

describe('maintenance', () => {
  it('that only warns clears by itself after its time, else when it is told to', () => {
    const c = readyCloud();
    c.cloud.maintenance.warn(c.node('a'), 10 * MINUTE);
    c.step(10 * MINUTE - 1);
    assert.equal(c.node('a').resource.health, 'UNHEALTHY_MAINTENANCE');
    assert.deepEqual(healthOf(c.step(1)), ['READY', 'HEALTHY', undefined]);
    c.cloud.maintenance.warn(c.node('a'));
    assert.equal(c.settle().node('a').resource.health, 'UNHEALTHY_MAINTENANCE');
  });

  it('that is performed shows as ONGOING, and its operation ends with it', () => {
    const c = readyCloud();
    const operation = c.cloud.performMaintenance(nodeName('a'));
    const shown = c.node('a').resource['upcomingMaintenance'] as { maintenanceStatus: string };
    assert.deepEqual([c.outcome(operation), shown.maintenanceStatus], ['open', 'ONGOING']);
    c.step(MINUTE);
    assert.deepEqual([c.outcome(operation), c.node('a').resource['upcomingMaintenance']], ['ok', undefined]);
  });

  it('that is simulated is told to one worker: the first named, else the first there is', () => {
    const c = readyCloud('v5litepod-16');
    c.cloud.simulateMaintenanceEvent(nodeName('a'), ['3', '1']);
    assert.deepEqual(c.node('a').notice?.workers, [3]);
    c.step(MINUTE);
    assert.equal(c.node('a').notice, undefined);
    c.cloud.simulateMaintenanceEvent(nodeName('a'), []);
    assert.deepEqual(c.node('a').notice?.workers, [0]);
    assert.throws(() => c.cloud.simulateMaintenanceEvent(nodeName('a'), ['4']), {
      code: 3,
      message: /worker_ids: '4' is not a worker of .* which has 4/,
    });
  });

  it('of a multislice ends its one operation with the last of its nodes', () => {
    const c = new PureCloud({ provisioningMs: 0, repairingMs: { min: 1000, max: MINUTE } });
    c.queue('a', { count: 2 });
    c.step();
    const operation = c.cloud.performMaintenanceQueuedResource(requestName('a'), []);
    const done: string[] = [];
    for (let second = 0; second < 60; second += 1) {
      c.step(1000);
      done.push(`${c.nodeState('a-0')} ${c.nodeState('a-1')} ${c.outcome(operation)}`);
    }
    const between = done.filter((line) => line.includes('READY') && line.includes('REPAIRING'));
    assert.ok(between.length > 0 && between.every((line) => line.endsWith('open')), between.join('; '));
    assert.equal(done.at(-1), 'READY READY ok');
    const unknown = [nodeName('b-0')];
    assert.throws(() => c.cloud.performMaintenanceQueuedResource(requestName('a'), unknown), { code: 5 });
  });
});
