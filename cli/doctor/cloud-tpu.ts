import { findAccelerator } from '../../domain/accelerators.js';
import { machineTypeOf, gpusOf } from '../../domain/machine-kinds/compute-engine/machine-types.js';
import type { ComputeEngineRequest } from '../../domain/machine-kinds/compute-engine/words.js';
import type { Environment } from '../terminal/home.js';
import { readJobFile } from '../job/job-file.js';
import { typeOf } from './contract/bound.js';
import { checks } from './checks.js';
import type { Diagnosis, DoctorFlags } from './diagnosis.js';
import { readFacts } from './facts.js';
import { openGoogleProject } from './google.js';
import { Recorder } from './recordings/recording.js';
import { recordAnswers } from './record-answers.js';
import { NOTHING_IN_PARTICULAR, type Wanted, type WantedVms } from './wanted.js';

/** `jobctl doctor --gcp`: whether a Google project can run jobs on Cloud TPU, or the VMs of a job file. Flags say more than the job file. */
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

/** Reads the flags of a doctor that has no job file. */
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
