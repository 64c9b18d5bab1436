import { z } from 'zod';
import { isArray, MOST_MEMBERS } from '../domain/array/array.js';
import { type MemberFile, memberOf } from '../domain/array/members.js';
import { LAST_ROUND } from '../domain/array/group-state.js';
import type { JobAuthorization } from './authorization.js';
import { type Form, form } from './form.js';
import {
  type BeginCall,
  type GroupInput,
  memberIn,
  type MemberNews,
  type ResumeGroupCall,
  type RetryCall,
  type StopGroupCall,
} from './group.js';
import type { JobInput, StartedMember } from './job.js';
import { humanCall } from './quota-forms.js';

// Forms of a group's messages (contract/group.ts), and of the place of a member in its job's input.

const text = z.string();
const round = z.int().min(0).max(LAST_ROUND);
const jobRef = z.strictObject({ id: text.min(1), run: text.min(1) });
const state = z.object({ marks: text.max(MOST_MEMBERS), rounds: text.max(MOST_MEMBERS) });
/**
 * Checks only these two keys: each member's worker checks the whole statement. A workflow cannot use the full form. Its patterns
 * belong to shared modules, which the workflow's sandbox freezes, and zod writes to a pattern.
 */
const authorization = z.looseObject({ v: z.literal(1), job: text }) as unknown as z.ZodType<JobAuthorization>;

/** `submission` is checked by each member, as a job's input is. */
export const groupInputForm: Form<GroupInput> = form(
  z.object({
    v: z.literal(1),
    submission: z.looseObject({ v: z.literal(1), job: z.unknown() }) as unknown as z.ZodType<JobInput>,
    state: state.exactOptional(),
    authorizations: z.record(text, authorization).exactOptional(),
    // Only the workflow's own continue-as-new is trusted to bring one.
    carry: z.unknown().exactOptional(),
  }) as unknown as z.ZodType<GroupInput>,
);
export const retryForm: Form<RetryCall> = form(
  z.object({ ...humanCall(), round: round.min(1), authorization: authorization.exactOptional() }),
);
export const beginForm: Form<BeginCall> = form(z.object(humanCall()));
export const stopGroupForm: Form<StopGroupCall> = form(
  z.object({ ...humanCall(), release: z.boolean().exactOptional() }),
);
export const resumeGroupForm: Form<ResumeGroupCall> = form(z.object(humanCall()));
export const memberNewsForm: Form<MemberNews> = form(
  z.object({
    v: z.literal(1),
    index: z
      .int()
      .min(0)
      .max(MOST_MEMBERS - 1),
    round,
    result: z.enum(['succeeded', 'failed', 'cancelled', 'refused']),
    lends: jobRef.exactOptional(),
  }),
);
/** The key `member` of a job's input. */
export const memberForm: Form<StartedMember> = form(
  z.strictObject({
    group: text.min(1),
    index: z
      .int()
      .min(0)
      .max(MOST_MEMBERS - 1),
    round: round.exactOptional(),
    landlord: jobRef.exactOptional(),
  }),
);

/**
 * The file of one job: the job file itself, or for a member of an array the file made for it from the array's. Pure, so that the
 * workflow and its worker make the same file.
 * @returns problems if the array has no such member, or if the file has an array but the input names no member
 */
export function ownFile(input: Pick<JobInput, 'job' | 'member'>): Extract<MemberFile, { ok: false }> | OwnFile {
  const { job } = input;
  const member = memberIn(input);
  if (member !== undefined) return memberOf(job, member.index);
  if (!isArray(job)) return { ok: true, file: job };
  return { ok: false, problems: [{ path: ['array'], message: ARRAY_ALONE, hint: ARRAY_ALONE_HINT }] };
}

export interface OwnFile {
  readonly ok: true;
  readonly file: unknown;
}

const ARRAY_ALONE = 'is a file of many jobs, and this workflow is one job';
const ARRAY_ALONE_HINT =
  'start the workflow `group` with it, or name the member: {"v": 1, "job": {..}, "member": {"group": "exp", "index": 0}}';
