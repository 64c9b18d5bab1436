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
    to: 'ray',
    put: putExecution,
    note: '`ray` becomes `ray: {}`: Ray on all hosts, from venv, conda or an image, without autoscaling, and the command on the first host; `kubernetes` is a section of a job file: `kubernetes: {image: .., workers: 4}`',
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

function putExecution(value: unknown, draft: Draft): Partial<Told> {
  if (value === 'ray') {
    draft.set('ray', {});
    const text =
      'ray = {}: Ray on all hosts, the command on the first one; venv, conda or the bundle has to install Ray';
    return { fate: 'changed', text };
  }
  const pods = '--tpu is for Cloud TPU VMs; pods are a section of a job file (kubernetes: {image: .., workers: 4})';
  return { fate: 'lost', text: value === 'kubernetes' ? pods : `${showValue(value)} is no --execution of launch` };
}

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
