import type { Events } from './events.js';
import { requestsOf, roomOf, takeRoom } from './nodes.js';
import type { Pod } from './objects.js';
import { withCondition } from './objects.js';
import type { ObjectStore } from './object-store.js';
import { CLAIMS, NODES, PODS } from './resources.js';

/** Assigns each pod that has no node to a node with room for it, the oldest pod first. */
export function schedulePods(store: ObjectStore, events: Events): void {
  const waiting = store
    .list<Pod>(PODS)
    .filter(({ spec, metadata }) => spec.nodeName === undefined && metadata.deletionTimestamp === undefined)
    .filter(({ spec }) => (spec.schedulingGates ?? []).length === 0)
    .toSorted((a, b) => Number(a.metadata.resourceVersion) - Number(b.metadata.resourceVersion));
  if (waiting.length === 0) return;
  const rooms = roomOf(store);
  for (const pod of waiting) {
    const wanted = requestsOf(pod);
    const missing = missingClaim(store, pod);
    const reasons = new Map<string, number>();
    const room = missing
      ? undefined
      : rooms.find(({ labels, free }) => {
          const why = reasonsAgainst(pod, wanted, labels, free);
          for (const reason of why) reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
          return why.length === 0;
        });
    if (room === undefined) {
      refuse(store, events, pod, missing ?? unschedulable(rooms.length, reasons));
      continue;
    }
    takeRoom(room, wanted);
    const conditions = withCondition(pod.status.conditions, { type: 'PodScheduled', status: 'True' });
    store.put(PODS, { ...pod, spec: { ...pod.spec, nodeName: room.name }, status: { ...pod.status, conditions } });
    const message = `Successfully assigned ${pod.metadata.namespace}/${pod.metadata.name} to ${room.name}`;
    events.tell(PODS, pod, { type: 'Normal', reason: 'Scheduled', message, source: 'default-scheduler' });
  }
}

function missingClaim(store: ObjectStore, { spec, metadata }: Pod): string | undefined {
  const claims = spec.volumes?.flatMap(({ persistentVolumeClaim: claim }) => claim?.claimName ?? []) ?? [];
  const missing = claims.find((name) => !store.get(CLAIMS, metadata.namespace ?? '', name));
  if (missing === undefined) return undefined;
  const nodes = store.list(NODES).length;
  return `0/${nodes} nodes are available: persistentvolumeclaim "${missing}" not found. not found`;
}

function reasonsAgainst(
  { spec }: Pod,
  wanted: ReadonlyMap<string, number>,
  labels: Readonly<Record<string, string>>,
  free: ReadonlyMap<string, number>,
): readonly string[] {
  const isOther = Object.entries(spec.nodeSelector ?? {}).some(([key, value]) => labels[key] !== value);
  if (isOther) return ["node(s) didn't match Pod's node affinity/selector"];
  return [...wanted].flatMap(([name, amount]) => {
    if (amount <= (free.get(name) ?? 0) + 1e-9) return [];
    return [name === 'pods' ? 'Too many pods' : `Insufficient ${name}`];
  });
}

function unschedulable(nodes: number, reasons: ReadonlyMap<string, number>): string {
  const each = [...reasons].map(([reason, count]) => `${count} ${reason}`).toSorted();
  const available = `0/${nodes} nodes are available`;
  if (each.length === 0) return 'no nodes available to schedule pods';
  const preemption = `preemption: ${available}: ${nodes} Preemption is not helpful for scheduling.`;
  return `${available}: ${each.join(', ')}. no new claims to deallocate, ${preemption}`;
}

function refuse(store: ObjectStore, events: Events, pod: Pod, message: string): void {
  const before = pod.status.conditions?.find(({ type }) => type === 'PodScheduled');
  if (before?.message !== message) {
    const condition = { type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message } as const;
    store.put(PODS, { ...pod, status: { ...pod.status, conditions: withCondition(pod.status.conditions, condition) } });
  }
  events.tell(PODS, pod, { type: 'Warning', reason: 'FailedScheduling', message, source: 'default-scheduler' });
}
