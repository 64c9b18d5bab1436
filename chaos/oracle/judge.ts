import { begunTwice, falseRecoveries, falseSuccesses, stuckJobs, wrongOutcomes } from './attempts.js';
import { foreignTouched, leaked, overcommitted } from './cloud.js';
import { endedWorkRunAgain } from './ended-work.js';
import type { Evidence } from './evidence.js';
import { groupFindings, withMembers } from './groups.js';
import { leftOnMachines, twoAtOnce } from './hosts.js';
import { endedByThemselves } from './lives.js';
import { logFindings } from './logs.js';
import { wrongMetrics } from './metrics.js';
import { noticeFindings } from './notices.js';
import { withOwnEnds } from './own-ends.js';
import { untrueReasons } from './reasons.js';
import type { Finding } from './verdict.js';

/** Returns all findings. Pure: the same evidence gives the same findings. */
export function judge(records: Evidence): readonly Finding[] {
  const evidence = withOwnEnds(withMembers(records));
  return [
    ...leaked(evidence),
    ...falseRecoveries(evidence),
    ...falseSuccesses(evidence),
    ...endedWorkRunAgain(evidence),
    ...begunTwice(evidence),
    ...twoAtOnce(evidence),
    ...wrongOutcomes(evidence),
    ...logFindings(evidence),
    ...evidence.leases.map((text): Finding => ({ count: 'leases left', subject: 'the pool', text })),
    ...leftOnMachines(evidence),
    ...overcommitted(evidence),
    ...foreignTouched(evidence),
    ...endedByThemselves(evidence),
    ...stuckJobs(evidence),
    ...untrueReasons(evidence),
    ...groupFindings(evidence),
    ...noticeFindings(evidence),
    ...wrongMetrics(evidence),
  ];
}
