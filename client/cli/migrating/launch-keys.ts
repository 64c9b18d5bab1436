import { jobNameFrom } from '../../../domain/identity.js';
import { showValue } from '../../../domain/problem.js';
import type { Draft, KeyRule, Told } from './draft.js';

const NO_IMAGE =
  'jobctl builds no images: the current folder goes to every host as it is (bundle), or a pushed image is named in docker.image';

/** Flags of `launch submit` of Astera's launch. */
export const ASTERA_FLAGS: readonly KeyRule[] = [
  { key: '--build', note: NO_IMAGE },
  {
    key: '--execution',
    note: 'jobctl runs on Cloud TPU VMs; in a job file on pods too (kubernetes: {image: .., workers: 4}), and not on Ray',
  },
  {
    key: '--workers',
    to: 'slices',
    put: putWorkers,
    note: 'a worker becomes a slice of one host; $JOBCTL_SLICE_INDEX and $JOBCTL_NUM_SLICES tell them apart',
  },
  {
    key: '--gpus',
    put: putGpus,
    note: 'Cloud TPU has no GPUs: tpu.accelerator says which TPU it is instead; pods have kubernetes.gpus',
  },
  {
    key: '--allow-dirty',
    isSwitch: true,
    fate: 'kept',
    note: 'a bundle is the folder as it is; its .git.diff goes with it',
  },
  { key: '--allow-unpushed', isSwitch: true, fate: 'kept', note: 'nothing is fetched from a remote' },
  { key: '--name-prefix', to: 'name', put: putPrefix, note: 'ids of jobs are made from it' },
];

function putWorkers(value: unknown, draft: Draft): Partial<Told> | undefined {
  const workers = Number(value);
  if (!Number.isInteger(workers) || workers < 1)
    return { fate: 'lost', text: `${showValue(value)} is no number of workers` };
  if (workers === 1) return { fate: 'kept', text: 'one slice of one host' };
  draft.set('slices', workers);
  return undefined;
}

function putGpus(value: unknown): Partial<Told> | undefined {
  return Number(value) === 0 ? { fate: 'kept', text: 'no GPUs' } : undefined;
}

function putPrefix(value: unknown, draft: Draft): void {
  draft.set('name', jobNameFrom(String(value)));
}
