import type { Draws } from '../random.js';
import { answersLost, type DeedDo, lasting, seconds } from './cloud-deeds.js';
import type { RunningPod } from './pods.js';
import type { Stage } from './stage.js';

/** Ends a running pod in a way that jobctl did not ask for. */
async function ends(
  stage: Stage,
  draws: Draws,
  by: { readonly text: (pod: RunningPod) => string; readonly call: (pod: RunningPod) => Promise<void> },
): Promise<boolean> {
  const pods = await stage.stack.pods.running();
  if (pods.length === 0) return false;
  const pod = draws.pick(pods);
  // Told first: its end may be seen before this call is answered.
  stage.note('preempt', by.text(pod), { resource: pod.slice });
  await by.call(pod);
  return true;
}

/** Makes the API server refuse calls for a while. */
async function refused(
  stage: Stage,
  draws: Draws,
  { method, code, message, text }: { method: string; code: string; message: string; text: string },
): Promise<boolean> {
  const forMs = lasting(stage, draws);
  await stage.admin.post('refuse', { method, code, message, forMs });
  stage.note('fault', `${text} for ${seconds(forMs)}`);
  return true;
}

/** Faults of pods and of their API server. */
export const POD_DEEDS: Readonly<Record<string, DeedDo>> = {
  'a pod is evicted': (stage, draws) =>
    ends(stage, draws, {
      text: ({ name }) => `Kubernetes evicts ${name}`,
      call: ({ name }) => stage.stack.pods.evict(name),
    }),
  'a pod is deleted': (stage, draws) => {
    const grace = draws.pick([0, 1, 30]);
    return ends(stage, draws, {
      text: ({ name }) => `a person deletes the pod ${name}, with ${grace} s of grace`,
      call: ({ name }) => stage.stack.pods.deletePod(name, grace),
    });
  },
  'a Job of pods is deleted': (stage, draws) =>
    ends(stage, draws, {
      text: ({ slice }) => `a person deletes the Job ${slice}`,
      call: ({ slice }) => stage.stack.pods.deleteJob(slice),
    }),
  'the API server is down': (stage, draws) =>
    refused(stage, draws, {
      ...{ method: 'kubernetes.*', code: 'UNAVAILABLE', message: 'apiserver is shutting down' },
      text: 'Kubernetes answers nothing but 503',
    }),
  'Kubernetes forbids': (stage, draws) =>
    refused(stage, draws, {
      ...{ method: draws.pick(['kubernetes.*', 'kubernetes.create', 'kubernetes.get', 'kubernetes.delete']) },
      ...draws.pick([
        { code: 'PERMISSION_DENIED', message: 'jobs.batch is forbidden: User "worker" cannot use resource "jobs"' },
        { code: 'UNAUTHENTICATED', message: 'Unauthorized' },
      ]),
      text: 'Kubernetes refuses calls of the worker',
    }),
  'exec is refused': (stage, draws) =>
    refused(stage, draws, {
      ...{ method: 'kubernetes.exec', code: 'INTERNAL', message: 'error dialing backend: EOF' },
      text: 'no command can be run in a pod',
    }),
  'an answer of Kubernetes is lost': (stage, draws) => {
    const methods = ['kubernetes.create', 'kubernetes.create', 'kubernetes.delete'];
    return answersLost(stage, draws, methods, 'http2: client connection lost');
  },
  'no node has room': async (stage, draws) => {
    const forMs = lasting(stage, draws);
    const usual = await stage.admin.nodes();
    // Another deed has replaced the nodes already, and it knows the usual ones.
    if (usual.length === 1) return false;
    await stage.admin.setNodes([{ name: 'full', cpus: draws.pick(['100m', 1]) }]);
    stage.endAfter(forMs, () => stage.admin.setNodes(usual));
    stage.note('fault', `the nodes of Kubernetes have hardly any room for ${seconds(forMs)}`);
    return true;
  },
};
