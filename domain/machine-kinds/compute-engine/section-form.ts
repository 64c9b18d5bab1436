import type { z } from 'zod';
import { section, text, wholeNumber } from '../../job-file/fields.js';
import { tpuSection } from '../cloud-tpu/section-form.js';

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

export type ComputeEngineForm = z.infer<typeof schema>;
