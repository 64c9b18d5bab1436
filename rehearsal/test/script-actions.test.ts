import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { JsonObject } from '../json.js';
import { ACTIONS } from '../script/schema.js';
import type { Line } from './stepped-rehearsal.js';
import { PARENT, SteppedRehearsal } from './stepped-rehearsal.js';
import { scratchFolder } from './scratch.js';

const MINUTE = 60_000;
const ZONE = 'us-central1-a';

/** An event of each kind, at one minute, and what is different then. The node `a` is READY, the request `w` waits. */
const DONE: Readonly<Record<string, { readonly event: string; readonly check: (cloud: SteppedRehearsal) => unknown }>> =
  {
    capacity: {
      event: `capacity: {${ZONE}/v4: 64, ${ZONE}/v5litepod/spot: unlimited}`,
      check: (cloud) => assert.deepEqual(setting(cloud, 'capacity'), { [`${ZONE}/v4`]: 64 }),
    },
    quota: {
      event: `quota: {p/${ZONE}/v4/spot: 8, '*/${ZONE}/v5p': 4}`,
      check: (cloud) =>
        assert.deepEqual(setting(cloud, 'quota'), {
          [`p/${ZONE}/v4/spot`]: 8,
          [`*/${ZONE}/v5p/reserved`]: 4,
          [`*/${ZONE}/v5p/on-demand`]: 4,
          [`*/${ZONE}/v5p/spot`]: 4,
        }),
    },
    settings: {
      event: 'settings: {queue: {min: 1m, max: 2m}, notice: 45s}',
      check(cloud) {
        assert.deepEqual(setting(cloud, 'queueMs'), { min: MINUTE, max: 2 * MINUTE });
        assert.equal(setting(cloud, 'noticeMs'), 45_000);
      },
    },
    clock: { event: 'clock: {scale: 60}', check: (cloud) => assert.equal(cloud.clock.scale, 60) },
    preempt: {
      event: 'preempt: {node: a}',
      check: async (cloud) => assert.equal(await cloud.nodeState('a'), 'PREEMPTED'),
    },
    'preempt with notice': {
      event: 'preempt: {node: a, notice: 30s}',
      async check(cloud) {
        const { message } = await cloud.node('a');
        assert.deepEqual([message['state'], message['health']], ['READY', 'UNHEALTHY_MAINTENANCE']);
        cloud.step(29_000);
        assert.equal(await cloud.nodeState('a'), 'READY');
        cloud.step(1000);
        assert.equal(await cloud.nodeState('a'), 'PREEMPTED');
      },
    },
    warn: {
      event: 'warn: {node: a, clearAfter: 2m}',
      async check(cloud) {
        assert.equal((await cloud.node('a')).message['health'], 'UNHEALTHY_MAINTENANCE');
        cloud.step(2 * MINUTE);
        assert.equal((await cloud.node('a')).message['health'], 'HEALTHY');
      },
    },
    maintenance: {
      event: 'maintenance: {node: a}',
      async check(cloud) {
        assert.equal(await cloud.nodeState('a'), 'REPAIRING');
        cloud.step(MINUTE);
        assert.equal(await cloud.nodeState('a'), 'READY');
      },
    },
    fail: {
      event: 'fail: {queuedResource: w, code: RESOURCE_EXHAUSTED, message: none left}',
      async check(cloud) {
        const { message } = await cloud.call('GetQueuedResource', { name: `${PARENT}/queuedResources/w` });
        const state = message['state'] as JsonObject;
        assert.deepEqual(state['failedData'], { error: { code: 8, message: 'none left' } });
      },
    },
    stall: {
      event: 'stall: {state: PROVISIONING, names: s, for: 90m}',
      async check(cloud) {
        for (const id of ['s', 't']) await cloud.queue(id, { guaranteed: {} });
        cloud.step(89 * MINUTE);
        assert.deepEqual([await cloud.queuedState('s'), await cloud.queuedState('t')], ['PROVISIONING', 'ACTIVE']);
        cloud.step(MINUTE);
        assert.equal(await cloud.queuedState('s'), 'ACTIVE');
      },
    },
    refuse: {
      event: `refuse: {method: [GetNode, 'List*'], code: 7, message: no, names: a, for: 1m}`,
      async check(cloud) {
        assert.deepEqual(await codeAndText(cloud.node('a')), ['PERMISSION_DENIED', 'no']);
        assert.equal((await cloud.node('b')).code, 'NOT_FOUND');
        cloud.step(MINUTE);
        assert.equal((await cloud.node('a')).code, 'OK');
      },
    },
    unavailable: {
      event: `unavailable: {for: 30s, zone: ${ZONE}}`,
      async check(cloud) {
        assert.equal((await cloud.call('ListNodes', { parent: PARENT })).code, 'UNAVAILABLE');
        assert.equal((await cloud.call('ListNodes', { parent: 'projects/p/locations/europe-west4-a' })).code, 'OK');
        cloud.step(30_000);
        assert.equal((await cloud.call('ListNodes', { parent: PARENT })).code, 'OK');
      },
    },
    error: {
      event: 'error: {method: GetNode, code: INTERNAL, times: 2}',
      async check(cloud) {
        const codes = [];
        for (let call = 0; call < 3; call += 1) codes.push((await cloud.node('a')).code);
        assert.deepEqual(codes, ['INTERNAL', 'INTERNAL', 'OK']);
      },
    },
    answerLost: {
      event: 'answerLost: {method: DeleteNode}',
      async check(cloud) {
        assert.equal((await cloud.call('DeleteNode', { name: `${PARENT}/nodes/a` })).code, 'UNAVAILABLE');
        cloud.step(MINUTE);
        assert.equal(await cloud.nodeState('a'), 'NOT_FOUND');
      },
    },
    missingWorker: {
      event: 'missingWorker: {names: m, workers: [1]}',
      async check(cloud) {
        await cloud.queue('m', { guaranteed: {} }, 'v4-16');
        cloud.step(MINUTE);
        assert.equal(((await cloud.node('m')).message['networkEndpoints'] as readonly object[]).length, 1);
      },
    },
    bootFailure: {
      event: 'bootFailure: {names: f, message: no disk}',
      async check(cloud) {
        await cloud.queue('f', { guaranteed: {} });
        cloud.step(MINUTE);
        assert.equal(await cloud.queuedState('f'), 'FAILED');
      },
    },
    guestAttributes: {
      event: 'guestAttributes: {names: a, after: 5m}',
      check: (cloud) =>
        assert.deepEqual(setting(cloud, 'guestAttributes'), [{ nameMatches: '/(?:a)$', afterMs: 5 * MINUTE }]),
    },
    recycledIp: {
      event: 'recycledIp: true',
      check: (cloud) => assert.equal(setting(cloud, 'recycleAddresses'), true),
    },
    listLag: {
      event: 'listLag: {lag: 2m, for: 10m}',
      async check(cloud) {
        await cloud.call('DeleteNode', { name: `${PARENT}/nodes/a` });
        cloud.step(MINUTE);
        assert.deepEqual([await cloud.nodeState('a'), await listed(cloud)], ['NOT_FOUND', ['a']]);
        cloud.step(2 * MINUTE);
        assert.deepEqual(await listed(cloud), []);
        await cloud.call('CreateNode', { parent: PARENT, nodeId: 'n', node: NODE });
        assert.deepEqual(await listed(cloud), []);
        cloud.step(8 * MINUTE);
        assert.deepEqual(await listed(cloud), ['n']);
      },
    },
  };
/** What becomes of a TPU VM needs one: script-server.test.ts. */
const OF_HOSTS = ['ssh', 'fullDisk', 'freeze', 'stopProcesses'];

const NODE = { acceleratorType: 'v5litepod-8', runtimeVersion: 'v2-alpha-tpuv5-lite' };

describe('an event of a fault script', () => {
  const scratch = scratchFolder('script-actions');
  let clouds = 0;
  after(() => scratch.remove());

  /** With the node `a`, which is READY, and the request `w`, which waits. */
  async function cloudWith(script: string): Promise<SteppedRehearsal> {
    const folder = join(scratch.path, String((clouds += 1)));
    mkdirSync(folder);
    const settings = { capacity: { [`${ZONE}/v5litepod/spot`]: 0 } };
    const cloud = new SteppedRehearsal(folder, { settings });
    await cloud.call('CreateNode', { parent: PARENT, nodeId: 'a', node: NODE });
    await cloud.queue('w');
    cloud.script(`version: 1\nevents:\n${script}`);
    return cloud;
  }

  it('is tried for each action that there is', () => {
    const tried = [...Object.keys(DONE).filter((name) => !name.includes(' ')), ...OF_HOSTS, 'sendBack'];
    assert.deepEqual(tried.toSorted(), Object.keys(ACTIONS).toSorted());
  });

  for (const [name, { event, check }] of Object.entries(DONE)) {
    it(`does what it says: ${name}`, async () => {
      const cloud = await cloudWith(`  - at: 1m\n    ${event}\n`);
      const before = JSON.stringify([setting(cloud, 'capacity'), await cloud.nodeState('w')]);
      cloud.step(MINUTE - 1);
      assert.equal(JSON.stringify([setting(cloud, 'capacity'), await cloud.nodeState('w')]), before);
      assert.equal(cloud.runner.progress().done.length, 0);
      cloud.step(1);
      assert.deepEqual(
        cloud.runner.progress().done.map(({ result }) => result),
        ['done'],
      );
      await check(cloud);
    });
  }

  it('waits for a state that lasts, once for each resource that enters it', async () => {
    const cloud = await cloudWith(`  - when: {node: 'j-.*', state: READY, for: 5m}\n    repeat: 2\n    preempt: {}\n`);
    for (const id of ['j-1', 'other', 'j-2', 'j-3']) {
      await cloud.call('CreateNode', { parent: PARENT, nodeId: id, node: NODE });
      cloud.step(MINUTE);
    }
    await cloud.call('DeleteNode', { name: `${PARENT}/nodes/j-1` });
    cloud.step(10 * MINUTE);
    const states = await Promise.all(['j-1', 'other', 'j-2', 'j-3'].map((id) => cloud.nodeState(id)));
    assert.deepEqual(states, ['NOT_FOUND', 'READY', 'PREEMPTED', 'PREEMPTED']);
    assert.equal(cloud.runner.progress().state, 'finished');
  });

  it('repeats at its distance, with jitter and chance of the seed', async () => {
    const take = async (seed: number): Promise<readonly number[]> => {
      const cloud = await cloudWith(
        `  - {at: 1m, every: 10m, repeat: 20, jitter: 2m, chance: 0.5, warn: {node: a, clearAfter: 1s}}\nseed: ${seed}\n`,
      );
      cloud.step(300 * MINUTE);
      const { done, state } = cloud.runner.progress();
      assert.deepEqual([done.length, state], [20, 'finished']);
      return done.flatMap(({ at, result }) => (result === 'done' ? [cloud.elapsedMs - (cloud.clock.now() - at)] : []));
    };
    const [first, again, other] = [await take(1), await take(1), await take(2)];
    assert.deepEqual(first, again);
    assert.notDeepEqual(first, other);
    assert.ok(first.length > 3 && first.length < 17, `${first.length} of 20`);
    assert.ok(first.every((at) => at >= MINUTE));
  });

  it('that is about one of several takes the one that the seed draws', async () => {
    const taken = async (seed: number): Promise<string | undefined> => {
      const cloud = await cloudWith(`  - {at: 1m, preempt: {node: 'n-.*', which: one}}\nseed: ${seed}\n`);
      const ids = ['n-1', 'n-2', 'n-3', 'n-4'];
      for (const id of ids) await cloud.call('CreateNode', { parent: PARENT, nodeId: id, node: NODE });
      cloud.step(MINUTE);
      const states = await Promise.all(ids.map((id) => cloud.nodeState(id)));
      assert.equal(states.filter((state) => state === 'PREEMPTED').length, 1);
      return ids[states.indexOf('PREEMPTED')];
    };
    const seeds = [1, 2, 3, 4, 5, 6, 7, 8];
    const first = await Promise.all(seeds.map(taken));
    assert.ok(new Set(first).size > 1, String(first));
    assert.deepEqual(await Promise.all(seeds.map(taken)), first);
  });

  it('meets the cloud as it was at its instant, also after one long step', async () => {
    const cloud = await cloudWith(`  - {at: 10m, preempt: {node: b}}\n`);
    cloud.admin('configure', { provisioningMs: 9 * MINUTE });
    await cloud.call('CreateNode', { parent: PARENT, nodeId: 'b', node: NODE });
    cloud.step(60 * MINUTE);
    const moves = cloud
      .events()
      .filter(({ kind, subject }) => kind === 'node-state' && subject === `${PARENT}/nodes/b`);
    assert.deepEqual(
      moves.map((line) => [(line['details'] as Line)['to'], Number(line['at']) - (cloud.clock.now() - 60 * MINUTE)]),
      [
        ['CREATING', 0],
        ['READY', 9 * MINUTE],
        ['PREEMPTED', 10 * MINUTE],
      ],
    );
  });

  it('that sends a request back does so each time that it is PROVISIONING', async () => {
    const cloud = await cloudWith(`  - {when: {queuedResource: c, state: PROVISIONING}, repeat: 2, sendBack: {}}\n`);
    await cloud.queue('c', { guaranteed: {} });
    cloud.step(60 * MINUTE);
    assert.equal(await cloud.queuedState('c'), 'ACTIVE');
    assert.deepEqual(
      cloud.runner.progress().done.map(({ result }) => result),
      ['done', 'done'],
    );
  });

  it('that cannot be done says why, and the others are done', async () => {
    const cloud = await cloudWith(
      `  - {at: 1m, preempt: {node: nobody}}\n  - {at: 2m, ssh: {node: a, is: dead}}\n  - {at: 3m, preempt: {node: a}}\n`,
    );
    cloud.step(5 * MINUTE);
    assert.deepEqual(
      cloud.runner.progress().done.map(({ result }) => result),
      ['nothing matches', `${PARENT}/nodes/a has 0 running hosts, no host all`, 'done'],
    );
  });

  it('that lasts ends when the script is stopped', async () => {
    const cloud = await cloudWith(
      `  - {at: 0s, stall: {state: DELETING, for: 1h}}\n  - {at: 2h, preempt: {node: a}}\n`,
    );
    await cloud.call('DeleteNode', { name: `${PARENT}/nodes/a` });
    cloud.step(MINUTE);
    assert.equal(await cloud.nodeState('a'), 'DELETING');
    cloud.runner.stop();
    cloud.step(1);
    assert.equal(await cloud.nodeState('a'), 'NOT_FOUND');
    assert.deepEqual(cloud.runner.progress(), { state: 'none', done: [], toCome: [] });
  });
});

function setting(cloud: SteppedRehearsal, name: string): unknown {
  return cloud.dump().find((line) => line['kind'] === 'setting' && line['name'] === name)?.['value'];
}

async function listed(cloud: SteppedRehearsal): Promise<readonly string[]> {
  const { message } = await cloud.call('ListNodes', { parent: PARENT });
  return (message['nodes'] as readonly { readonly name: string }[]).map(({ name }) => name.split('/').at(-1) ?? '');
}

async function codeAndText(
  answer: Promise<{ readonly code: string; readonly text: string }>,
): Promise<readonly string[]> {
  const { code, text } = await answer;
  return [code, text];
}
