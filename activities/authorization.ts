import type { KeyObject } from 'node:crypto';
import { authorizationForm, type JobAuthorization, signedText, submittedText } from '../contract/authorization.js';
import { roundPrefix } from '../domain/array/group-state.js';
import { firingJobId, scheduleId } from '../domain/schedule/schedule.js';
import { memberIn } from '../contract/group.js';
import type { AcceptJobInput } from '../contract/job-activities.js';
import { invalidJob } from './failures.js';

/** The sources that a worker trusts for the user of a job (docs/adr/0080). */
export interface Trust {
  /** In verified mode only a server's signature proves a job's user; otherwise the user is the one that the client names. */
  readonly isVerified: (pool: string) => boolean;
  /** Whether this worker verifies at all. `trustedPools` are then exceptions. */
  readonly hasVerifiedPools: boolean;
  /** Public keys of servers, by id. */
  readonly serverKeys: ReadonlyMap<string, KeyObject>;
  readonly isSignedBy: (text: string, signature: string, key: KeyObject) => boolean;
  readonly sha256Of: (text: string) => string;
}

/** The user who submits a job, and the project of its quota. */
export interface Submitter {
  readonly user: string;
  /** Absent: none was named. */
  readonly project?: string;
  readonly isVerified: boolean;
}

const HOW = 'submit it through the server of this installation: jobctl login, then jobctl submit (docs/access.md)';

/**
 * Finds the user of a job. In a pool in verified mode the signature is checked over everything that was submitted, for this id
 * and pool alone. A signature that is missing, by an unknown key, replayed under another id, or over another input is refused.
 * @throws InvalidJob naming what is wrong with the signature
 */
export function submitterOf(trust: Trust, { job, spec, input }: AcceptJobInput): Submitter {
  if (!trust.isVerified(spec.pool)) {
    const { project } = spec;
    return { user: spec.user ?? input.user ?? 'unknown', ...(project !== undefined && { project }), isVerified: false };
  }
  const statement = signedStatement(trust, input.authorization, spec.pool);
  const { user, project } = statement;
  const wrong = [
    ...differs('job', signedId(statement.job, input), job.id),
    ...differs('pool', statement.pool, spec.pool),
    ...differs('user', user, spec.user ?? user),
    ...differs('user', user, input.user ?? user),
    ...differs('project', project.toLowerCase(), (spec.project ?? project).toLowerCase()),
  ];
  const [first] = wrong;
  if (first !== undefined) throw refused(spec.pool, `it was signed for ${first}`);
  if (trust.sha256Of(submittedText(input)) !== statement.sha256)
    throw refused(spec.pool, 'its input is not the one that was signed');
  return { user, project, isVerified: true };
}

/**
 * The id of the one job that a signature permits. The signature names the job itself, or the schedule or group that starts it;
 * the id is then made of that name with the firing's time, the member's index, or both, since a firing may be a group. Whether
 * the file has such a member is checked later, when `acceptJob` takes the member's own file.
 */
function signedId(signed: string, input: AcceptJobInput['input']): string {
  const { firing } = input;
  // No job's id has a slash, so nothing else is signed by the name of a schedule.
  const isOfSchedule = firing !== undefined && firing !== null && signed === scheduleId(firing.schedule);
  const admitted = isOfSchedule ? firingJobId(firing) : signed;
  const member = memberIn(input);
  if (member === undefined) return admitted;
  // Else the statement of a group `a-r1` would let in a member of group `a`.
  return roundPrefix(member) === admitted ? `${admitted}-${member.index}` : signed;
}

function signedStatement(trust: Trust, authorization: unknown, pool: string): JobAuthorization {
  if (authorization === undefined || authorization === null) throw refused(pool, 'it is not signed');
  const checked = authorizationForm(authorization);
  if (checked.kind !== 'valid')
    throw refused(pool, checked.kind === 'malformed' ? checked.reason : `version ${checked.version} of a signature`);
  const { signature, ...statement } = checked.value;
  const key = trust.serverKeys.get(statement.key);
  if (key === undefined)
    throw refused(
      pool,
      `it is signed with key '${statement.key}', which this worker does not have (verified.serverKeys)`,
    );
  if (!trust.isSignedBy(signedText(statement), signature, key))
    throw refused(pool, `its signature is not one of key '${statement.key}'`);
  return checked.value;
}

const differs = (what: string, signed: string, got: string): readonly string[] =>
  signed === got ? [] : [`${what} '${signed}', not '${got}'`];

const refused = (pool: string, why: string) =>
  invalidJob(`authorization: pool ${pool} takes only jobs whose user a server has verified: ${why}\n  ${HOW}`);
