import { findAccelerator } from '../../domain/accelerators.js';
import { machineTypeOf, gpusOf, type ComputeEngineRequest } from '../../domain/machine-kinds/compute-engine/words.js';
import type { Environment } from '../terminal/home.js';
import { readJobFile } from '../job/job-file.js';
import { typeOf } from './contract/bound.js';
import { checks } from './checks.js';
import type { Diagnosis, DoctorFlags } from './finding.js';
import { readFacts, NOTHING_IN_PARTICULAR, type Wanted, type WantedVms } from './facts.js';
import { openGoogleProject } from './google.js';
import { Recorder, openRecordedTpu } from './recordings/recording.js';
import { randomBytes } from 'node:crypto';
import { zonePath } from '../../cloud/machines/cloud-tpu/create-request.js';
import type { TpuApi } from '../../cloud/machines/cloud-tpu/tpu-api.js';
import { suffixFrom } from '../../domain/identity.js';
import { attempt, isRefusal, type LifeMeans, SliceLife } from './contract/slice-life.js';
import { printErr } from '../terminal/print.js';

/** `jobctl doctor --gcp`: checks whether a Google project can run jobs. Flags take precedence over the job file. */
export async function diagnoseCloudTpu(
  file: string | undefined,
  flags: DoctorFlags,
  env: Environment,
): Promise<Diagnosis> {
  const fromFile = file === undefined ? { wanted: {} } : await wantedByJobFile(file);
  const named = flags.googleProject ?? fromFile.googleProject;
  const recorder = flags.record === undefined ? undefined : new Recorder(flags.record, 'jobctl doctor --record');
  recorder?.about('what the checks ask');
  const google = await openGoogleProject(
    { ...flags, ...(named === undefined ? {} : { googleProject: named }) },
    env,
    recorder?.hear,
  );
  const wanted = {
    ...NOTHING_IN_PARTICULAR,
    ...fromFile.wanted,
    ...wantedByFlags(flags),
    ...present({
      bucket: flags.bucket ?? google.bucket,
      systemBucket: flags.systemBucket ?? google.systemBucket,
    }),
  };
  const findings = checks(await readFacts(google.port, wanted), wanted);
  if (recorder !== undefined) await recordAnswers(recorder, google.port.googleProject, wanted.zones, env);
  return { account: { googleProject: google.port.googleProject }, findings };
}

async function wantedByJobFile(
  file: string,
): Promise<{ readonly googleProject?: string; readonly wanted: Partial<Wanted> }> {
  const { spec } = await readJobFile(file, { set: [], isDry: true });
  if ('compute_engine' in spec) return wantedVms(spec.compute_engine, spec.slices);
  // A job for other machines says nothing about Google Cloud.
  if (!('tpu' in spec)) return { wanted: {} };
  const {
    accelerator: type,
    zones,
    runtimeVersion,
    tags,
    externalIps,
    network,
    subnetwork,
    serviceAccount,
    project,
  } = spec.tpu;
  const accelerator = findAccelerator(type);
  const wanted: Partial<Wanted> = {
    ...{ zones, runtimeVersion, tags, externalIps, slices: spec.slices },
    pricing: spec.tpu.pricing === 'any' ? 'spot' : spec.tpu.pricing,
    ...present({ accelerator, network, subnetwork, serviceAccount }),
  };
  return { ...(project === undefined ? {} : { googleProject: project }), wanted };
}

function wantedVms(
  { count, machineType, accelerator, zones, pricing, tags, externalIps, project, ...rest }: ComputeEngineRequest,
  slices: number,
): { readonly googleProject?: string; readonly wanted: Partial<Wanted> } {
  const { network, subnetwork, serviceAccount } = rest;
  const vms = present({
    ...{ machineType, count, accelerator: accelerator?.type, cpus: machineTypeOf(machineType).cpus },
    gpus: gpusOf({ machineType, ...(accelerator !== undefined && { accelerator }) }),
  }) as WantedVms;
  const wanted: Partial<Wanted> = {
    ...{ vms, slices, zones, tags, externalIps, pricing: pricing === 'any' ? 'spot' : pricing },
    ...present({ network, subnetwork, serviceAccount }),
  };
  return { ...(project === undefined ? {} : { googleProject: project }), wanted };
}

/** The resources that the flags of `doctor` describe, if there is no job file. */
function wantedByFlags({
  zone,
  accelerator,
  network,
  subnetwork,
  serviceAccount,
  externalIps,
}: DoctorFlags): Partial<Wanted> {
  return {
    ...(zone === undefined ? {} : { zones: zone }),
    ...(externalIps ? {} : { externalIps }),
    ...present({
      accelerator: accelerator === undefined ? undefined : typeOf(accelerator),
      network,
      subnetwork,
      serviceAccount,
    }),
  };
}

function present<T extends object>(values: T): { [K in keyof T]?: NonNullable<T[K]> } {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: NonNullable<T[K]>;
  };
}

/** No zone of Google has this form. The type and the runtime below do not exist either. */
const NO_ZONE = 'nowhere-none1-z';
const NO_NODE = { acceleratorType: 'v0-none', runtimeVersion: 'jobctl-none' };

/** Records reads and refused calls, made with the client that workers use. Of `zones`, only the first is asked. */
async function recordAnswers(
  recorder: Recorder,
  googleProject: string,
  zones: readonly string[],
  env: Environment,
): Promise<void> {
  const tpu = await openRecordedTpu(recorder.hear, env['JOBCTL_TPU_ENDPOINT'] || undefined).catch((error: unknown) => {
    // Answers to the checks are kept even if the TPU client is not available.
    recorder.write(googleProject);
    throw error;
  });
  const about = (text: string): void => recorder.about(text);
  try {
    about('listings of all zones, and of one that does not exist');
    for (const zone of ['-', NO_ZONE]) await listings(tpu.api, zonePath(googleProject, zone));
    const [zone] = zones;
    if (zone === undefined) printErr('no --zone is named: what one zone answers is not recorded\n');
    else
      await ofZone({ api: tpu.api, about, save: () => undefined, tell: tellLine, everyMs: 5000 }, googleProject, zone);
  } finally {
    await tpu.close();
    const count = recorder.write(googleProject);
    printErr(`${count} recordings written; read them before you pass them on\n`);
  }
}

const tellLine = (line: string): void => printErr(`${line}\n`);

async function listings(api: TpuApi, parent: string): Promise<void> {
  await attempt(api.listNodes(parent));
  await attempt(api.listQueuedResources(parent));
}

async function ofZone(means: LifeMeans, googleProject: string, zone: string): Promise<void> {
  const { api, about } = means;
  const parent = zonePath(googleProject, zone);
  const name = `jobctl-doctor-${suffixFrom(randomBytes(8))}`;
  about('listings of one zone');
  await listings(api, parent);
  about('what does not exist');
  for (const call of [
    () => api.getNode(`${parent}/nodes/${name}`),
    () => api.getQueuedResource(`${parent}/queuedResources/${name}`),
    () => api.getOperation(`${parent}/operations/${name}`),
    () => api.deleteNode(`${parent}/nodes/${name}`),
    () => api.deleteQueuedResource(`${parent}/queuedResources/${name}`),
  ])
    await attempt(call());
  about('create calls of a type and a runtime that do not exist');
  await refusedCreates(means, { googleProject, zone, name });
}

interface Place {
  readonly googleProject: string;
  readonly zone: string;
  readonly name: string;
}

/** Makes create calls that Google must refuse. If one is not clearly refused, its result is looked for and deleted. */
async function refusedCreates(means: LifeMeans, place: Place): Promise<void> {
  const parent = zonePath(place.googleProject, place.zone);
  const nodeSpec = [{ parent, nodeId: place.name, node: NO_NODE }];
  const queuedResource = { tpu: { nodeSpec }, spot: {} };
  const failures = [
    await attempt(means.api.createQueuedResource({ parent, queuedResourceId: place.name, queuedResource })),
    await attempt(means.api.createNode({ parent, nodeId: place.name, node: NO_NODE })),
  ];
  if (failures.every((failure) => failure !== undefined && isRefusal(failure))) return;
  means.tell(`a create call of a type that does not exist was not refused: ${place.name} is looked for, and deleted`);
  const ref = { kind: 'cloud-tpu', mode: 'queued-resources', ...place } as const;
  await new SliceLife(means, { ref, owner: place.name }).remove(new AbortController().signal);
}
