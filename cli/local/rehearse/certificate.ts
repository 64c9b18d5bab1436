import type { Outcome } from '../../../domain/job-state.js';
import { ExitCode } from '../../terminal/cli-error.js';
import type { AuditReport } from '../../doctor/audit/render-audit.js';
import type { Versions } from '../../terminal/version.js';
import { lostPercent } from './lost-work.js';
import type { LostWork, WorkMeasure } from './lost-work.js';

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
export type Verdict = 'resumed' | 'lost-all' | 'not-measurable' | 'not-preempted';

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

export interface ExitRule {
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
