import { nearestWord } from '../nearest-word.js';
import { given } from './plain-values.js';
import type { Report } from './report.js';
import type { TpuForm } from './tpu-form.js';

/** Compute Engine's default service account of the project: the API's answer to no email at all. */
export const DEFAULT_SERVICE_ACCOUNT = 'default';
const SERVICE_ACCOUNT = /^[a-z0-9][a-z0-9.-]*@([a-z0-9.-]+\.)?gserviceaccount\.com$/;
const SERVICE_ACCOUNT_HINT =
  "an email such as trainer@my-project.iam.gserviceaccount.com; default is Compute Engine's default one";

const AUTH = 'https://www.googleapis.com/auth/';
const AGENT_SCOPES = ['logging.write', 'service.management.readonly', 'servicecontrol', 'trace.append'];

/**
 * gcloud's short names of scopes, without `sql`, which it deprecates (Google Cloud SDK 528, compute/constants.py). The TPU
 * API knows URLs alone, and `gcloud compute tpus` hands a short name on as it is.
 */
const ALIASES: Readonly<Record<string, readonly string[]>> = {
  bigquery: ['bigquery'],
  'cloud-platform': ['cloud-platform'],
  'cloud-source-repos': ['source.full_control'],
  'cloud-source-repos-ro': ['source.read_only'],
  'compute-ro': ['compute.readonly'],
  'compute-rw': ['compute'],
  datastore: ['datastore'],
  default: ['devstorage.read_only', 'monitoring.write', 'pubsub', ...AGENT_SCOPES],
  'gke-default': ['devstorage.read_only', 'monitoring', ...AGENT_SCOPES],
  'logging-write': ['logging.write'],
  monitoring: ['monitoring'],
  'monitoring-read': ['monitoring.read'],
  'monitoring-write': ['monitoring.write'],
  pubsub: ['pubsub'],
  'service-control': ['servicecontrol'],
  'service-management': ['service.management.readonly'],
  'sql-admin': ['sqlservice.admin'],
  'storage-full': ['devstorage.full_control'],
  'storage-ro': ['devstorage.read_only'],
  'storage-rw': ['devstorage.read_write'],
  taskqueue: ['taskqueue'],
  trace: ['trace.append'],
  'userinfo-email': ['userinfo.email'],
};

export function resolveServiceAccount(tpu: TpuForm, report: Report): string | undefined {
  const email = given(tpu.service_account);
  if (email !== undefined && email !== DEFAULT_SERVICE_ACCOUNT && !SERVICE_ACCOUNT.test(email))
    report.wrong(['tpu', 'service_account'], email, 'no service account', SERVICE_ACCOUNT_HINT);
  return email;
}

/** URLs, each once, in the file's order; an empty list is kept: it asks for all, as the API reads it. */
export function resolveScopes(tpu: TpuForm, report: Report): readonly string[] | undefined {
  const scopes = given(tpu.scopes);
  if (scopes === undefined) return undefined;
  const urls = scopes.flatMap((scope, index) => {
    if (/^https:\/\/\S+$/.test(scope)) return [scope];
    const known = Object.hasOwn(ALIASES, scope) ? ALIASES[scope] : undefined;
    if (known === undefined) report.wrong(['tpu', 'scopes', index], scope, 'no scope', scopeHint(scope));
    return (known ?? []).map((name) => AUTH + name);
  });
  return [...new Set(urls)];
}

function scopeHint(scope: string): string {
  const nearest = nearestWord(scope, Object.keys(ALIASES));
  const known = `known: ${Object.keys(ALIASES).join(', ')}, or a URL such as ${AUTH}cloud-platform`;
  return nearest === undefined ? known : `did you mean ${nearest}?\n${known}`;
}
