import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { JsonObject } from '../json.js';
import { PARENT, SteppedRehearsal } from './stepped-rehearsal.js';
import { scratchFolder } from './scratch.js';

const EXAMPLES = fileURLToPath(new URL('../examples/', import.meta.url));
const MINUTE = 60_000;

/** What each script in rehearsal/examples does to a cloud, told minute by minute. */
const STORIES: Readonly<Record<string, (cloud: SteppedRehearsal) => Promise<void>>> = {
  async 'late-grant.yaml'(cloud) {
    await cloud.queue('late');
    cloud.step(69 * MINUTE);
    assert.equal(await cloud.queuedState('late'), 'WAITING_FOR_RESOURCES');
    cloud.step(2 * MINUTE);
    assert.equal(await cloud.queuedState('late'), 'ACTIVE');
  },

  async 'failed-husks.yaml'(cloud) {
    await cloud.queue('one');
    await cloud.queue('two');
    cloud.step(2 * MINUTE);
    assert.deepEqual([await cloud.queuedState('one'), await cloud.queuedState('two')], ['FAILED', 'FAILED']);
    const refused = await cloud.queue('three');
    assert.equal(refused.code, 'RESOURCE_EXHAUSTED');
    assert.match(refused.text, /^Quota '.*' exhausted\. Limit 16 in region us-central1$/);
    await cloud.call('DeleteQueuedResource', { name: `${PARENT}/queuedResources/one` });
    cloud.step(MINUTE);
    assert.equal((await cloud.queue('three')).code, 'OK');
    cloud.step(5 * MINUTE);
    assert.equal(await cloud.queuedState('three'), 'ACTIVE');
  },

  async 'answer-lost.yaml'(cloud) {
    const created = await cloud.queue('adopted');
    assert.equal(created.code, 'UNAVAILABLE');
    cloud.step(MINUTE);
    assert.equal(await cloud.queuedState('adopted'), 'ACTIVE');
    assert.equal((await cloud.queue('adopted')).code, 'ALREADY_EXISTS');
    const name = `${PARENT}/queuedResources/adopted`;
    assert.equal((await cloud.call('DeleteQueuedResource', { name, force: true })).code, 'DEADLINE_EXCEEDED');
    cloud.step(MINUTE);
    assert.equal(await cloud.queuedState('adopted'), 'NOT_FOUND');
  },

  async 'api-flapping.yaml'(cloud) {
    await cloud.queue('healthy');
    const codes: string[] = [];
    for (let second = 0; second < 3700; second += 5) {
      cloud.step(5000);
      codes.push(await cloud.nodeState('healthy'));
    }
    const refused = codes.filter((code) => code === 'UNAVAILABLE').length;
    assert.ok(refused > 100 && refused < 400, `${refused} of ${codes.length}`);
    assert.deepEqual([...new Set(codes)].toSorted(), ['READY', 'UNAVAILABLE']);
    assert.equal(codes.at(-1), 'READY');
  },

  async 'recycled-ip.yaml'(cloud) {
    await cloud.queue('dead');
    cloud.step(MINUTE);
    const [before, id] = [await addressOf(cloud, 'dead'), (await cloud.node('dead')).message['id']];
    cloud.step(10 * MINUTE);
    assert.equal(await cloud.nodeState('dead'), 'NOT_FOUND');
    await cloud.queue('alive');
    cloud.step(MINUTE);
    assert.equal(await addressOf(cloud, 'alive'), before);
    assert.notEqual((await cloud.node('alive')).message['id'], id);
  },

  async 'no-notice.yaml'(cloud) {
    for (const id of ['shown', 'vanished']) await cloud.queue(id);
    const healths = new Set<unknown>();
    for (let minute = 0; minute < 9; minute += 1) {
      cloud.step(MINUTE);
      healths.add((await cloud.node('shown')).message['health']);
    }
    cloud.step(2 * MINUTE);
    assert.deepEqual([...healths], ['HEALTHY']);
    assert.equal(await cloud.nodeState('shown'), 'PREEMPTED');
    assert.equal(await cloud.queuedState('shown'), 'SUSPENDED');
    assert.equal(await cloud.nodeState('vanished'), 'READY');
    cloud.step(15 * MINUTE);
    assert.equal(await cloud.nodeState('vanished'), 'NOT_FOUND');
    assert.equal(await cloud.queuedState('vanished'), 'SUSPENDED');
  },

  async 'maintenance-clears.yaml'(cloud) {
    await cloud.queue('warned');
    cloud.step(11 * MINUTE);
    const { message } = await cloud.node('warned');
    assert.deepEqual([message['state'], message['health']], ['READY', 'UNHEALTHY_MAINTENANCE']);
    cloud.step(5 * MINUTE);
    const after = (await cloud.node('warned')).message;
    assert.deepEqual([after['state'], after['health']], ['READY', 'HEALTHY']);
  },

  async 'multislice-loses-one.yaml'(cloud) {
    const node = { acceleratorType: 'v5litepod-8', runtimeVersion: 'v2-alpha-tpuv5-lite' };
    const tpu = { nodeSpec: [{ parent: PARENT, multisliceParams: { nodeCount: 4, nodeIdPrefix: 'many' }, node }] };
    const queuedResource = { tpu, spot: {} } as JsonObject;
    await cloud.call('CreateQueuedResource', { parent: PARENT, queuedResourceId: 'many', queuedResource });
    cloud.step(12 * MINUTE);
    const states = await Promise.all([0, 1, 2, 3].map((slice) => cloud.nodeState(`many-${slice}`)));
    assert.deepEqual(states.toSorted(), ['PREEMPTED', 'READY', 'READY', 'READY']);
    assert.equal(await cloud.queuedState('many'), 'SUSPENDED');
  },
};

describe('scripts of incidents', () => {
  const scratch = scratchFolder('incidents');
  after(() => scratch.remove());

  it('are all told here', () => {
    assert.deepEqual(readdirSync(EXAMPLES).toSorted(), Object.keys(STORIES).toSorted());
  });

  for (const [file, story] of Object.entries(STORIES)) {
    it(`replays ${file}, the same each time`, async () => {
      const journals = [];
      for (const take of ['first', 'second']) {
        const cloud = new SteppedRehearsal(folderOf(scratch.path, file, take), { seed: 5 });
        cloud.script(readFileSync(join(EXAMPLES, file), 'utf8'));
        await story(cloud);
        journals.push(cloud.events().map((event) => ({ ...event, wall: 0 })));
        cloud.journal.close();
      }
      assert.deepEqual(journals[0], journals[1]);
    });
  }
});

function folderOf(...parts: readonly string[]): string {
  const folder = join(...parts);
  mkdirSync(folder, { recursive: true });
  return folder;
}

async function addressOf(cloud: SteppedRehearsal, id: string): Promise<unknown> {
  const endpoints = (await cloud.node(id)).message['networkEndpoints'] as readonly JsonObject[];
  return endpoints[0]?.['ipAddress'];
}
