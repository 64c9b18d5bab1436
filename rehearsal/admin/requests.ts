import { z } from 'zod';
import { findStatus } from '../tpu/api-error.js';
import { METHODS } from '../tpu/methods.js';
import { STORE_METHODS } from '../store/calls.js';

const REFUSABLE = [...Object.keys(METHODS), ...Object.keys(STORE_METHODS)];
const HOLDABLE = ['CREATING', 'WAITING_FOR_RESOURCES', 'PROVISIONING', 'SUSPENDING', 'DELETING'] as const;

const pattern = z
  .string()
  .refine(isPattern, { error: (issue) => `'${String(issue.input)}' is not a regular expression` });
const delayMs = z.number().int().min(0).max(86_400_000).optional();

export const preemptRequest = z.strictObject({
  /** A node's or queued resource's name, full or its last part. */
  name: z.string(),
  notice: z.boolean().optional(),
  mode: z.enum(['preempted', 'vanish']).optional(),
});

export const refuseRequest = z.strictObject({
  method: z
    .string()
    .refine((method) => REFUSABLE.includes(method), { error: () => `must be one of ${REFUSABLE.join(', ')}` }),
  code: z.union([z.string(), z.number()]).refine((code) => findStatus(code) !== undefined, {
    error: 'must be a google.rpc.Code: its name or number 1 to 16',
  }),
  message: z.string().optional(),
  times: z.number().int().min(1).optional(),
  afterEffect: z.boolean().optional(),
  nameMatches: pattern.optional(),
});

export const holdRequest = z.strictObject({ state: z.enum(HOLDABLE), nameMatches: pattern.optional() });

/** Without a state every hold is released. */
export const releaseRequest = z.strictObject({ state: z.enum(HOLDABLE).optional(), nameMatches: pattern.optional() });

export const configureRequest = z.strictObject({
  queueMs: delayMs,
  provisioningMs: delayMs,
  deletingMs: delayMs,
  suspendingMs: delayMs,
  noticeMs: delayMs,
  /** Replaces the whole table. */
  capacity: z
    .record(z.string().regex(/^[a-z0-9-]+\/[a-z0-9]+$/, 'must be <zone>/<generation>'), z.number().int().min(0))
    .optional(),
});

export const hostsRequest = z.strictObject({
  name: z.string(),
  host: z.number().int().min(0),
  action: z.enum(['freeze', 'thaw', 'unreachable', 'reachable', 'kill-processes']),
});

function isPattern(text: string): boolean {
  try {
    return RegExp(text) instanceof RegExp;
  } catch {
    return false;
  }
}
