import { ownershipFrom } from '../../identity.js';
import { given } from '../../job-file/fields.js';
import type { Owner, Ownership, Pricing } from '../../slice.js';
import type { EpochMs } from '../../units.js';
import type { RequestContext } from '../kind.js';
import {
  type AdoptedNode,
  ANY_ZONE,
  type CloudTpuPlan,
  type CloudTpuRef,
  type GooglePlace,
  type TpuForm,
} from './words.js';

// A TPU VM that somebody made by hand, as a job's slice (docs/adr/0179).

/**
 * Label that the node's owner sets: the first run id of the one job that may have the node. Nobody can know a run id before that
 * job was submitted, so the word is about that job and no other.
 */
export const WORD_LABEL = 'jobctl-adopt';
/** Label that the node's owner sets too, with the same run, if jobctl has to delete the node after that job. */
export const DELETE_LABEL = 'jobctl-adopt-delete';

/**
 * Labels of a node that a job has. They are not those of `identity.ts`: whatever deletes resources by our owner label does not
 * see an adopted node.
 */
const MARKS = {
  owner: 'jobctl-adopted-owner',
  job: 'jobctl-adopted-job',
  run: 'jobctl-adopted-run',
  generation: 'jobctl-adopted-generation',
  spec: 'jobctl-adopted-spec',
  slice: 'jobctl-adopted-slice',
} as const;
/** `taking-SECONDS` or `taken-SECONDS`, since the epoch. */
const STATE_LABEL = 'jobctl-adopted';

/** The job that has a node, by the node's labels. */
export interface Adoption extends Ownership {
  /** Name of the slice: its workflow's. */
  readonly slice: string;
  /** `taking`: its hosts were not all claimed yet, so nothing of the job runs there. */
  readonly state: 'taking' | 'taken';
  /** Start of the adoption. */
  readonly since: EpochMs;
}

type Labels = Readonly<Record<string, string>>;

/** The adoption that labels say, or undefined unless all of them are there and well-formed. */
export function adoptionFrom(labels: Labels | null | undefined): Adoption | undefined {
  const [owner, job, run, spec, slice] = [MARKS.owner, MARKS.job, MARKS.run, MARKS.spec, MARKS.slice].map(
    (key) => labels?.[key] ?? '',
  ) as [string, string, string, string, string];
  const generation = labels?.[MARKS.generation] ?? '';
  const [, state, seconds] = /^(taking|taken)-(\d{1,11})$/.exec(labels?.[STATE_LABEL] ?? '') ?? [];
  if ([owner, job, run, spec, slice].includes('') || !/^\d{1,9}$/.test(generation)) return undefined;
  if (state !== 'taking' && state !== 'taken') return undefined;
  return { owner, job, run, spec, slice, generation: Number(generation), state, since: Number(seconds) * 1000 };
}

/** All of the node's labels once it is adopted. The owner's word is used up; that about the end stays until then. */
export function labelsWith(labels: Labels, adoption: Adoption): Record<string, string> {
  const rest = Object.entries(labels).filter(([key]) => key !== WORD_LABEL && !isMark(key));
  const marks = Object.entries(MARKS).map(([key, label]): readonly [string, string] => [
    label,
    String(adoption[key as keyof typeof MARKS]),
  ]);
  const state = `${adoption.state}-${Math.floor(adoption.since / 1000)}`;
  return { ...Object.fromEntries(rest), ...Object.fromEntries(marks), [STATE_LABEL]: state };
}

/** The node's labels after it was given back: those that are not about this job. The word for a next one stays. */
export const labelsWithout = (labels: Labels, run: string): Record<string, string> =>
  Object.fromEntries(Object.entries(labels).filter(([key, value]) => !isMark(key) && !(isWord(key) && value === run)));

const isWord = (key: string): boolean => key === WORD_LABEL || key === DELETE_LABEL;
const isMark = (key: string): boolean => key === STATE_LABEL || key.startsWith(`${STATE_LABEL}-`);

/** Whether the node's owner has said that it is deleted after the job of this run. */
export const isDeletedAfter = (labels: Labels, run: string): boolean => labels[DELETE_LABEL] === run;

export const isOfAdopter = (found: Adoption | undefined, { owner, job, run }: Owner): boolean =>
  found?.owner === owner && found.job === job && found.run === run;

/** The labels of an owner's word, as gcloud and the API take them. */
export const wordLabels = (run: string, isDeleted: boolean): Record<string, string> => ({
  [WORD_LABEL]: run,
  ...(isDeleted && { [DELETE_LABEL]: run }),
});

/** The command by which the node's owner says that the job may have it. */
export function wordCommand(
  { googleProject, zone, node }: AdoptedNode & { readonly googleProject?: string | undefined },
  labels: Labels,
): string {
  const project = googleProject === undefined ? '' : ` --project=${googleProject}`;
  const text = Object.entries(labels).map(([key, value]) => `${key}=${value}`);
  return `gcloud compute tpus tpu-vm update ${node} --zone=${zone}${project} --update-labels=${text.join(',')}`;
}

/** Facts of a node that a plan has to fit. */
export interface NodeFacts {
  readonly state: string;
  readonly labels: Labels;
  readonly accelerator: string;
  readonly topology: string | undefined;
  readonly runtimeVersion: string;
  readonly pricing: Pricing;
  /** Name of the queued resource that it belongs to. */
  readonly request: string | undefined;
}

/** States that pass by themselves. */
const PASSING = ['CREATING', 'STARTING', 'RESTARTING', 'REIMAGING', 'REPAIRING', 'UNHIDING'];

/** `later`: the same question may have another answer later. `no`: this job cannot have the node. */
export type Fit = { readonly kind: 'fits' } | { readonly kind: 'later' | 'no'; readonly message: string };

/**
 * Judges whether the job of this plan may have the node and can use it. Everything that does not fit is named at once.
 * @param topology the usual one of the plan's type
 */
export function fitOf(plan: CloudTpuPlan, node: NodeFacts, topology: string | undefined): Fit {
  const { ref, ownership } = plan;
  const name = ref.adopts ?? ref.name;
  const no = (message: string): Fit => ({ kind: 'no', message: `node ${name} ${message}` });
  const adoption = adoptionFrom(node.labels);
  if (adoption !== undefined && isOfAdopter(adoption, ownership))
    return { kind: 'later', message: `node ${name} is being given back by an earlier slice of this job` };
  // Without the word, nothing of the node is told: its owner need not be the submitter's friend.
  if (node.labels[WORD_LABEL] !== ownership.run) {
    const { googleProject, zone } = ref;
    const command = wordCommand({ node: name, zone, googleProject }, wordLabels(ownership.run, false));
    return { kind: 'later', message: `waiting for the word of the owner of node ${name}: ${command}` };
  }
  const made = ownershipFrom(node.labels);
  if (made !== undefined) return no(`is not made by hand: jobctl made it for job ${made.job}`);
  if (adoption !== undefined) return no(`was adopted by job ${adoption.job}`);
  if (node.state !== 'READY' && PASSING.includes(node.state))
    return { kind: 'later', message: `node ${name} is ${node.state}, and can be adopted when it is READY` };
  if (node.state !== 'READY') return no(`is ${node.state}: only a node that is READY can be adopted`);
  const wanted: Record<string, readonly [asked: string, has: string]> = {
    'tpu.accelerator': [plan.accelerator, node.accelerator],
    'tpu.version': [plan.runtimeVersion, node.runtimeVersion],
    'tpu.pricing': [plan.pricing, node.pricing],
  };
  const shape = plan.topology ?? topology;
  if (shape !== undefined && node.topology !== undefined) wanted['tpu.topology'] = [shape, node.topology];
  const wrong = Object.entries(wanted).filter(([, [asked, has]]) => asked !== has);
  if (wrong.length > 0)
    return no(
      `is not as the job asks: ${wrong.map(([key, [asked, has]]) => `${key} is ${asked}, and it has ${has}`).join('; ')}`,
    );
  return { kind: 'fits' };
}

// The key of a job file ----------------------------------------------------------------------------------------------

const NODE =
  /^(?:projects\/([a-z][a-z0-9-]{4,28}[a-z0-9])\/locations\/([a-z0-9-]+)\/nodes\/)?([a-z](?:[a-z0-9-]{0,61}[a-z0-9])?)$/;
const HINT = "the node's name, or projects/P/locations/ZONE/nodes/NAME";

/** The section with what `adopt` says of its zone and project, and the node. `form` is unchanged without the key. */
export function resolveAdopt(
  form: TpuForm,
  { slices, atomic }: Pick<RequestContext, 'slices' | 'atomic'>,
  { section, report }: GooglePlace,
): { readonly form: TpuForm; readonly adopt?: AdoptedNode } {
  const text = given(form.adopt);
  if (text === undefined) return { form };
  const path = [section, 'adopt'];
  const [whole, googleProject, itsZone, node = ''] = NODE.exec(text) ?? [];
  if (whole === undefined) {
    report.wrong(path, text, 'no node', HINT);
    return { form };
  }
  if (slices > 1 || atomic === true) {
    report.problem(path, text, `is one node, and the job asks for ${slices} slices`, 'leave slices and atomic out');
    return { form };
  }
  const own = zonesOf(form);
  const zone = itsZone ?? own[0];
  if (zone === undefined || form.zones === ANY_ZONE || own.length > 1) {
    report.problem(path, text, 'is in one zone, and the job names none or several', `zone: its zone; or ${HINT}`);
    return { form };
  }
  if (own[0] !== undefined && own[0] !== zone)
    report.problem(
      path,
      text,
      `is in zone ${zone}, and the job asks for ${own[0]}`,
      'leave zone out, or name that one',
    );
  const project = given(form.project);
  if (googleProject !== undefined && project !== undefined && project !== googleProject)
    report.problem(path, text, `is of project ${googleProject}, and the job's is ${project}`, 'leave project out');
  if (typeof form.hedge === 'number' && form.hedge > 1)
    report.problem([section, 'hedge'], form.hedge, 'is for requests, and the job adopts a node', 'leave it out');
  const { zones: _, ...rest } = form;
  return {
    form: { ...rest, zone, hedge: 1, ...(googleProject !== undefined && { project: googleProject }) },
    adopt: { node, zone },
  };
}

function zonesOf({ zone, zones }: TpuForm): readonly string[] {
  if (typeof zone === 'string') return [zone];
  return Array.isArray(zones) ? zones : [];
}

/** The name by which Google knows the node of a ref. */
export const nodeName = ({ name, adopts }: Pick<CloudTpuRef, 'name' | 'adopts'>): string => adopts ?? name;
