import { findAccelerator } from '../../../domain/accelerators.js';
import { acceleratorHint } from '../../../domain/job-file/accelerator.js';
import type { Environment } from '../dev/home.js';
import { CliError } from '../cli-error.js';
import { checks } from '../doctor/checks.js';
import { readFacts } from '../doctor/facts.js';
import type { Finding } from '../doctor/finding.js';
import { openGoogleProject } from '../doctor/google.js';
import { NOTHING_IN_PARTICULAR } from '../doctor/wanted.js';
import type { Wanted } from '../doctor/wanted.js';
import { ExitCode } from '../exit-codes.js';
import { readJobFile } from '../job-file.js';
import type { OutputFlag } from '../options.js';
import { renderFindings } from '../render/findings.js';
import { terminalWidth } from '../render/width.js';

export interface DoctorFlags extends OutputFlag {
  readonly gcp?: true;
  readonly googleProject?: string;
  readonly zone?: readonly string[];
  readonly accelerator?: string;
  readonly bucket?: string;
  readonly network?: string;
  readonly subnetwork?: string;
  readonly serviceAccount?: string;
  readonly externalIps: boolean;
  readonly storeEndpoint?: string;
  readonly googleApiEndpoint?: string;
}

/** Looks before money is spent. Exit code 0: nothing is FAILED; 1: something is. Needs nothing of Temporal. */
export async function doctor(
  file: string | undefined,
  flags: DoctorFlags,
  env: Environment = process.env,
): Promise<number> {
  if (flags.gcp !== true) throw nothingToLookAt();
  const fromFile = file === undefined ? { wanted: {} } : await wantedByJobFile(file);
  const named = flags.googleProject ?? fromFile.googleProject;
  const google = await openGoogleProject({ ...flags, ...(named === undefined ? {} : { googleProject: named }) }, env);
  const bucket = flags.bucket ?? google.bucket;
  const wanted = {
    ...NOTHING_IN_PARTICULAR,
    ...fromFile.wanted,
    ...wantedByFlags(flags),
    ...(bucket === undefined ? {} : { bucket }),
  };
  const findings = checks(await readFacts(google.port, wanted), wanted);
  print(google.port.googleProject, findings, flags.output);
  return findings.some(({ state }) => state === 'failed') ? ExitCode.Failed : ExitCode.Done;
}

function nothingToLookAt(): CliError {
  return new CliError(
    ExitCode.Usage,
    'jobctl doctor: what is to be looked at?',
    '--gcp: a Google project, its rights, limits and network',
  );
}

function print(googleProject: string, findings: readonly Finding[], output: OutputFlag['output']): void {
  const isOk = !findings.some(({ state }) => state === 'failed');
  const text =
    output === 'json'
      ? JSON.stringify({ googleProject, ok: isOk, findings }, null, 2)
      : renderFindings(findings, terminalWidth(process.stdout)).join('\n');
  process.stdout.write(`${text}\n`);
}

async function wantedByJobFile(
  file: string,
): Promise<{ readonly googleProject?: string; readonly wanted: Partial<Wanted> }> {
  const { spec } = await readJobFile(file, { set: [], isDry: true });
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

/** What a flag says alone: the job file says the rest. */
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
      accelerator: accelerator === undefined ? undefined : typeNamed(accelerator),
      network,
      subnetwork,
      serviceAccount,
    }),
  };
}

function typeNamed(name: string): NonNullable<Wanted['accelerator']> {
  const type = findAccelerator(name);
  if (type !== undefined) return type;
  throw new CliError(
    ExitCode.Usage,
    `--accelerator: '${name}' is no Cloud TPU type`,
    ...acceleratorHint(name).split('\n'),
  );
}

function present<T extends object>(values: T): { [K in keyof T]?: NonNullable<T[K]> } {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: NonNullable<T[K]>;
  };
}
