import type { OutputFlag } from '../terminal/options.js';
import type { Finding } from './finding.js';

export interface DoctorFlags extends OutputFlag {
  readonly gcp?: true;
  /** Only with `gcp`: a folder for the requests and answers. */
  readonly record?: string;
  readonly kubernetes?: true;
  /** A quota file; alone, or beside others. */
  readonly quota?: string;
  readonly server?: true;
  readonly kubeconfig?: string;
  readonly kubeContext?: string;
  readonly kubeNamespace?: string;
  readonly googleProject?: string;
  readonly zone?: readonly string[];
  readonly accelerator?: string;
  readonly bucket?: string;
  readonly systemBucket?: string;
  readonly network?: string;
  readonly subnetwork?: string;
  readonly serviceAccount?: string;
  readonly externalIps: boolean;
  readonly storeEndpoint?: string;
  readonly googleApiEndpoint?: string;
}

export interface Diagnosis {
  /** Key and value that name the account in the JSON output. */
  readonly account: Readonly<Record<string, string>>;
  readonly findings: readonly Finding[];
}
