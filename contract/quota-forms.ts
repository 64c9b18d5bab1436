import { z } from 'zod';
import type { LeaseMessage } from '../domain/lease.js';
import { MOST_POOL_FILE, MOST_QUOTA_FILE } from '../domain/bounds.js';
import type { HumanCall } from './define.js';
import { type Form, form } from './form.js';
import { leaseMessage, text } from './lease-forms.js';
import type { AdmissionCall, ApplyCall, PriorityCall, QuotaInput, ReleaseCall } from './quota.js';

/** Members of every call that a person makes. */
export const humanCall = () =>
  ({ v: z.literal(1), by: text().min(1), from: text().exactOptional() }) satisfies Record<keyof HumanCall, z.ZodType>;

const PRIORITY = 'must be a whole number from 1 (first) to 5';
const priority = z.int({ error: PRIORITY }).min(1, PRIORITY).max(5, PRIORITY);
const namedText = (most: number) =>
  z.object({ name: text().max(1_024), text: text().max(most), replaces: text().min(1).max(200).exactOptional() });

/** Forms of a quota workflow's input and of its messages (contract/quota.ts). */
export const quotaInputForm: Form<QuotaInput> = form(
  z.object({ v: z.literal(1), pool: text().min(1), carry: z.unknown().exactOptional() }),
);
/** One message of the signal `leaseMessages`. Messages are checked one by one: a bad one never costs the others. */
export const leaseMessageForm: Form<LeaseMessage> = form(leaseMessage());

export const applyForm: Form<ApplyCall> = form(
  z.object({
    ...humanCall(),
    quotaFile: namedText(MOST_QUOTA_FILE).exactOptional(),
    poolFile: namedText(MOST_POOL_FILE).exactOptional(),
  }),
);
export const admissionForm: Form<AdmissionCall> = form(
  z.object({
    ...humanCall(),
    admission: z.enum(['open', 'frozen', 'draining'], { error: 'must be open, frozen or draining' }),
    reason: text().exactOptional(),
  }),
);
export const priorityCallForm: Form<PriorityCall> = form(
  z.object({
    ...humanCall(),
    askedBy: text().min(1).exactOptional(),
    job: text().min(1),
    isGroup: z.literal(true).exactOptional(),
    priority,
  }),
);
/** Characters of a reason in a pool's history. */
export const MOST_BECAUSE = 500;
export const releaseCallForm: Form<ReleaseCall> = form(
  z.object({ ...humanCall(), job: text().min(1), because: text().regex(/\S/, 'says nothing').max(MOST_BECAUSE) }),
);
