import type { z } from 'zod';
import { namesIn, referenceHint, RESOURCE_NAME } from '../../job-file/cloud-path.js';
import { given, section, text, wholeNumber } from '../../job-file/fields.js';
import type { PoolDefaults } from '../../job-file/pool-defaults.js';
import type { Report } from '../../job-file/report.js';
import { pricingOf, resolvePricing } from '../cloud-tpu/capacity-keys.js';
import { type GooglePlace, tpuSection } from '../cloud-tpu/words.js';
import {
  resolveLabels,
  resolveMetadata,
  resolveNames,
  resolveZones,
  warnOfSecretMetadata,
  withoutUndefined,
} from '../cloud-tpu/google-keys.js';
import {
  resolveDataDisks,
  resolveNetwork,
  resolveScopes,
  resolveServiceAccount,
} from '../cloud-tpu/google-resources.js';
import type { RequestContext, ResolvedRequest } from '../kind.js';
import {
  isMachineType,
  isTpuMachineType,
  machineTypeOf,
  takesAccelerators,
  gpusOf,
  sliceType,
  type AttachedAccelerator,
  type ComputeEngineRequest,
  type ComputeEngineSection,
} from './words.js';

/** Google's limit for the disks of a VM, boot disk included (cloud.google.com/compute/docs/disks, 2026). */
const MOST_DATA_DISKS = 127;
/** The boot image of VMs whose job names none. */
export const DEFAULT_IMAGE = 'projects/debian-cloud/global/images/family/debian-12';
/** Keys that a pool file gives to jobs of this kind too. */
const POOL_KEYS = ['zone', 'project'] as const;

/** The `compute_engine` section with its defaults, or undefined if the machine type is not usable, which is reported. */
export function resolveComputeEngine(
  form: ComputeEngineForm,
  context: RequestContext,
  report: Report,
): ResolvedRequest<ComputeEngineSection> | undefined {
  const { slices, pool } = context;
  const place: GooglePlace = { section: 'compute_engine', report };
  const own = pool === undefined ? form : withPool(form, pool);
  warnOfSecretMetadata(form, place);
  const count = given(own.count) ?? 1;
  const zones = resolveZones(own, context, place);
  const machineType = resolveMachineType(own, place);
  const accelerator = resolveAccelerator(own, machineType, place);
  const { network, subnetwork, tags } = resolveNetwork(own, zones, place);
  const { name, project } = resolveNames(own, place);
  const image = resolveImage(own, place);
  const common = {
    ...{ image, count, zones, tags },
    ...resolveCapacity(own, place),
    metadata: resolveMetadata(own, place),
    labels: resolveLabels(own, place),
    externalIps: own.external_ips ?? true,
    ...withoutUndefined({
      ...{ name, project, network, subnetwork, accelerator },
      startupScript: given(own.startup_script),
      serviceAccount: resolveServiceAccount(own, place),
      scopes: resolveScopes(own, place),
      diskGb: given(own.disk_gb),
      diskType: resolveDiskType(own, place),
      dataDisks: resolveDataDisks(own, { zones, most: MOST_DATA_DISKS, hosts: count * slices }, place),
    }),
  };
  if (machineType === undefined) return undefined;
  const request: ComputeEngineRequest = { ...common, machineType };
  if (image === DEFAULT_IMAGE && gpusOf(request) !== undefined)
    report.warn(['compute_engine', 'image'], `the default image, ${DEFAULT_IMAGE}, has no driver for GPUs`);
  return {
    request: { compute_engine: request },
    slice: { type: sliceType(request), hosts: count },
    ...withoutUndefined({ namedPricing: pricingOf(form) }),
    leftToPool: pool === undefined ? POOL_KEYS.filter((key) => !isSaid(form, key)) : [],
  };
}

const isSaid = (form: ComputeEngineForm, key: (typeof POOL_KEYS)[number]): boolean =>
  given(key === 'zone' ? (form.zone ?? form.zones) : form.project) !== undefined;

/** Adds the pool's zones and Google project, unless the job has its own. The pool file's other defaults are for Cloud TPU. */
function withPool(form: ComputeEngineForm, { zones, googleProject }: PoolDefaults): ComputeEngineForm {
  return {
    ...form,
    ...(zones !== undefined && !isSaid(form, 'zone') && { zones: [...zones] }),
    ...(googleProject !== undefined && !isSaid(form, 'project') && { project: googleProject }),
  };
}

function resolveMachineType(form: ComputeEngineForm, { section, report }: GooglePlace): string | undefined {
  const path = [section, 'machine_type'];
  const name = given(form.machine_type);
  if (name === undefined) {
    report.missing(path, 'such as machine_type: g2-standard-8');
    return undefined;
  }
  if (!isMachineType(name)) {
    report.wrong(
      path,
      name,
      'no machine type',
      'small letters, digits and dashes, such as g2-standard-8 or n2-standard-8',
    );
    return undefined;
  }
  if (isTpuMachineType(name)) {
    report.wrong(path, name, 'a machine type with TPUs', 'VMs with TPUs are asked for by tpu: {accelerator: ..}');
    return undefined;
  }
  const { cpus, gpus } = machineTypeOf(name);
  if (cpus !== undefined || gpus !== undefined || given(form.accelerator) !== undefined) return name;
  const hint =
    'quota counts the vCPUs of VMs without GPUs: take a type whose name says how many, such as n2-standard-8';
  report.wrong(path, name, 'a machine type that jobctl does not know', hint);
  return undefined;
}

function resolveAccelerator(
  { accelerator: form }: ComputeEngineForm,
  machineType: string | undefined,
  { section, report }: GooglePlace,
): AttachedAccelerator | undefined {
  if (form === null || form === undefined) return undefined;
  const path = [section, 'accelerator'];
  const type = given(form.type);
  if (type === undefined) report.missing([...path, 'type'], 'such as type: nvidia-tesla-t4');
  else if (!RESOURCE_NAME.test(type))
    report.wrong(
      [...path, 'type'],
      type,
      'no accelerator',
      'small letters, digits and dashes, such as nvidia-tesla-t4',
    );
  if (machineType !== undefined) checkAttachable(machineType, form, path, report);
  return type === undefined ? undefined : { type, count: given(form.count) ?? 1 };
}

function checkAttachable(machineType: string, accelerator: object, path: readonly string[], report: Report): void {
  const { gpus } = machineTypeOf(machineType);
  if (gpus !== undefined) {
    const message = `is for machine types without GPUs, and ${machineType} has ${gpus.count} ${gpus.type}`;
    report.problem(path, accelerator, message, 'leave accelerator out');
  } else if (!takesAccelerators(machineType)) {
    const message = `is for machine types of N1, and machine_type is ${machineType}`;
    report.problem(
      path,
      accelerator,
      message,
      'write machine_type: n1-standard-8, or take a type with GPUs: g2-standard-8',
    );
  }
}

const IMAGE_FORMS =
  'PROJECT/FAMILY such as debian-cloud/debian-12, or projects/P/global/images/NAME, or projects/P/global/images/family/FAMILY';

function resolveImage(form: ComputeEngineForm, { section, report }: GooglePlace): string {
  const image = given(form.image);
  if (image === undefined) return DEFAULT_IMAGE;
  const [project = '', family = '', ...rest] = image.split('/');
  if (rest.length === 0 && project !== '' && RESOURCE_NAME.test(family))
    return `projects/${project}/global/images/family/${family}`;
  if (/^projects\/[^/]+\/global\/images\/(family\/)?[a-z]([a-z0-9-]*[a-z0-9])?$/.test(image)) return image;
  report.wrong([section, 'image'], image, 'no image', referenceHint(image, IMAGE_FORMS));
  return image;
}

function resolveDiskType(form: ComputeEngineForm, { section, report }: GooglePlace): string | undefined {
  const type = given(form.disk_type);
  if (type !== undefined && !RESOURCE_NAME.test(type))
    report.wrong([section, 'disk_type'], type, 'no type of disk', 'such as pd-balanced, pd-ssd or hyperdisk-balanced');
  return type;
}

const RESERVATION_FORMS = "a reservation's name, or of another project projects/OWNER/reservations/NAME";

/** A named reservation implies pricing reserved. */
function resolveCapacity(
  form: ComputeEngineForm,
  { section, report }: GooglePlace,
): Pick<ComputeEngineRequest, 'pricing' | 'reservation'> {
  const reservation = given(form.reservation);
  const pricing = resolvePricing(form, reservation === undefined ? 'spot' : 'reserved', report, section);
  if (reservation === undefined) return { pricing: pricing ?? 'spot' };
  const path = [section, 'reservation'];
  if (!RESOURCE_NAME.test(reservation) && namesIn(reservation, ['projects', 'reservations']) === undefined)
    report.wrong(path, reservation, 'no reservation', referenceHint(reservation, RESERVATION_FORMS));
  else if (pricing !== undefined && pricing !== 'reserved') {
    const message = `a reservation is used with pricing reserved only, and pricing is ${pricing}`;
    report.problem(path, reservation, message, 'write pricing: reserved');
  }
  return { pricing: pricing ?? 'spot', reservation };
}

/** The most VMs of one slice. */
export const MOST_VMS = 256;
/** Sizes of Compute Engine's smallest and largest boot disk, in GB. */
const LEAST_DISK_GB = 10;
const MOST_DISK_GB = 65_536;

const accelerator = section({
  type: text().nullish().describe('Such as nvidia-tesla-t4.'),
  count: wholeNumber(1, 16).nullish().describe('On each VM; 1 without it.'),
});

const schema = section({
  machine_type: text().nullish().describe('Such as g2-standard-8, which has one L4, or n2-standard-8.'),
  count: wholeNumber(1, MOST_VMS).nullish().describe('VMs of one slice, one host each; 1 without it.'),
  accelerator: accelerator.nullish().describe('GPUs that are attached to a machine type of N1.'),
  image: text()
    .nullish()
    .describe(
      'PROJECT/FAMILY, or projects/P/global/images/NAME, or projects/P/global/images/family/FAMILY; debian-cloud/debian-12 without it.',
    ),
  disk_gb: wholeNumber(LEAST_DISK_GB, MOST_DISK_GB).nullish().describe("Of the boot disk; the image's without it."),
  disk_type: text().nullish().describe("Of the boot disk, such as pd-ssd; Compute Engine's default without it."),
  ...tpuSection().pick({
    name: true,
    zone: true,
    zones: true,
    project: true,
    pricing: true,
    startup_script: true,
    tags: true,
    metadata: true,
    network: true,
    subnetwork: true,
    external_ips: true,
    service_account: true,
    scopes: true,
    data_disks: true,
  }).shape,
  labels: tpuSection().shape.labels.describe('Of the VMs; a-z, 0-9, - and _.'),
  reservation: text()
    .nullish()
    .describe('Name of a reservation, or projects/OWNER/reservations/NAME; with pricing reserved. Any without it.'),
});

/** The form of `compute_engine` in a job file. */
export const computeEngineSection = (): typeof schema => schema;

type ComputeEngineForm = z.infer<typeof schema>;
