import { buildText, type RemoteBuild } from '../build/spec.js';
import { type EndHook, type HookReport, hookText } from '../hooks.js';
import { type Asker, askerText, type JobResult, type OutcomeCause } from '../job-state.js';
import { type LeftReport, leftText } from '../left-processes.js';
import { type NotifyTarget, targetText } from '../notify.js';
import { type OutputsReport, outputsText } from '../outputs.js';
import type { Pricing } from '../slice.js';
import { count, durationText, type EpochMs, sizeText, usdText, utc } from '../units.js';
import { CAUSES, type Place, placeText, type Reaction, reactionText } from './causes.js';

type Sentence = (facts: never) => string;
type NoFacts = Readonly<Record<string, never>>;
type FactsIn<S extends Sentence> = Parameters<S> extends readonly [infer Facts] ? Facts : NoFacts;
type Causes = typeof CAUSES;

/** The end or interruption of work. `reaction`: what the job does about it. Absent: nothing, or another event tells it. */
export type Cause = {
  [K in keyof Causes]: { readonly kind: K; readonly facts: FactsIn<Causes[K]> & { readonly reaction?: Reaction } };
}[keyof Causes];
export type CauseOf<K extends keyof Causes> = Extract<Cause, { kind: K }>;

export const withReaction = (cause: Cause, reaction: Reaction): Cause =>
  // Spreading the union loses the link between kind and facts.
  ({ ...cause, facts: { ...cause.facts, reaction } }) as Cause;

interface Because {
  readonly reason: string;
}
/** A trouble, told until it is over. `isOver`: the end of the trouble, whose sentence is empty. */
type Trouble<Facts> = Facts | { readonly isOver: true };

const trouble =
  <Facts extends object>(text: (facts: Facts) => string) =>
  (facts: Trouble<Facts>): string =>
    'isOver' in facts ? '' : text(facts);

/** Slices that are held although nothing runs on them. */
export interface Kept {
  /** Absent: there is no list price. */
  readonly usdPerHour?: number;
  readonly isRehearsed?: true;
  /** Machines of the pool's own. */
  readonly isOwn?: true;
  readonly until: EpochMs;
}

/** `at about $4.70 an hour, until 2026-11-22 09:10:00 UTC`. */
function costText({ usdPerHour, isRehearsed, isOwn, until }: Kept): string {
  if (isOwn) return `until ${utc(until)}`;
  const cost = usdPerHour === undefined ? 'at a price that is not listed' : `at about ${usdText(usdPerHour)} an hour`;
  return `${cost}${isRehearsed ? ' if they were real' : ''}, until ${utc(until)}`;
}

/** Why slices are not kept any longer: a cause, a time limit, or else a person. */
export interface KeptNoMore {
  readonly because?: Cause;
  readonly limit?: string;
  readonly reason?: string;
  readonly asker?: Asker;
}
function keptNoMoreText({ because, limit, reason, asker }: KeptNoMore): string {
  if (because !== undefined) return toldText(because);
  if (reason !== undefined) return reason;
  return limit === undefined
    ? `${asker === undefined ? 'somebody' : askerText(asker)} asked for it`
    : `${limit} is over`;
}

interface Asked {
  readonly slices: number;
  readonly accelerator: string;
  /** All zones that are asked at once. */
  readonly zones: readonly string[];
  /** If the job could be served in other tiers too: its tier, from 1 (best), and how it is bought. */
  readonly tier?: { readonly number: number; readonly pricing?: Pricing };
  /** Last answers of its other zones. Absent: there are none. */
  readonly answers?: string;
  /** The node that becomes the first slice. Absent: slices are created. */
  readonly adopts?: string;
  /** The zone that is asked next, and when, unless the job gets its slices before. Absent: there is none. */
  readonly next?: { readonly zone: string; readonly at: EpochMs };
}
function askedText({ answers, next, ...asked }: Asked): string {
  const then = next === undefined ? '' : `; if nothing comes before, ${next.zone} is asked at ${utc(next.at)}`;
  return `${askedForText(asked)}${answers === undefined ? '' : `; ${answers}`}${then}`;
}
function askedForText({ slices, accelerator, zones, tier, adopts }: Asked): string {
  const bought = tier?.pricing === undefined ? '' : ` (${tier.pricing})`;
  const inTier = tier === undefined ? '' : `, in tier ${tier.number} of its pool${bought}`;
  if (adopts !== undefined) return `adopting node ${adopts} (${accelerator}) in ${zones[0]}${inTier}`;
  if (zones.length < 2) return `${slices} x ${accelerator} in ${zones[0]}${inTier}`;
  const what = slices === 1 ? accelerator : `${slices} x ${accelerator}`;
  return `${what} in ${zones.join(' or ')}, whichever has it first${inTier}`;
}

interface Unreachable {
  /** The first of the hosts that do not answer. */
  readonly hosts: readonly Place[];
  /** Number of hosts that are not named. Absent: 0. */
  readonly others?: number;
  readonly since: EpochMs;
}
/** `host 2 has not answered since 2026-11-22 07:14:20 UTC; a slice is kept until ..`. */
function unreachableText({ hosts, others, since }: Unreachable): string {
  const named = `${hosts.map(placeText).join(', ')}${others === undefined ? '' : ` and ${others} more`}`;
  const have = hosts.length === 1 ? 'has' : 'have';
  return `${named} ${have} not answered since ${utc(since)}; a slice is kept until there is proof that a host is dead, or timeouts.unreachable is over`;
}

interface Running {
  readonly attempt: number;
  readonly hosts: number;
  readonly zone: string;
  readonly isWorkspace?: true;
}

interface Ended extends Partial<Pick<OutcomeCause, 'by' | 'message' | 'slice' | 'host'>> {
  readonly exitCode?: number;
  readonly attempts: number;
  readonly preemptions: number;
}
const BY_ITSELF = 'the command ended with exit code 0';
const endedText = ({ message }: Ended): string => message ?? BY_ITSELF;

/** One input in the job's story. */
export interface InputFacts {
  readonly name: string;
  /** Id of a job or group. */
  readonly job: string;
  readonly files: number;
  readonly bytes: number;
  /** Jobs that they are of: members of a group. */
  readonly jobs: number;
}

/** `data: 12 files (3.1 MB) of prep-7f3k`; of a group also the number of jobs. */
const inputText = ({ name, job, files, bytes, jobs }: InputFacts): string =>
  `${name}: ${count(files, 'file')} (${sizeText(bytes)}) of ${job}${jobs > 1 ? `, from ${count(jobs, 'member')}` : ''}`;

/**
 * The closed list of kinds of events in a job's life: each with its facts, as plain JSON, and its sentence. A new kind is a row
 * here, and the place in workflows/job that tells it (docs/adr/0139).
 */
export const KINDS = {
  ...CAUSES,
  /** An event of an earlier build, which had no kinds. */
  note: ({ text }: { readonly text: string }) => text,

  // The pool.
  submitted: () => 'submitted',
  accepted: ({ quota }: { readonly quota: string }) => quota,
  queued: ({ project, isAgain }: { readonly project?: string; readonly isAgain?: true }) =>
    `waits for quota${project === undefined ? '' : ` of project ${project}`}${isAgain ? ' again, with its first submit time' : ''}`,
  'awaiting-others': ({ awaited }: { readonly awaited: string }) => `waits for ${awaited}`,
  'priority-changed': ({ priority, before }: { readonly priority: number; readonly before: number }) =>
    `its priority is ${priority} from now on; it was ${before}`,

  // Its image.
  'building-image': (build: Pick<RemoteBuild, 'image' | 'commit' | 'namespace'>) =>
    `building image ${buildText(build)} in namespace ${build.namespace}`,
  'image-build-joined': ({ workflow }: { readonly workflow: string }) => `its image is built by workflow ${workflow}`,
  'image-progress': trouble(({ detail }: { readonly detail: string }) => detail),
  'inputs-found': ({ found }: { readonly found: readonly InputFacts[] }) =>
    `inputs: ${found.map(inputText).join('; ')}`,
  'inputs-not-read': trouble(({ reason }: Because) => `its inputs cannot be looked for: ${reason}`),
  'image-built': ({ image }: { readonly image: string }) => `its image is ${image}`,

  // Its slices.
  provisioning: askedText,
  backoff: backOffText,
  'zone-asked': ({ zone, beside }: { readonly zone: string; readonly beside: string }) =>
    `${zone} is asked beside ${beside}: the first that has all slices is used`,
  'no-room-beside': ({ zone, beside }: { readonly zone: string; readonly beside: string }) =>
    `${zone} is not asked beside ${beside}: its pool has no room for a second request`,
  moved: (move: Moved) => `${moveReason(move)}: its requests in ${move.from} are given up`,
  'zone-lost': ({
    zone,
    beside,
    message,
  }: {
    readonly zone: string;
    readonly beside: string;
    readonly message: string;
  }) => `${zone} is given up beside ${beside}: ${message}`,
  /** `reason`: the pool's reason. Absent: all slices are ready in the other zone. */
  'zone-given-up': ({
    zone,
    readyIn,
    reason,
  }: {
    readonly zone: string;
    readonly readyIn?: string;
    readonly reason?: string;
  }) => `${readyIn === undefined ? reason : readyText(readyIn)}: ${zone} is given up`,
  lodged: ({ landlord }: { readonly landlord: string }) => `it runs on the slices of ${landlord}, which are set up`,
  'put-aside-failed': ({ machine, reason }: Because & { readonly machine: string }) =>
    `machine ${machine} could not be put aside: ${reason}`,

  // Their set-up.
  'setting-up': ({ modules, hosts }: { readonly modules: readonly string[]; readonly hosts: number }) =>
    `${modules.length === 0 ? 'no modules' : `modules ${modules.join(', ')}`} on ${count(hosts, 'host')}`,
  'hosts-renumbered': () =>
    'the provider lists hosts in another order than that of their workers: they are numbered by worker now',
  restored: ({ text }: { readonly text: string }) => text,
  'set-up-not-ended': ({ reason }: Because) => `its set-up could not be ended at once: ${reason}`,
  'set-up-requested': (asked: Asker & { readonly modules: readonly string[]; readonly isForced: boolean }) =>
    `${askerText(asked)} asked for the set-up of ${asked.modules.join(', ')}${asked.isForced ? ', whatever is there' : ''}`,
  'set-up-awaited': () => 'waits for the end of the set-up that was asked for',
  'requested-set-up-done': () => 'the set-up that was asked for is done on all hosts',
  'requested-set-up-failed': (of: Because | (Place & { readonly module: string; readonly message: string })) =>
    `the set-up that was asked for failed: ${'reason' in of ? of.reason : `${of.module} on ${placeText(of)}: ${of.message}`}`,
  'requested-set-up-cut': ({ by }: { readonly by: 'worker' | 'slices' }) =>
    `the set-up that was asked for ended with its ${by === 'worker' ? 'worker; ask again' : 'slices'}`,

  // Its command.
  running: ({ attempt, hosts, zone, isWorkspace }: Running) =>
    `${isWorkspace ? 'workspace, ' : ''}attempt ${attempt} on ${count(hosts, 'host')} in ${zone}`,
  'attempt-found': ({ attempt }: { readonly attempt: number }) =>
    `the hosts run attempt ${attempt} already; going on with it`,
  'worker-lost': ({ timeout }: { readonly timeout?: string }) =>
    `the worker that served the attempt is gone${timeout === undefined ? '' : ` (${timeout})`}; another one goes on`,
  'worker-error': ({ reason }: Because) => `a worker reported: ${reason}; trying again`,
  'hosts-unreachable': trouble(unreachableText),
  'hosts-silent': trouble(({ what }: { readonly what: string }) => what),
  'workspace-use': trouble(({ what }: { readonly what: string }) => what),
  'accelerator-awaited': trouble(({ what }: { readonly what: string }) => what),
  'store-trouble': trouble(({ what }: { readonly what: string }) => what),
  'stacks-stored': ({ job, attempt }: { readonly job: string; readonly attempt: number }) =>
    `where the processes of the silent command stand is stored: \`jobctl stacks ${job} --attempt ${attempt}\` groups what \`jobctl logs ${job} --attempt ${attempt} --module stacks\` has`,
  'stop-failed': ({ reason }: Because) => `the command could not be stopped on every host: ${reason}`,
  'processes-left': (report: LeftReport) => leftText(report),
  saved: (report: OutputsReport) => `outputs of attempt ${report.attempt}: ${outputsText(report)}`,
  'last-lines-late': ({ attempt }: { readonly attempt: number }) =>
    `the last lines and outputs of attempt ${attempt} were not all stored in the time after its stop: its logs and outputs may lack what its hosts made at the end`,
  'last-lines-lost': ({ reason }: Because) => `its logs may lack what its hosts printed at the end: ${reason}`,
  'record-not-stored': ({ attempt, reason }: Because & { readonly attempt: number }) =>
    `the record of attempt ${attempt} could not be stored: ${reason}`,

  'over-budget': ({ maxCost, usdPerHour }: { readonly maxCost: number; readonly usdPerHour: number }) =>
    `it has cost ${usdText(maxCost)} (max_cost) by now, and goes on at about ${usdText(usdPerHour)} an hour`,

  // People.
  resumed: (asker: Asker) => `${askerText(asker)} resumed it`,
  edited: ({ attempt }: { readonly attempt: number }) => `from attempt ${attempt} on it runs by the changed job file`,
  paused: ({ request, ...kept }: Kept & { readonly request: Cause }) =>
    `${toldText(request)}; its slices are kept, ${costText(kept)} (timeouts.stop)`,
  'pause-ended': (why: KeptNoMore) => `its slices are not kept any more: ${keptNoMoreText(why)}`,
  released: ({ request, job }: { readonly request: Cause; readonly job: string }) =>
    `${toldText(request)}; it holds nothing until \`jobctl resume ${job}\``,

  // Its end.
  finishing: () => 'storing the outcome, letting the slices go',
  'hook-started': ({
    result,
    hook,
    seconds,
  }: {
    readonly result: JobResult;
    readonly hook: EndHook;
    readonly seconds: number;
  }) => `${result}; its hook ${hook} runs, for ${seconds} s at most`,
  'hook-ended': (report: HookReport) => `hook ${hookText(report)}`,
  holding: ({ result, message, when, ...kept }: Kept & Holding) =>
    `${result}: ${message ?? BY_ITSELF}; its slices are kept (keep: ${when}), ${costText(kept)}`,
  /** The job has succeeded, and its slices wait for another member. */
  lending: ({ forSeconds }: { readonly forSeconds: number; readonly isAgain?: true }) =>
    `${BY_ITSELF}; its slices stay for the next member of its group, for ${durationText(forSeconds)} at most`,
  lent: ({ lodger }: { readonly lodger: string }) => `${BY_ITSELF}; ${lodger} runs on its slices`,
  'holding-ended': (why: KeptNoMore) => `its slices go: ${keptNoMoreText(why)}`,
  'outcome-not-stored': trouble(({ reason, hasGivenUp }: Because & { readonly hasGivenUp: boolean }) =>
    hasGivenUp
      ? `its outcome could not be stored: ${reason}`
      : `its outcome is not stored yet, which is tried for 6 h: ${reason}`,
  ),
  notified: ({ to, events = 1 }: { readonly to: NotifyTarget; readonly events?: number }) =>
    `notify: ${targetText(to)} told${events === 1 ? '' : ` of ${events} events`}`,
  'not-notified': ({ to, problem }: { readonly to: NotifyTarget; readonly problem: string }) =>
    `notify: ${targetText(to)} ${problem}`,
  'notices-left': ({ workflow, to }: { readonly workflow: string; readonly to: readonly NotifyTarget[] }) =>
    `notify: workflow ${workflow} delivers what is left to ${to.map(targetText).join('; ')}`,
  'notify-test': ({ by }: { readonly by: string }) => `${by} tests who is told of jobs`,
  succeeded: endedText,
  failed: endedText,
  cancelled: endedText,
} as const;

interface BackOff {
  readonly after: Cause;
  readonly zone: string;
  /** Time at which the zone is asked again. Absent: `timeouts.queue` is over before. */
  readonly at?: EpochMs;
  readonly isNoZoneLeft?: true;
}
/** The sentence names times, not how long is left, because lists show it unchanged until the pause is over. */
function backOffText({ after, zone, at, isNoZoneLeft }: BackOff): string {
  const none = isNoZoneLeft ? '; each zone of the job refused it last' : '';
  const then = at === undefined ? '' : `; ${zone} is asked again at ${utc(at)}`;
  return `${toldText(after)}${none}${then}`;
}
/** `after`: it lost its request in `from`. `turnOf`: another zone has its turn. Neither: all slices are ready in `to`. */
interface Moved {
  readonly from: string;
  readonly to: string;
  readonly after?: Cause;
  readonly turnOf?: string;
}
export function moveReason({ to, after, turnOf }: Moved): string {
  if (after !== undefined) return toldText(after);
  return turnOf === undefined ? readyText(to) : `${turnOf} has its turn`;
}
const readyText = (zone: string): string => `all slices are ready in ${zone}`;

interface Holding {
  readonly result: JobResult;
  readonly message?: string;
  readonly when: string;
}

type Kinds = typeof KINDS;
export type EventKind = keyof Kinds;

/** An event without its time. */
export type Told =
  | Cause
  | {
      [K in Exclude<EventKind, Cause['kind']>]: { readonly kind: K; readonly facts: FactsIn<Kinds[K]> };
    }[Exclude<EventKind, Cause['kind']>];

/** The sentence of an event. No other code writes it. */
export function toldText({ kind, facts }: Told): string {
  const sentence: ((facts: never) => string) | undefined = KINDS[kind];
  // A worker of a later version may have told it.
  if (sentence === undefined) return kind;
  const text = sentence(facts as never);
  return 'reaction' in facts && facts.reaction !== undefined ? `${text}; ${reactionText(facts.reaction)}` : text;
}
