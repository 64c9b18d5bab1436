import type { z } from 'zod';
import { CHOICE_KEYS, type ChoiceKey } from '../../domain/choices.js';
import { section, texts } from '../../domain/job-file/fields.js';
import { REQUEST_SECTIONS } from '../../domain/job-file/machine-request.js';
import type { Report } from '../../domain/job-file/report.js';
import { nearestWord } from '../../domain/nearest-word.js';
import type { PoolChoices } from '../allow/allowed.js';

const WHAT: Readonly<Record<ChoiceKey, string>> = {
  google_projects: 'Google Cloud projects that jobs may name.',
  service_accounts: "Service accounts that hosts and pods may have: emails, default for Compute Engine's, or names.",
  networks: 'Networks and subnetworks, as job files name them; default for the one that Google takes.',
  data_disks: 'Disks, PersistentVolumeClaims and folders of nodes that jobs may attach.',
  images: "Container images, and VM images other than jobctl's default.",
  notify: 'Ids of workflows that a job may signal at its end.',
  secrets: 'Secrets of Kubernetes that pods may mount, and builds log in with: CONTEXT/NAMESPACE/NAME.',
  machines: 'tpu, compute_engine, machines, kubernetes/CONTEXT/NAMESPACE, ray_cluster/CONTEXT/NAMESPACE.',
};

const list = (key: ChoiceKey): z.ZodOptional<ReturnType<typeof texts>> =>
  texts().optional().describe(`${WHAT[key]} * stands for any characters but /, ** for any.`);

type Shape = Record<ChoiceKey, ReturnType<typeof list>>;

const schema = section(Object.fromEntries(CHOICE_KEYS.map((key) => [key, list(key)])) as Shape);

/** The form of `[allow]`. A function: docs/adr/0012. */
export const allowSection = (): typeof schema => schema;

/** The part of a pool file that says what its jobs choose, or get. */
interface Form {
  readonly allow?: z.infer<typeof schema> | undefined;
  readonly google_project?: string | undefined;
  readonly tpu?:
    | {
        readonly service_account?: string | null | undefined;
        readonly network?: string | null | undefined;
        readonly subnetwork?: string | null | undefined;
        readonly data_disks?: readonly { readonly source: string }[] | null | undefined;
      }
    | undefined;
  readonly quota?: { readonly admins?: readonly string[] | undefined } | undefined;
}

/** A pattern that no job can match is a mistake, and would refuse those it was meant to allow. */
export function checkAllow(form: Form, report: Report): void {
  const known = REQUEST_SECTIONS.map(({ name }) => name);
  for (const [index, pattern] of (form.allow?.machines ?? []).entries()) {
    const [kind = ''] = pattern.split('/', 1);
    if (kind.includes('*') || known.includes(kind)) continue;
    const nearest = nearestWord(kind, known);
    const hint = [
      ...(nearest === undefined ? [] : [`did you mean ${nearest}?`]),
      'tpu, compute_engine, machines, or with a place kubernetes/CONTEXT/NAMESPACE, ray_cluster/CONTEXT/NAMESPACE',
    ];
    report.wrong(['allow', 'machines', index], pattern, 'no machines of a job file', hint.join('\n'));
  }
  for (const [index, pattern] of (form.allow?.secrets ?? []).entries())
    if (!pattern.includes('**') && pattern.split('/').length !== SECRET_PARTS)
      report.wrong(['allow', 'secrets', index], pattern, 'no place of a Secret', 'CONTEXT/NAMESPACE/NAME');
}

/** CONTEXT/NAMESPACE/NAME. */
const SECRET_PARTS = 3;

/** What the file says of the choices of jobs, and what it gives to them itself. */
export function poolChoicesOf(form: Form, file: string, pool: string): PoolChoices {
  const { tpu, google_project, allow } = form;
  const { service_account, network, subnetwork, data_disks } = tpu ?? {};
  const networks = texty(network, subnetwork);
  return {
    pool,
    file,
    admins: form.quota?.admins ?? [],
    ...(allow && { allow }),
    gives: {
      ...(google_project !== undefined && { google_projects: [google_project] }),
      ...(typeof service_account === 'string' && { service_accounts: [service_account] }),
      ...(networks.length > 0 && { networks }),
      ...(data_disks && { data_disks: data_disks.map(({ source }) => source) }),
    },
  };
}

const texty = (...values: readonly (string | null | undefined)[]): readonly string[] =>
  values.filter((value) => typeof value === 'string');
