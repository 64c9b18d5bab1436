import type { Outcome } from '../../../domain/job-state.js';
import { ExitCode } from '../../terminal/cli-error.js';
import type { AuditReport } from '../../doctor/audit/leaks.js';
import type { Versions } from '../../terminal/version.js';
import { lostPercent, type LostWork, type WorkMeasure } from './lost-work.js';
import { count } from '../../../domain/units.js';
import { formatExactDuration } from '../../terminal/render/quantities.js';
import { oneLine, renderTable } from '../../terminal/render/columns.js';
import { asTyped } from '../../terminal/print.js';

export interface CertifiedPreemption {
  /** Milliseconds of wall time since the submit. */
  readonly afterMs: number;
  readonly node: string;
  /** Null: the node was taken before a command ran on it. */
  readonly attempt: number | null;
  readonly mode: 'preempted' | 'vanish';
  /** Wall time from the notice to the preemption; null: there was none. */
  readonly noticeMs: number | null;
  readonly lost: LostWork;
  /** 0 to 100; null: unknown. */
  readonly lostPercent: number | null;
  /** Wall time from the preemption to the next start of the command; null: it did not start again. */
  readonly recoveredMs: number | null;
}

/**
 * `resumed`: each preemption cost less than all of the work. `lost-all`: at least one cost all of it. `not-measurable`: the cost
 * of at least one is unknown, and none cost all. `not-preempted`: there was no preemption that could cost any work.
 */
type Verdict = 'resumed' | 'lost-all' | 'not-measurable' | 'not-preempted';

/** The result of a job's rehearsal, printed as it is by `--output json`. */
export interface Certificate {
  readonly v: 1;
  readonly label: 'REHEARSAL';
  readonly file: string;
  readonly job: string;
  /** `v5litepod-16`, or `2 x v5litepod-16`. */
  readonly slice: string;
  readonly outcome: Outcome;
  /** Numbers of the attempts that began, with the cause of their end. */
  readonly attempts: readonly { readonly attempt: number; readonly end: string }[];
  /** Number of preemptions requested by `--preempt`; those of a fault script are additional. */
  readonly wantedPreemptions: number;
  readonly preemptions: readonly CertifiedPreemption[];
  readonly measure: WorkMeasure;
  readonly verdict: Verdict;
  readonly leaks: Pick<AuditReport, 'leaks' | 'leases'>;
  readonly timeScale: number;
  readonly confinement: string;
  readonly seed: number;
  /** The command line that repeats the rehearsal. */
  readonly again: string;
  readonly versions: Versions;
}

export function verdictOf(preemptions: readonly Pick<CertifiedPreemption, 'lost'>[]): Verdict {
  const costs = preemptions.filter(({ lost }) => lost.kind !== 'none-made').map(({ lost }) => lostPercent(lost));
  if (costs.length === 0) return 'not-preempted';
  if (costs.includes(100)) return 'lost-all';
  return costs.includes(undefined) ? 'not-measurable' : 'resumed';
}

interface ExitRule {
  /** `--require-resume`: losing all work, or an unknown loss, is a failure too. */
  readonly requiresResume: boolean;
}

/**
 * Returns 0 if the job succeeded, all requested preemptions happened, and nothing leaked. The command's own exit code passes
 * through, as with `submit --wait`; everything else is 1.
 */
export function exitCodeOfCertificate(certificate: Certificate, { requiresResume }: ExitRule): number {
  const { outcome, leaks, preemptions, wantedPreemptions, verdict } = certificate;
  if (outcome.result === 'cancelled') return ExitCode.Interrupted;
  if (outcome.result !== 'succeeded') return outcome.exitCode || ExitCode.Failed;
  const isClean = leaks.leaks.length + leaks.leases.length === 0;
  const isWhole = preemptions.length >= wantedPreemptions;
  const hasResumed = verdict === 'resumed' || !requiresResume;
  return isClean && isWhole && hasResumed ? ExitCode.Done : ExitCode.Failed;
}

/**
 * Renders the output of `jobctl rehearse`.
 * @param width the terminal's; absent in a pipe
 */
export function renderCertificate(certificate: Certificate, width?: number): readonly string[] {
  const { file, job, slice } = certificate;
  return [
    `REHEARSAL of ${file}: nothing of it ran on real Cloud TPUs`,
    '',
    `  ${sentenceOf(certificate)}`,
    '',
    ...renderTable(
      [['  job', `${job}   ${slice}`], ...facts(certificate).map(([name, value]) => [`  ${name}`, value])],
      width,
    ),
    ...preemptionTable(certificate.preemptions, width),
    '',
    ...renderTable(
      origin(certificate).map(([name, value]) => [`  ${name}`, value]),
      width,
    ),
  ];
}

type Fact = readonly [string, string];

const TIMES: Readonly<Record<number, string>> = { 1: 'once', 2: 'twice' };
const times = (number: number): string => TIMES[number] ?? `${number} times`;

const NO_COUNTER = 'let it print a step counter, or name it with --progress REGEX.';

/** The verdict in one sentence. */
function sentenceOf(certificate: Certificate): string {
  const { verdict, preemptions, measure } = certificate;
  const all = preemptions.filter(({ lostPercent }) => lostPercent === 100).length;
  switch (verdict) {
    case 'resumed':
      return `It resumed ${preemptions.length === 1 ? '' : 'each time '}and lost ${lossesOf(preemptions)} of its work.`;
    case 'lost-all':
      return `It lost 100 % of its work ${times(all)}: it began again at its beginning${all === preemptions.length ? '' : `, of ${count(preemptions.length, 'preemption')}`}.`;
    case 'not-measurable':
      return `Whether it resumed is not measurable: ${measure.kind === 'counter' ? 'see below.' : NO_COUNTER}`;
    case 'not-preempted':
      return 'Nothing is shown about its checkpoints: no preemption cost it any work.';
  }
}

function lossesOf(preemptions: readonly CertifiedPreemption[]): string {
  const percents = preemptions.flatMap(({ lostPercent }) => (lostPercent === null ? [] : [percent(lostPercent)]));
  const [last = '', ...others] = [...new Set(percents)].toReversed();
  return others.length === 0 ? last : `${others.toReversed().join(', ')} and ${last}`;
}

function facts(certificate: Certificate): readonly Fact[] {
  const { outcome, attempts, leaks, wantedPreemptions, preemptions, verdict } = certificate;
  const missing = wantedPreemptions - preemptions.length;
  return [
    ['outcome', outcomeOf(certificate)],
    ['attempts', attempts.map(({ attempt, end }) => `${attempt} (${end})`).join(', ') || 'none'],
    [
      'preempted',
      missing > 0
        ? `${preemptions.length} of ${wantedPreemptions} times: the job ended before; give it more steps, --after a shorter time, or no --notice`
        : times(preemptions.length),
    ],
    ['measured', measured(certificate)],
    ['leaks', leaksOf(leaks)],
    ...(verdict === 'lost-all' ? ([['to do', CHECKPOINT_HINT]] as const) : []),
    ...(outcome.cause === undefined ? [] : ([['because', oneLine(outcome.cause.message)]] as const)),
  ];
}

const CHECKPOINT_HINT =
  'store checkpoints where a slice’s end does not reach them (gs://..), more often than that, and load the newest at the start: docs/train-jax.md';

function outcomeOf({ outcome }: Certificate): string {
  const { result, exitCode, submittedAt, endedAt } = outcome;
  return `${result}${exitCode === undefined ? '' : `, exit code ${exitCode}`}, in ${formatExactDuration(endedAt - submittedAt)} of wall time`;
}

function measured({ measure }: Certificate): string {
  if (measure.kind === 'counter') {
    return `by the counter '${measure.name}' in the output of host ${measure.host}; ${BLIND_SECOND}`;
  }
  return `by repeated lines alone, since ${measure.reason}`;
}

/** The bound on lost log output (docs/design.md, "Logs and the store"). */
const BLIND_SECOND = 'what a host printed in the last second before a preemption without notice may be missing';

function leaksOf({ leaks, leases }: Certificate['leaks']): string {
  if (leaks.length + leases.length === 0) return asTyped('0, by an independent listing (`jobctl audit leaks`)');
  return `${leaks.length + leases.length}: ${[...leaks.map(({ name, why }) => `${name} (${why})`), ...leases.map(({ lease, why }) => `lease of ${lease.job} (${why})`)].join(', ')}`;
}

function preemptionTable(preemptions: readonly CertifiedPreemption[], width: number | undefined): readonly string[] {
  if (preemptions.length === 0) return [];
  const rows = preemptions.map(({ afterMs, attempt, mode, noticeMs, lost, lostPercent, recoveredMs }, index) => [
    `  ${index + 1}`,
    formatExactDuration(afterMs),
    attempt === null ? '-' : String(attempt),
    noticeMs === null ? `none, ${mode}` : formatExactDuration(Math.round(noticeMs / 1000) * 1000),
    recoveredMs === null ? '-' : `${(recoveredMs / 1000).toFixed(1)} s`,
    `${lostPercent === null ? '?' : percent(lostPercent)}${lostDetail(lost)}`,
  ]);
  return ['', ...renderTable([['  #', 'AFTER', 'ATTEMPT', 'NOTICE', 'RUNS AGAIN IN', 'WORK LOST'], ...rows], width)];
}

function percent(value: number): string {
  return `${value > 0 && value < 1 ? value.toFixed(1) : Math.round(value)} %`;
}

function lostDetail(lost: LostWork): string {
  switch (lost.kind) {
    case 'counted':
      return `: ${counted(lost)}`;
    case 'repeated-lines':
      return `: the next attempt printed the same ${lost.lines} lines again, from the first on`;
    case 'none-made':
      return ': it had not printed a step yet';
    case 'unknown':
      return `: ${lost.reason}`;
  }
}

function counted({ redone, made, lastBefore, firstAfter }: Extract<LostWork, { kind: 'counted' }>): string {
  if (redone === made) return `it was at ${lastBefore} and began again at ${firstAfter}`;
  const again = redone === 0 ? '' : `; ${redone} of ${made} printed steps again`;
  return `it was at ${lastBefore} and went on at ${firstAfter}${again}`;
}

function origin({ timeScale, confinement, seed, again, versions }: Certificate): readonly Fact[] {
  const { jobctl, node, temporalSdk } = versions;
  const scale =
    timeScale === 1
      ? 'all times are wall time'
      : `all times are wall time; the cloud's clock, and jobctl's waits for it, ran ${timeScale} times as fast, the job's own processes did not`;
  return [
    ['clock', scale],
    ['files', confinementOf(confinement)],
    ['versions', `jobctl ${jobctl}, Node.js ${node}, Temporal SDK ${temporalSdk}`],
    ['seed', `${seed}; the same again: ${again}`],
  ];
}

function confinementOf(kind: string): string {
  if (kind === 'none') return "UNCONFINED: the job ran on this computer's own files";
  return 'each host had a root of its own: what the job wrote there is not on this computer';
}
