import { askedMachines, askedSize, formatSlices, isBought, providerOf } from '../../domain/machines.js';
import { doneTwiceText } from '../../domain/done-twice.js';
import { isDone, JobPhase, type Outcome } from '../../domain/job-state.js';
import type { JobSpec } from '../../domain/job-spec.js';
import type { Retries } from '../../domain/recovery/budgets.js';
import { attemptLogsPrefix } from '../../domain/store-layout.js';
import { count, type EpochMs, formatUnits, utc } from '../../domain/units.js';
import { codeTable, joinBlocks, plain } from '../markdown.js';
import type { OldEvent } from '../../domain/job-events/event.js';
import type { JobSettings, SliceView } from '../../contract/job.js';
import { quotaWorkflowId } from '../../contract/workflow-ids.js';
import { externalIpOf } from '../../domain/slice.js';
import { placeOfObject } from '../../domain/store-place.js';

/** The facts about a job that an operator sees. */
export interface JobFacts {
  readonly id: string;
  readonly spec: JobSpec;
  readonly settings: Pick<JobSettings, 'user' | 'isVerified' | 'project' | 'bucket' | 'label'>;
  readonly phase: JobPhase;
  readonly phaseSince: EpochMs;
  readonly why?: string;
  /** The end of the present wait, by `timeouts.queue`. */
  readonly waitsUntil?: EpochMs;
  readonly outcome?: Outcome;
  readonly attempt: number;
  readonly spent: Retries;
  readonly quotaPreemptions?: number;
  /** Why the last attempt or slice was lost. */
  readonly setback?: string;
  readonly slices: readonly SliceView[];
  /** Slices of requests beside the first, in other zones. Absent: none. */
  readonly rivals?: readonly SliceView[];
  /** Events with their texts. */
  readonly events: readonly OldEvent[];
}

/**
 * A job as the Temporal Web UI shows it under Current Details: its phase, the reason of a wait and the remedy, its slices and
 * hosts, the used budgets, and the place of its logs. The size is bounded, whatever the job (`joinBlocks`).
 */
export function jobDetails(facts: JobFacts): string {
  return joinBlocks(
    [
      headline(facts),
      phaseNow(facts),
      facts.setback === undefined || isDone(facts.phase) ? '' : `**Before that:** ${plain(facts.setback)}`,
      sliceTable(facts.slices, facts.id, isDone(facts.phase)),
      rivalTable(facts),
      budgets(facts),
      places(facts),
      lastEvents(facts.events),
    ],
    `There is more: \`jobctl status ${facts.id}\``,
  );
}

/** Details of a job before a worker has checked it. */
export function uncheckedDetails(id: string, why?: string): string {
  const being = `**${id}** is being checked against this installation: the quota file, the store, the key.`;
  return why === undefined ? being : `${being}\n\n${plain(why)}`;
}

function headline({ spec, settings }: JobFacts): string {
  const who = `**${plain(spec.name)}: ${formatSlices(spec)} for ${plain(settings.user, 60)}${settings.isVerified === true ? '' : ' (unverified)'}**`;
  const where = `project ${plain(settings.project, 60)}, pool ${plain(spec.pool, 60)}, priority ${spec.priority}`;
  const label = settings.label === undefined ? '' : `**${plain(settings.label, 40)}: not on real Cloud TPUs**\n\n`;
  return `${label}${who}, ${where}`;
}

function phaseNow(facts: JobFacts): string {
  const { phase, phaseSince, why, waitsUntil } = facts;
  const reason = why === undefined ? '' : `: ${plain(why)}`;
  const until = waitsUntil === undefined ? '' : ` It waits until ${utc(waitsUntil)} at most (timeouts.queue).`;
  return `**${phase}** since ${utc(phaseSince)}${reason}\n\n${nextStep(facts)}${until}`;
}

/** The reason why it waits, and the remedy. */
function nextStep(facts: JobFacts): string {
  const { id, spec, phase, outcome } = facts;
  const cost = isBought(spec) ? ' and cost what they cost' : '';
  switch (phase) {
    case JobPhase.Queued:
      return `It waits for ${formatUnits(askedSize(spec).units)} of pool ${plain(spec.pool, 60)}. Its place in line is in the details of the workflow \`${quotaWorkflowId(spec.pool)}\`; it starts by itself.`;
    case JobPhase.Provisioning:
      return `It waits for ${providerOf(spec)} to give ${missingSlices(facts)}, which can take hours. What each slice waits for is in the details of its workflow, under Relationships; several zones may be asked at once, each in its turn.`;
    case JobPhase.SettingUp:
      return `It waits until every host is set up; \`jobctl logs ${id} --module NAME\` has what a module printed.`;
    case JobPhase.Running:
      return spec.command === undefined
        ? 'There is no command: it holds its slices until it is cancelled.'
        : `It waits for the command to end ${commandNow(spec.command)}.`;
    case JobPhase.Paused:
      return `Its slices are kept${cost}; \`jobctl resume ${id}\` goes on with it, \`jobctl stop --release ${id}\` gives them back.`;
    case JobPhase.Released:
      return `It holds nothing and waits for nothing; \`jobctl resume ${id}\` lets it ask again, with its first submit time.`;
    case JobPhase.Holding:
      return `Its outcome is final. Its slices are kept for people to look${cost}; \`jobctl delete ${id}\` gives them back.`;
    case JobPhase.Evicting:
      return 'It waits until the slices that it lost or gave up are seen gone, then asks for new ones. Nothing is to be done.';
    case JobPhase.Finishing:
      return 'It stores its outcome and lets its slices go. Nothing is to be done.';
    case JobPhase.Succeeded:
    case JobPhase.Failed:
    case JobPhase.Cancelled:
      return outcome === undefined ? '' : ending(outcome);
  }
}

function ending({ exitCode, attempts, preemptions, startedAt, endedAt, doneTwice }: Outcome): string {
  const ran = startedAt === undefined ? 'The command never started' : `The command was first started ${utc(startedAt)}`;
  const code = exitCode === undefined ? '' : `, its exit code is ${exitCode}`;
  const again = doneTwice === undefined ? '' : ` (done twice: ${doneTwiceText(doneTwice)})`;
  return `${ran}${code}; ${count(attempts, 'attempt')}, ${count(preemptions, 'preemption')}${again}; ended ${utc(endedAt)}. Its slices delete themselves: Relationships shows when they are gone.`;
}

function missingSlices({ spec, slices }: JobFacts): string {
  const ready = slices.filter(({ state }) => state === 'ready').length;
  const asked = askedMachines(spec);
  const pricing = asked.pricing === 'any' ? 'of any pricing' : `(${asked.pricing})`;
  return `${spec.slices - ready} of ${count(spec.slices, 'slice')} ${pricing}`;
}

/** The first line is enough to recognize the command. The whole is in the workflow's input. */
function commandNow({ run, hosts }: NonNullable<JobSpec['command']>): string {
  const [first = '', ...others] = run.trim().split('\n');
  const where = hosts === 'all' ? 'all hosts' : `host ${hosts.join(', ')}`;
  return `on ${plain(where, 60)}: ${plain(first, 120)}${others.length > 0 ? ' ..' : ''}`;
}

// Slices -----------------------------------------------------------------------------------------------------------

/** Limit of hosts that are named; a v5litepod-256 has 64. */
const MOST_HOSTS = 32;
const MOST_SLICES = 16;

function sliceTable(slices: readonly SliceView[], id: string, isEnded: boolean): string {
  if (slices.length === 0) return '';
  const named = slices.slice(0, MOST_SLICES).map((slice) => sliceLine(slice, isEnded));
  const hosts = slices.flatMap(({ index, hosts: all }) => all.map((host) => ({ slice: index, ...host })));
  const rows = hosts
    .slice(0, MOST_HOSTS)
    .map((host) => [
      ...(slices.length > 1 ? [String(host.slice)] : []),
      String(host.index),
      host.internalIp,
      externalIpOf(host) ?? '-',
    ]);
  const header = [...(slices.length > 1 ? ['SLICE'] : []), 'HOST', 'INTERNAL IP', 'EXTERNAL IP'];
  return [
    `**${slices.length > 1 ? 'Slices' : 'Slice'}**`,
    [...named, more(slices.length - named.length, 'slice', id)].filter((line) => line !== '').join('\n'),
    ...(isEnded || rows.length === 0
      ? []
      : [codeTable([header, ...rows]), more(hosts.length - rows.length, 'host', id)]),
  ]
    .filter((block) => block !== '')
    .join('\n\n');
}

function rivalTable({ rivals = [], id, phase }: JobFacts): string {
  if (rivals.length === 0) return '';
  const named = rivals.slice(0, MOST_SLICES).map((slice) => sliceLine(slice, isDone(phase)));
  return [
    '**Asked for beside them**',
    [...named, more(rivals.length - named.length, 'slice', id)].join('\n').trim(),
  ].join('\n\n');
}

function sliceLine({ index, ref, state, hosts, detail }: SliceView, isEnded: boolean): string {
  const shown = isEnded && state !== 'gone' ? 'told to go' : state;
  const said = detail === undefined || detail === shown || isEnded ? '' : `: ${plain(detail, 120)}`;
  return `- slice ${index} \`${ref.name}\` in ${ref.zone}: **${shown}**${hosts.length === 0 || state === 'gone' ? '' : `, ${count(hosts.length, 'host')}`}${said}`;
}

const more = (number: number, noun: string, id: string): string =>
  number > 0 ? `.. and ${count(number, `more ${noun}`)}: \`jobctl status ${id}\`` : '';

// The rest ---------------------------------------------------------------------------------------------------------

function budgets({ spec: { retries, command }, spent, attempt, quotaPreemptions = 0 }: JobFacts): string {
  const budgeted = [
    `**Attempts:** ${attempt}. Used of its budgets: ${spent.preemption} of ${retries.preemption} preemptions by the provider`,
    `${spent.infrastructure} of ${retries.infrastructure} failures of the infrastructure`,
    `${spent.task} of ${retries.task} repetitions after a failure of the command`,
    ...(command?.restartOn === undefined
      ? []
      : [`${spent.requested} of ${retries.requested} starts that its exit code asked for`]),
  ].join(', ');
  return quotaPreemptions === 0
    ? budgeted
    : `${budgeted}. Preempted by quota, which no budget ends: ${quotaPreemptions}`;
}

function places({ id, settings, phase }: JobFacts): string {
  const logs = `**Logs:** \`jobctl logs ${id}${isDone(phase) ? '' : ' -f'}\`, files at \`${placeOfObject(settings.bucket, attemptLogsPrefix(id))}*\``;
  if (isDone(phase)) return logs;
  return `${logs}\n\n**To end it:** Request Cancellation above, or \`jobctl cancel ${id}\`: the command is stopped within its grace, the last lines and the outcome are stored. Terminate stores neither.`;
}

const SHOWN_EVENTS = 6;

function lastEvents(events: readonly OldEvent[]): string {
  const shown = events.slice(-SHOWN_EVENTS).map(({ at, text }) => `- ${utc(at).slice(0, 19)} ${plain(text, 160)}`);
  return shown.length === 0 ? '' : ['**What happened last**', shown.join('\n')].join('\n\n');
}
