import type { z } from 'zod';
import { CHOICE_KEYS, type ChoiceKey, type ChoiceLists } from '../../domain/choices.js';
import { section, texts } from '../../domain/job-file/fields.js';
import { REQUEST_SECTIONS } from '../../domain/job-file/machine-request.js';
import type { Report } from '../../domain/job-file/report.js';
import { nearestWord } from '../../domain/nearest-word.js';
import { givenByTables, type GivenByPool } from '../../domain/pool-tables.js';
import type { PoolChoices } from '../allowed.js';

const allowForms = (hasPlace: boolean): string =>
  REQUEST_SECTIONS.flatMap(({ allowForm }) => (allowForm.includes('/') === hasPlace ? [allowForm] : [])).join(', ');
const [ALONE, WITH_PLACE] = [allowForms(false), allowForms(true)];

const WHAT: Readonly<Record<ChoiceKey, string>> = {
  google_projects: 'Google Cloud projects that jobs may name.',
  service_accounts: "Service accounts that hosts and pods may have: emails, default for Compute Engine's, or names.",
  scopes: 'OAuth scopes of service accounts: URLs. All, unless [tpu] of this file has scopes.',
  networks: 'Networks and subnetworks, as job files name them; default for the one that Google takes.',
  external_ips: 'true: hosts may have external addresses, though external_ips = false in [tpu] of this file.',
  tags: 'Network tags of hosts, which firewall rules name.',
  metadata: 'Metadata of instances: KEY=VALUE.',
  reservations: 'Reservations, as job files name them.',
  data_disks: 'Disks, PersistentVolumeClaims and folders of nodes that jobs may attach.',
  images: "Container images, and VM images other than jobctl's default.",
  notify: 'Who may be told of jobs: ids of workflows, URLs, mailto:ADDRESS, slack:SECRET, channel:NAME.',
  secrets: 'Secrets of Kubernetes that pods may mount, and builds log in with: CONTEXT/NAMESPACE/NAME.',
  machines: `${ALONE}, ${WITH_PLACE}.`,
  labels: 'Labels of pods, by which network policies and Services choose them: KEY=VALUE.',
  node_selectors: 'Labels of nodes that pods ask for: KEY=VALUE.',
  tolerations: 'Taints that pods tolerate: KEY=VALUE:EFFECT, or KEY:EFFECT for every value.',
  priority_classes: 'PriorityClasses of pods.',
};

const list = (key: ChoiceKey): z.ZodOptional<ReturnType<typeof texts>> =>
  texts().optional().describe(`${WHAT[key]} * stands for any characters but /, ** for any.`);

type Shape = Record<ChoiceKey, ReturnType<typeof list>>;

const schema = section(Object.fromEntries(CHOICE_KEYS.map((key) => [key, list(key)])) as Shape);

/** The form of `[allow]`. Behind a function, as every schema: docs/adr/0012. */
export const allowSection = (): typeof schema => schema;

/** The part of a pool file about choices of its jobs and values that they get. */
interface Form extends GivenByPool {
  readonly allow?: z.infer<typeof schema> | undefined;
  readonly tiers?: readonly { readonly reservation?: string | undefined }[] | undefined;
  readonly quota?: { readonly admins?: readonly string[] | undefined } | undefined;
}

/** Reports patterns that no job can match: such a pattern is a mistake, and would refuse the jobs that it was meant to allow. */
export function checkAllow(form: Form, report: Report): void {
  const known = REQUEST_SECTIONS.map(({ name }) => name);
  for (const [index, pattern] of (form.allow?.machines ?? []).entries()) {
    const [kind = ''] = pattern.split('/', 1);
    if (kind.includes('*') || known.includes(kind)) continue;
    const nearest = nearestWord(kind, known);
    const hint = [
      ...(nearest === undefined ? [] : [`did you mean ${nearest}?`]),
      `${ALONE}, or with a place ${WITH_PLACE}`,
    ];
    report.wrong(['allow', 'machines', index], pattern, 'no machines of a job file', hint.join('\n'));
  }
  for (const [index, pattern] of (form.allow?.secrets ?? []).entries())
    if (!pattern.includes('**') && pattern.split('/').length !== SECRET_PARTS)
      report.wrong(['allow', 'secrets', index], pattern, 'no place of a Secret', 'CONTEXT/NAMESPACE/NAME');
}

/** A secret is named CONTEXT/NAMESPACE/NAME. */
const SECRET_PARTS = 3;

/** The file's rules for choices of jobs, and the values that it gives to them itself. */
export function poolChoicesOf(form: Form, file: string, pool: string): PoolChoices {
  const { google_project, allow, tiers = [] } = form;
  const ofTables = givenByTables(form);
  const own: ChoiceLists = {
    google_projects: texty(google_project),
    ...ofTables,
    reservations: [...(ofTables.reservations ?? []), ...texty(...tiers.map(({ reservation }) => reservation))],
  };
  return {
    pool,
    file,
    admins: form.quota?.admins ?? [],
    ...(allow && { allow }),
    gives: Object.fromEntries(Object.entries(own).filter(([, values]) => (values?.length ?? 0) > 0)) as ChoiceLists,
  };
}

const texty = (...values: readonly (string | null | undefined)[]): readonly string[] =>
  values.filter((value) => typeof value === 'string');
