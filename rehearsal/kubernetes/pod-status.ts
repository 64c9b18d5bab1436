import type { Condition, ContainerState, Pod, PodStatus } from './objects.js';
import { timestamp, withCondition } from './objects.js';
import { NODE_ADDRESS } from './nodes.js';

/** The pod status that the rehearsed kubelet writes. */

const condition = (type: string, isSo: boolean, reason?: string, message?: string): Condition => ({
  type,
  status: isSo ? 'True' : 'False',
  ...(reason !== undefined && { reason }),
  ...(message !== undefined && { message }),
});

function statusWith(
  { spec, status }: Pod,
  phase: PodStatus['phase'],
  state: ContainerState,
  { isReady, reason }: { readonly isReady: boolean; readonly reason?: string },
): PodStatus {
  const [main] = spec.containers;
  const image = main?.image ?? '';
  const unready = reason === 'ContainersNotReady' ? `containers with unready status: [${main?.name}]` : undefined;
  let { conditions } = status;
  for (const each of [
    condition('Initialized', true),
    condition('PodReadyToStartContainers', state.running !== undefined),
    condition('ContainersReady', isReady, reason, unready),
    condition('Ready', isReady, reason, unready),
  ])
    conditions = withCondition(conditions, each);
  return {
    ...status,
    phase,
    ...(conditions && { conditions }),
    hostIP: NODE_ADDRESS,
    startTime: status.startTime ?? timestamp(),
    containerStatuses: [
      {
        name: main?.name ?? '',
        image,
        imageID: state.waiting === undefined ? `rehearsal:${image}` : '',
        ready: isReady,
        started: state.running !== undefined,
        restartCount: 0,
        state,
        lastState: {},
      },
    ],
  };
}

export const waitingStatus = (pod: Pod, reason: string, message?: string): PodStatus =>
  statusWith(
    pod,
    'Pending',
    { waiting: { reason, ...(message !== undefined && { message }) } },
    { isReady: false, reason: 'ContainersNotReady' },
  );

/** The pod is not ready until its probe says so, if it has a probe. */
export const runningStatus = (pod: Pod, address: string): PodStatus => ({
  ...readinessStatus(pod, pod.spec.containers[0]?.readinessProbe?.exec === undefined),
  podIP: address,
  podIPs: [{ ip: address }],
});

export function readinessStatus(pod: Pod, isReady: boolean): PodStatus {
  const running = pod.status.containerStatuses?.[0]?.state.running ?? { startedAt: timestamp() };
  return statusWith(pod, 'Running', { running }, { isReady, ...(!isReady && { reason: 'ContainersNotReady' }) });
}

export interface ContainerEnding {
  readonly exitCode: number;
  readonly reason?: string;
  readonly message?: string;
}

export function endedStatus(pod: Pod, { exitCode, reason, message }: ContainerEnding): PodStatus {
  const isSuccess = exitCode === 0;
  const startedAt = pod.status.containerStatuses?.[0]?.state.running?.startedAt ?? null;
  const terminated = {
    exitCode,
    reason: reason ?? (isSuccess ? 'Completed' : 'Error'),
    ...(message !== undefined && message !== '' && { message }),
    startedAt,
    finishedAt: timestamp(),
  };
  const why = isSuccess ? 'PodCompleted' : 'PodFailed';
  return statusWith(pod, isSuccess ? 'Succeeded' : 'Failed', { terminated }, { isReady: false, reason: why });
}

/** Status after an eviction or a drain: a Job's `podFailurePolicy` looks for this condition. */
export const disruptedStatus = ({ status }: Pod, reason: string, message: string): PodStatus => ({
  ...status,
  conditions: withCondition(status.conditions, { type: 'DisruptionTarget', status: 'True', reason, message }),
});
