import { jobNameFrom } from '../../../domain/identity.js';
import { isMapping } from '../../../domain/job-file/plain-tree.js';
import { showValue } from '../../../domain/problem.js';
import { type Draft, type KeyRule, type Told } from './draft.js';

const OWN_VM = "Bastion ran it on the bastion's VM; jobctl runs it on every host of the slice";

/** Keys of a Bastion job spec (JSON), as AXLearn's `serialize_jobspec` writes it. */
export const JOBSPEC_KEYS: readonly KeyRule[] = [
  { key: 'version', fate: 'kept', note: 'it is the version of the format and says nothing of the job' },
  {
    key: 'name',
    to: 'name',
    put: putName,
    note: 'ids of jobs are made from it; `submit --name` makes the id exactly that',
  },
  {
    key: 'command',
    to: 'command.run',
    note: `${OWN_VM}. A command that is a \`launch run\` line is read as that line`,
    put: (value, draft) => draft.set('command.run', String(value)),
  },
  {
    key: 'cleanup_command',
    to: 'hooks.finally',
    note: "Bastion ran it on the bastion's VM; jobctl runs it on the job's first host before the slice is deleted, or not at all if the host is lost by then",
    put: putCleanup,
  },
  { key: 'env_vars', to: 'env', put: putEnv },
  { key: 'metadata.user_id', to: 'user' },
  { key: 'metadata.project_id', to: 'project', put: putProject },
  { key: 'metadata.priority', to: 'priority', put: putPriority },
  {
    key: 'metadata.resources',
    to: 'tpu.accelerator',
    put: putResources,
    note: 'one slice of that many cores, which is what the number counts for v2 to v4 and v5p; {} becomes `machines: {}`',
  },
  { key: 'metadata.creation_time', note: 'a submit is a new job with its own time: it goes to the end of the line' },
  {
    key: 'metadata.job_id',
    note: 'a submit is a new job with an id of its own',
    put: noneIfNull,
  },
  {
    key: 'metadata.version',
    note: 'it counts updates of a running job; `jobctl restart JOB --set` starts a new attempt of one',
    put: noneIfNull,
  },
  { key: 'topologies', to: 'tpu.topology', put: putTopologies },
  {
    key: 'scaling',
    note: 'a job has a fixed number of slices: `slices`',
    put: noneIfNull,
  },
];

const GOOGLES = 'of Google, as a pool file may give it for all jobs';

/** Flags of `axlearn gcp launch`, and of the `launch run` line inside a job spec. */
export const LAUNCH_FLAGS: readonly KeyRule[] = [
  { key: '--instance_type', to: 'tpu.accelerator' },
  { key: '--num_slices', to: 'slices', put: (value, draft) => draft.set('slices', Number(value)) },
  { key: '--num_replicas', to: 'slices', put: (value, draft) => draft.set('slices', Number(value)) },
  {
    key: '--name',
    to: 'name',
    put: putName,
    note: 'ids of jobs are made from it; `submit --name` makes the id exactly that',
  },
  { key: '--project_id', to: 'project', put: putProject },
  { key: '--user_id', to: 'user' },
  { key: '--priority', to: 'priority', put: putPriority },
  {
    key: '--max_tries',
    to: 'retries.task',
    put: putTries,
    note: 'tries are 1 more than retries; preemptions and lost hosts have budgets of their own (retries.preemption, retries.infrastructure)',
  },
  { key: '--retry_interval', passes: true, note: 'jobctl waits before a retry by itself: from 2 s, doubled' },
  { key: '--env', to: 'env', put: putEnvFlag },
  {
    key: '--bundler_type',
    to: 'bundle.dir',
    put: putBundler,
    note: 'the current folder goes to every host as it is; `docker`, `artifactregistry` and `cloudbuild` become `build`: the image of the commit (docs/build.md)',
  },
  {
    key: '--bundler_spec',
    put: putBundlerSpec,
    note: 'of an image: repo and image become build.image, dockerfile, target and platform the keys of `build`, allow_dirty `--allow-dirty`, every other word a build argument. Of a bundle: `extras` goes to bundle.install, allow_dirty needs no word, and the others are lost',
  },
  { key: '--bundler_exclude', to: 'bundle.exclude', put: putExclude },
  { key: '--dry_run', isSwitch: true, fate: 'kept', note: '`jobctl submit --dry-run` does it' },
  { key: '--project', to: 'tpu.project', note: `the project ${GOOGLES}` },
  { key: '--zone', to: 'tpu.zone' },
  { key: '--service_account', to: 'tpu.service_account' },
  {
    key: '--reservation',
    to: 'tpu.reservation',
    note: 'it needs pricing: reserved',
    put: (value, draft) => {
      draft.set('tpu.reservation', value);
      draft.set('tpu.pricing', 'reserved');
    },
  },
  {
    key: '--bastion',
    passes: true,
    note: 'the pool is chosen by `pool` in the job file, the server by TEMPORAL_ADDRESS or --temporal-address',
  },
  { key: '--output_dir', passes: true, note: 'logs go to the bucket of the installation; `jobctl logs` reads them' },
  { key: '--env_id', passes: true, note: 'defaults of a Google project are in the pool file' },
  { key: '--runner_module', passes: true, note: 'jobctl has one way to run a job on TPU VMs' },
  { key: '--runner_name', passes: true, note: 'jobctl has one way to run a job on TPU VMs' },
  {
    key: '--enable_pre_provisioner',
    passes: true,
    isSwitch: true,
    note: 'it keeps node pools of Kubernetes, which jobctl does not use; `jobctl restart` keeps the slices of a job',
  },
  {
    key: '--vertexai_tensorboard',
    passes: true,
    note: 'jobctl uploads nothing to Vertex AI: write to a bucket and run TensorBoard on it',
  },
];

/** Variables that Bastion set for a command. */
export const BASTION_VARIABLES: readonly KeyRule[] = [
  { key: 'TPU_TYPE', to: '${tpu.accelerator}', note: 'in command.run; jobctl sets no variable' },
  { key: 'NUM_TPU_SLICES', to: '$JOBCTL_NUM_SLICES' },
  { key: 'MEGASCALE_COORDINATOR_ADDRESS', to: '$MEGASCALE_COORDINATOR_ADDRESS', note: 'set with two slices or more' },
  { key: 'BASTION_TIER', note: "a job does not see its tier; `jobctl status` shows the job's pricing" },
  ...['GCS_RESOLVE_REFRESH_SECS', 'TPU_STDERR_LOG_LEVEL', 'TPU_MIN_LOG_LEVEL', 'TF_CPP_MIN_LOG_LEVEL', 'XLA_FLAGS'].map(
    (key): KeyRule => ({ key, to: 'env', note: 'jobctl does not set it: write it into env' }),
  ),
];

/** Reports an absent value as kept: AXLearn writes null or an empty text for it. */
function noneIfNull(value: unknown): Partial<Told> | undefined {
  return value === null || value === '' ? { fate: 'kept', text: 'there is none' } : undefined;
}

function putCleanup(value: unknown, draft: Draft): Partial<Told> | undefined {
  const none = noneIfNull(value);
  if (none !== undefined) return none;
  draft.set('hooks.finally.run', String(value));
  return undefined;
}

function putName(value: unknown, draft: Draft): Partial<Told> | undefined {
  const name = jobNameFrom(String(value));
  draft.set('name', name);
  if (name === value) return undefined;
  return {
    fate: 'changed',
    text: `name = ${showValue(name)}: a name has small letters, digits and dashes, 40 at most`,
  };
}

function putProject(value: unknown, draft: Draft): Partial<Told> | undefined {
  if (value !== 'none' && value !== null) {
    draft.set('project', value);
    return undefined;
  }
  return { fate: 'kept', text: 'no project: jobctl then takes the only one of its user, or none' };
}

function putPriority(value: unknown, draft: Draft): Partial<Told> | undefined {
  const number = Number(value);
  const within = Math.min(5, Math.max(1, number));
  draft.set('priority', Number.isInteger(number) ? within : value);
  if (within === number || !Number.isInteger(number)) return undefined;
  return { fate: 'changed', text: `priority = ${within}: 1 is the highest and 5 the lowest` };
}

function putTries(value: unknown, draft: Draft): Partial<Told> | undefined {
  const tries = Number(value);
  if (Number.isInteger(tries) && tries >= 1) {
    draft.set('retries.task', tries - 1);
    return undefined;
  }
  return { fate: 'lost', text: `${showValue(value)} is no number of tries: 1 or more` };
}

function putEnv(value: unknown, draft: Draft): Partial<Told> | undefined {
  if (value === null) return { fate: 'kept', text: 'there are none' };
  for (const [name, text] of Object.entries(isMapping(value) ? value : {})) draft.set(`env.${name}`, text);
  return undefined;
}

function putEnvFlag(value: unknown, draft: Draft): Partial<Told> {
  const [, name, text = ''] = /^([^:=]+)[:=]([^]*)$/.exec(String(value)) ?? [];
  if (name === undefined) return { fate: 'lost', text: `${showValue(value)} is not NAME:VALUE` };
  draft.set(`env.${name}`, text);
  return { fate: 'kept', text: `env.${name} = ${showValue(text)}` };
}

/** AXLearn's bundlers that build an image. */
const IMAGE_BUNDLERS = ['docker', 'artifactregistry', 'cloudbuild'];
const BUILD_KEYS = ['dockerfile', 'target', 'platform'];

function putBundler(value: unknown, draft: Draft): Partial<Told> | undefined {
  if (!IMAGE_BUNDLERS.includes(String(value))) {
    draft.set('bundle.dir', '.');
    return undefined;
  }
  draft.set('build', {});
  return { fate: 'changed', text: 'build: the image is built at submit, from the commit of the current folder' };
}

/** Sets the image's repository, once all bundler options are known. Without a repository there is no build. */
export function nameImage(draft: Draft, specs: readonly string[]): void {
  if (draft.get('build') === undefined) return;
  const wordOf = (key: string): string | undefined =>
    specs.find((spec) => spec.startsWith(`${key}=`))?.slice(key.length + 1);
  const [repo, image] = [wordOf('repo'), wordOf('image')];
  if (repo === undefined && image === undefined)
    draft.tell('(no repo)', 'lost', 'build.image is not known: write where the image is pushed');
  else draft.set('build.image', [repo, image ?? 'image'].filter((part) => part !== undefined).join('/'));
}

function putBundlerSpec(value: unknown, draft: Draft): Partial<Told> {
  const [, key = '', text = ''] = /^([^=]*)(?:=([^]*))?$/.exec(String(value)) ?? [];
  if (draft.get('build') !== undefined) return putBuildWord(key, text, draft);
  if (key === 'extras') {
    const install = `pip install -e '.[${text}]'`;
    draft.set('bundle.install', install);
    return { fate: 'kept', text: `bundle.install = ${showValue(install)}` };
  }
  if (key === 'allow_dirty')
    return { fate: 'kept', text: 'a bundle is the folder as it is; its .git.diff goes with it' };
  return { fate: 'lost', text: 'a bundle has no such word; of an image it is a key of build' };
}

function putBuildWord(key: string, text: string, draft: Draft): Partial<Told> {
  if (key === 'repo' || key === 'image') return { fate: 'kept', text: 'build.image' };
  if (key === 'allow_dirty') return { fate: 'kept', text: '--allow-dirty' };
  const path = BUILD_KEYS.includes(key) ? `build.${key}` : `build.args.${key}`;
  draft.set(path, text);
  return { fate: 'kept', text: `${path} = ${showValue(text)}` };
}

function putExclude(value: unknown, draft: Draft): Partial<Told> | undefined {
  if (draft.get('build') !== undefined)
    return { fate: 'lost', text: `write it into .dockerignore: ${showValue(value)}` };
  const before = draft.get('bundle.exclude');
  draft.set('bundle.dir', '.');
  draft.set('bundle.exclude', [...(Array.isArray(before) ? (before as unknown[]) : []), ...String(value).split(',')]);
  return undefined;
}

function putResources(value: unknown, draft: Draft): Partial<Told> {
  const [first, second] = Object.entries(isMapping(value) ? value : {});
  if (draft.get('tpu.accelerator') !== undefined)
    return { fate: 'kept', text: 'the same is said by --instance_type and --num_slices of its command' };
  if (first === undefined) {
    draft.set('machines', {});
    return {
      fate: 'changed',
      text: 'machines = {}: it names no resources, so it runs on one of the machines of the pool',
    };
  }
  const [type, amount] = first;
  const accelerator = `${type}-${String(amount)}`;
  draft.set('tpu.accelerator', accelerator);
  const rest = second === undefined ? '' : `; ${second[0]} is lost, since a job has slices of one type`;
  const text = `tpu.accelerator = ${accelerator}, as one slice; of several slices write their type, and slices: N${rest}`;
  return { fate: second === undefined ? 'changed' : 'lost', text };
}

function putTopologies(value: unknown, draft: Draft): Partial<Told> | undefined {
  const [only, ...more] = (Array.isArray(value) ? value : [value]) as unknown[];
  if (only === undefined || only === null) return { fate: 'kept', text: 'there are none' };
  draft.set('tpu.topology', only);
  return more.length === 0
    ? undefined
    : { fate: 'lost', text: `tpu.topology = ${showValue(only)}; all slices of a job have one topology` };
}
