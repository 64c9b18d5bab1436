import type { JobRow } from '../../../client/job-rows.js';
import type { TierTurns } from '../../../quota/explanation/tier-turns.js';
import type { PlaceInLine } from '../../../quota/waiting-line.js';
import { ordinal } from '../../../quota/explanation/explain-words.js';
import type { Granted, JobView, SliceView } from '../../../contract/job.js';
import { hookText } from '../../../domain/hooks.js';
import { doneTwiceText } from '../../../domain/done-twice.js';
import { leftText } from '../../../domain/left-processes.js';
import { outputsText } from '../../../domain/outputs.js';
import { isDone } from '../../../domain/job-state.js';
import { adoptedName, isBought, kindOfJob, machineKind, type MachineRef } from '../../../domain/machines.js';
import { count, type EpochMs, usdText } from '../../../domain/units.js';
import { failingText, shownUser, answerTexts, nextZoneSentence, untilSentence } from './job-phrases.js';
import { formatDuration, formatExactDuration } from './quantities.js';
import { commandSummary, reasonOf, endsSentence } from './job-header.js';
import { oneLine, renderTable } from './columns.js';
import { tierSentences } from './elsewhere.js';
import { IS_A_WORKER_UP } from '../../../client/errors.js';
import { asTyped } from '../print.js';
import { externalIpOf } from '../../../domain/slice.js';
import { placeOfObject } from '../../../domain/store-place.js';

export interface StatusPlace {
  readonly bucket: string | undefined;
  readonly uiUrl: string | undefined;
  readonly namespace: string | undefined;
}

const SHOWN_EVENTS = 12;

/**
 * Renders `jobctl status`.
 * @param detail the workflow's view, the reason why it is missing, or the reason why the job was never accepted
 */
export function renderJobStatus(
  row: JobRow & Partial<PlaceInLine> & { readonly metricsText?: string | undefined },
  detail:
    | { readonly view: JobView; readonly tiers?: TierTurns }
    | { readonly missing: string }
    | { readonly refused: string },
  place: StatusPlace,
  now: EpochMs,
  width?: number,
): readonly string[] {
  const view = 'view' in detail ? detail.view : undefined;
  const tiers = tierSentences('view' in detail ? detail.tiers : undefined, now);
  const facts = [
    ...rowFacts(row, now, 'refused' in detail ? detail.refused : undefined),
    ...waitFacts(row, view, now),
    ...(view ? viewFacts(view, now) : []),
    ...(row.metricsText === undefined ? [] : [['metrics', row.metricsText] as const]),
    ...(tiers.length === 0 ? [] : [['tiers', oneLine(tiers.join(' '))] as const]),
    ...('refused' in detail ? [] : storedFacts(row, place)),
    ...webFacts(row, place),
  ];
  return [
    oneLine(`${row.id}${row.label === undefined ? '' : `   ${row.label}: not on real Cloud TPUs`}`),
    ...renderTable(
      facts.map(([key, value]) => [`  ${key}`, value]),
      width,
    ),
    ...(view
      ? [...slices([...view.slices, ...(view.rivals ?? [])], row.endedAt !== undefined, width), ...events(view, row.id)]
      : []),
    ...('missing' in detail ? ['', ...missing(row, detail.missing)] : []),
    ...('refused' in detail ? ['', REFUSED_HINT] : []),
  ];
}

type Fact = readonly [string, string];

function rowFacts(row: JobRow & Partial<PlaceInLine>, now: EpochMs, refused: string | undefined): Fact[] {
  const { phaseSince, project, pool, slice, submittedAt, endedAt, attempts, outcome, failingTask, schedule } = row;
  const phase = refused === undefined ? row.phase : 'refused';
  const reason = refused === undefined ? reasonOf(row) : `it was never accepted: ${oneLine(refused)}`;
  const place = row.position === undefined ? '' : `, ${ordinal(row.position)} of ${row.of} in line`;
  const since =
    endedAt === undefined
      ? `for ${formatDuration(now - phaseSince)}`
      : `in ${formatExactDuration((outcome?.endedAt ?? endedAt) - submittedAt)}`;
  return [
    ['phase', `${phase} ${since}${place}${reason === '' ? '' : `: ${reason}`}`],
    ...(failingTask === undefined ? [] : [['WORKFLOW', failingText(failingTask, now)] as const]),
    ...(place === '' ? [] : [['why', asTyped(`jobctl why ${row.id}   every reason, and the earliest time`)] as const]),
    ['project', `${project} (pool ${pool}), user ${shownUser(row)}`],
    ['slice', slice],
    ['submitted', `${new Date(submittedAt).toISOString()}, ${formatDuration(now - submittedAt)} ago`],
    ...(schedule === undefined
      ? []
      : [['schedule', asTyped(`jobctl schedule status ${schedule}   it started this job`)] as const]),
    ['attempts', `${attempts}${outcome ? preemptionsOf(outcome) : ''}`],
    ...(outcome ? outcomeFacts(outcome) : []),
  ];
}

function waitFacts(row: JobRow, view: JobView | undefined, now: EpochMs): Fact[] {
  const next = [nextZoneSentence(view, now), untilSentence(row, now)].filter((sentence) => sentence !== '');
  return [
    ...answerTexts(view, now).map((text): Fact => ['refused', text]),
    ...(next.length === 0 ? [] : [['next', next.join(' ')] as const]),
  ];
}

/** Counts of preemptions by the provider, and by quota if there were any. */
function preemptionsOf({ preemptions, quotaPreemptions = 0, requestedRestarts = 0 }: NonNullable<JobRow['outcome']>) {
  const byQuota = quotaPreemptions === 0 ? '' : `, ${quotaPreemptions} by quota`;
  const restarts = requestedRestarts === 0 ? '' : `, ${count(requestedRestarts, 'restart')} by exit code`;
  return `, ${count(preemptions, 'preemption')}${byQuota}${restarts}`;
}

type JobOutcome = NonNullable<JobRow['outcome']>;

function outcomeFacts({ result, exitCode, cause, hooks = [], outputs, left, doneTwice }: JobOutcome): Fact[] {
  const code = exitCode === undefined ? '' : `, exit code ${exitCode}`;
  const by = cause === undefined || result === 'succeeded' ? '' : ` (${cause.by})`;
  return [
    ['outcome', `${result}${code}${by}`],
    ...(doneTwice === undefined ? [] : [['done twice', oneLine(doneTwiceText(doneTwice))] as const]),
    ...(left === undefined ? [] : [['left', oneLine(leftText(left))] as const]),
    ...(hooks.length === 0 ? [] : [['hooks', oneLine(hooks.map(hookText).join('; '))] as const]),
    ...(outputs === undefined ? [] : [['outputs', oneLine(outputsText(outputs))] as const]),
  ];
}

const BACKGROUND = 'waited for (command.wait_for: all); its exit codes are not known, and no failure of it counts';

/** `$12.34 so far of max_cost $20.00`. A job whose machines have no known price says so only if it has a `max_cost`. */
function costText({ spec, usage, label, phase }: JobView): string | undefined {
  const { usd, unpriced } = usage ?? {};
  const { maxCost } = spec;
  const bound = maxCost === undefined ? '' : ` of max_cost ${usdText(maxCost)}`;
  if (usage === undefined || (usd === undefined && (unpriced === undefined || maxCost === undefined))) return undefined;
  if (usd === undefined) return `not known${bound}: its machines have no known price`;
  const over = maxCost !== undefined && usd >= maxCost ? ', over its budget' : '';
  const some = unpriced === undefined ? '' : ', without what has no known price';
  return `${usdText(usd)}${isDone(phase) ? '' : ' so far'}${bound}${over}${some}${label === undefined ? '' : ' if it were real'}`;
}

function viewFacts(view: JobView, now: EpochMs): Fact[] {
  const cost = costText(view);
  const { spec, image, granted, preemptions, quotaPreemptions, requestedRestarts, attempt } = view;
  const { modules } = spec;
  const kind = machineKind(kindOfJob(spec));
  const ends = endsSentence(view, now);
  return [
    [isBought(spec) ? 'pricing' : 'machines', kind.requestText(spec)],
    ...(ends === undefined ? [] : [['ends', ends] as const]),
    ...(cost === undefined ? [] : [['cost', cost] as const]),
    ...(granted === undefined || isOnlyTier(granted) ? [] : [['granted', grantedText(granted)] as const]),
    ...(image === undefined ? [] : [['image', oneLine(image)] as const]),
    ['modules', modules.length === 0 ? 'none' : modules.join(', ')],
    ['command', commandSummary(spec)],
    ...(spec.command?.waitFor === 'all' ? [['background', BACKGROUND] as const] : []),
    ...(attempt > 0 && preemptions > 0
      ? [['preempted', `${preemptions} of ${spec.retries.preemption} times that are allowed`] as const]
      : []),
    ...(quotaPreemptions === undefined
      ? []
      : [['by quota', `preempted ${count(quotaPreemptions, 'time')}; no budget ends it for that`] as const]),
    ...(requestedRestarts === undefined
      ? []
      : [['restarts', `${requestedRestarts} of ${spec.retries.requested} that its exit code may ask for`] as const]),
  ];
}

/** True if other rows say it already: the lease is in the best tier, the only one of most pools, bought as the job asked. */
function isOnlyTier({ tier, pricing }: Granted): boolean {
  return tier === 0 && pricing === undefined;
}

/** `tier 1 of the pool, bought as reserved (reservation team-v6e)` */
function grantedText({ tier, pricing, reservation }: Granted): string {
  const bought = pricing === undefined ? '' : `, bought as ${pricing}`;
  return `tier ${tier + 1} of the pool${bought}${reservation === undefined ? '' : ` (reservation ${reservation})`}`;
}

/** Places of the job's stored records. A job that was never accepted has none. */
function storedFacts({ id, outcome, endedAt, attempts }: JobRow, { bucket }: StatusPlace): Fact[] {
  return [
    [
      'logs',
      asTyped(`jobctl logs ${id}${bucket === undefined ? '' : `      files: ${placeOfObject(bucket, `jobs/${id}/`)}`}`),
    ],
    ...(outcome?.outputs === undefined ? [] : [['results', asTyped(`jobctl download ${id}`)] as const]),
    ...(outcome !== undefined && outcome.outputs === undefined && endedAt !== undefined && attempts > 0
      ? [['outputs', 'none stored; files that it wrote on its hosts went with them'] as const]
      : []),
  ];
}

const webFacts = ({ id }: JobRow, { uiUrl, namespace }: StatusPlace): Fact[] =>
  uiUrl === undefined ? [] : [['web', `${uiUrl}/namespaces/${namespace ?? 'default'}/workflows/${id}`]];

/** Rows of the slices. The workflow of an ended job last saw them when it released them; they are deleted afterwards. */
function slices(all: readonly SliceView[], isEnded: boolean, width: number | undefined): readonly string[] {
  if (all.length === 0) return [];
  const rows = all.map(({ ref, generation, state, hosts, detail }) => [
    `  ${nameShown(ref)}`,
    ref.zone,
    String(generation),
    isEnded && state !== 'gone' ? 'let go' : state,
    hosts.length === 0 ? '-' : hosts.map((host) => externalIpOf(host) ?? host.internalIp).join(' '),
    oneLine(detail ?? ''),
  ]);
  return ['', ...renderTable([['  NODE', 'ZONE', 'GEN', 'STATE', 'HOSTS', 'DETAIL'], ...rows], width)];
}

const nameShown = (ref: MachineRef): string => {
  const adopted = adoptedName(ref);
  return adopted === undefined ? ref.name : `${adopted} (adopted)`;
};

function events({ events: all }: JobView, id: string): readonly string[] {
  const shown = all.slice(-SHOWN_EVENTS);
  const rest = all.length - shown.length;
  return [
    '',
    ...(rest > 0 ? [asTyped(`  .. ${count(rest, 'event')} before: jobctl logs ${id} --job`)] : []),
    ...shown.map(({ at, text }) => `  ${new Date(at).toISOString().slice(0, 19)}Z  ${oneLine(text)}`),
  ];
}

function missing(row: JobRow, reason: string): readonly string[] {
  return [`  slices and events are missing: ${oneLine(reason)}`, `  ${hintFor(row)}`];
}

const REFUSED_HINT = '  nothing was asked for and nothing is left of it; mend the job file and submit it again';

function hintFor({ id, endedAt, failingTask }: JobRow): string {
  if (failingTask !== undefined) return asTyped(`what to do: \`jobctl why ${id}\``);
  if (endedAt !== undefined) return asTyped(`\`jobctl logs ${id} --job\` has what was stored`);
  return asTyped(IS_A_WORKER_UP);
}
