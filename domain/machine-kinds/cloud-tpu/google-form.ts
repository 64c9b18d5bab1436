import type { Report } from '../../job-file/report.js';
import type { TpuForm } from './section-form.js';

/** The place of keys of Google's own resources in a job file. */
export interface GooglePlace {
  /** `tpu`, or the section of another kind of Google's machines. */
  readonly section: string;
  readonly report: Report;
}

/** Keys of `tpu` with the same meaning for every kind of Google's machines. */
export type GoogleForm = Pick<
  TpuForm,
  | 'name'
  | 'zone'
  | 'zones'
  | 'project'
  | 'pricing'
  | 'startup_script'
  | 'tags'
  | 'metadata'
  | 'labels'
  | 'network'
  | 'subnetwork'
  | 'external_ips'
  | 'service_account'
  | 'scopes'
  | 'reservation'
  | 'data_disks'
>;
