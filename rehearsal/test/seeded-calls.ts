import { Random, seededState } from '../random.js';
import { ApiError } from '../tpu/api-error.js';
import type { Settings } from '../tpu/settings.js';
import type { RecordedEvent } from './pure-cloud.js';
import { nodeName, PureCloud, requestName, ZONE } from './pure-cloud.js';

const IDS = ['a', 'b', 'c'];

/** A pure cloud of 24 chips under calls, faults and waits that the seed alone decides. */
export function randomCloud(seed: number, settings: Partial<Settings> = {}): PureCloud {
  const capacity = { [`${ZONE}/v5litepod`]: 24 };
  const quota = { [`*/${ZONE}/v5litepod/spot`]: 32 };
  const cloud = new PureCloud({ capacity, quota, ...settings }, seed);
  const random = new Random(seededState(seed));
  for (let calls = 0; calls < 80; calls += 1) {
    const verb = VERBS[random.integer(0, VERBS.length - 1)];
    try {
      verb?.(cloud, IDS[random.integer(0, IDS.length - 1)] ?? 'a', random);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
    }
    cloud.step(random.integer(0, 1500));
  }
  return cloud;
}

export function randomStory(seed: number, settings: Partial<Settings> = {}): readonly RecordedEvent[] {
  return randomCloud(seed, settings).events;
}

type Verb = (cloud: PureCloud, id: string, random: Random) => unknown;

const VERBS: readonly Verb[] = [
  (c, id, random) => c.queue(id, { count: random.integer(1, 2) }),
  (c, id) => c.queue(id),
  (c, id) => c.create(id),
  (c, id) => c.cloud.deleteQueuedResource(requestName(id), false),
  (c, id) => c.cloud.deleteQueuedResource(requestName(id), true),
  (c, id) => c.cloud.deleteNode(nodeName(id)),
  (c, id) => c.cloud.stopNode(nodeName(id)),
  (c, id) => c.cloud.startNode(nodeName(id)),
  (c, id) => c.cloud.updateNode(nodeName(id), { labels: { a: 'b' } }, ['labels']),
  (c, id) => c.cloud.performMaintenance(nodeName(id)),
  (c, id) => c.cloud.resetQueuedResource(requestName(id)),
  (c, id) => onLive(c, id, () => c.cloud.preempt(c.node(id), 'preempted')),
  (c, id) => onLive(c, id, () => c.cloud.preempt(c.node(id), 'vanish')),
  (c, id) => onLive(c, id, () => c.cloud.maintenance.announcePreemption(c.node(id), 2000)),
  (c, id) => onLive(c, id, () => c.cloud.maintenance.warn(c.node(id), 1000)),
  (c, id) => {
    const record = c.request(id);
    if (record !== undefined) c.cloud.giveUp(record, { code: 13, message: 'an internal error has occurred' });
  },
  (c, _id, random) =>
    (c.cloud.state.holds = random.integer(0, 1) === 0 ? [] : [{ state: 'PROVISIONING', nameMatches: '/a$' }]),
];

function onLive(cloud: PureCloud, id: string, run: () => void): void {
  if (['CREATING', 'READY'].includes(cloud.nodeState(id))) run();
}
