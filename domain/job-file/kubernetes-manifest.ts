import { shellQuote } from '../shell-quote.js';
import { isMapping, type Mapping, valueAt } from './plain-tree.js';

/** Paths of the pod spec in a Pod, a Job or Deployment, and a JobSet. The spec around it has the number of pods. */
const POD_SPECS = [
  ['spec'],
  ['spec', 'template', 'spec'],
  ['spec', 'replicatedJobs', 0, 'template', 'spec', 'template', 'spec'],
] as const;
const COUNTS = ['completions', 'parallelism', 'replicas'] as const;

/** The lines of a job file that correspond to a Kubernetes manifest (docs/kubernetes.md), as far as the manifest tells them. */
export function manifestLines(tree: Mapping): readonly string[] {
  const path = POD_SPECS.find((each) => Array.isArray(valueAt(tree, [...each, 'containers'])));
  const pod = path === undefined ? undefined : valueAt(tree, path);
  const owner = path === undefined ? undefined : valueAt(tree, path.slice(0, -2));
  const container = valueAt(pod, ['containers', 0]);
  const words = [valueAt(container, ['command']), valueAt(container, ['args'])].flatMap((part) =>
    Array.isArray(part) ? part.map(String) : [],
  );
  const name = valueAt(tree, ['metadata', 'name']);
  const keys = [
    ...imageKey(container),
    ...COUNTS.map((key) => valueAt(owner, [key]))
      .filter((count) => typeof count === 'number')
      .slice(0, 1)
      .map((count) => `workers: ${count}`),
    ...deviceKeys(pod, container),
  ];
  return [
    ...(typeof name === 'string' ? [`name: ${name}`] : []),
    `kubernetes: {${keys.join(', ')}}`,
    `command: {run: ${words.length === 0 ? '..' : JSON.stringify(words.map(shellQuote).join(' '))}}`,
  ];
}

function imageKey(container: unknown): readonly string[] {
  const image = valueAt(container, ['image']);
  return [`image: ${typeof image === 'string' ? image : '..'}`];
}

/** GKE's TPUs by their node selectors, GPUs by their number. No manifest says the GPU type that quota counts. */
function deviceKeys(pod: unknown, container: unknown): readonly string[] {
  const selector = valueAt(pod, ['nodeSelector']);
  const [accelerator, topology] = ['accelerator', 'topology'].map((key) =>
    isMapping(selector) ? selector[`cloud.google.com/gke-tpu-${key}`] : undefined,
  );
  const limits = valueAt(container, ['resources', 'limits']);
  const gpus = isMapping(limits) ? limits['nvidia.com/gpu'] : undefined;
  return [
    ...(typeof accelerator === 'string' ? [`tpu: {accelerator: ${accelerator}, topology: ${String(topology)}}`] : []),
    ...(gpus === undefined ? [] : [`gpus: ${String(gpus)}, gpu_type: ..`]),
  ];
}
