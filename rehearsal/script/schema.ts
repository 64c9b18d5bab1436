import { z } from 'zod';
import { SSH_AT_SHUTDOWN } from '../tpu/settings.js';
import { CLOCK_SCALE } from '../clock.js';
import { HOLDABLE } from '../admin/requests.js';
import { capacity, code, duration, method, methods, pattern, quota, span, whole, zone } from './fields.js';

/** The schema of a fault script (README.md, "Fault scripts"). Times are on the cloud's clock. */

/** Nodes that an action is about. Default for an event with `when`: the resource that triggered it. */
const target = {
  node: pattern.optional(),
  /** If several match: all of them, or one that the seed draws. */
  which: z.enum(['all', 'one']).default('all'),
};
const host = z
  .union([z.number().int().min(0), z.literal('all')], 'the number of a host from 0 on, or all')
  .default('all');
const message = z.string('a text').min(1).optional();
const times = whole(1, 1_000_000);
const lasting = duration.optional();

const settings = z.strictObject({
  creating: span.optional(),
  queue: span.optional(),
  provisioning: span.optional(),
  deleting: span.optional(),
  suspending: span.optional(),
  stopping: span.optional(),
  starting: span.optional(),
  updating: span.optional(),
  repairing: span.optional(),
  notice: span.optional(),
  guestNotice: span.optional(),
  preemptedLag: span.optional(),
  sshAtShutdown: z.enum(SSH_AT_SHUTDOWN).optional(),
  preemptibleLife: span.optional(),
  quotaRefusal: z.enum(['call', 'failed']).optional(),
  undeletable: span.optional(),
  unreachableZones: z.array(zone, 'a list of zones').optional(),
  queuedState: z.enum(['WAITING_FOR_RESOURCES', 'ACCEPTED']).optional(),
  othersOnPreemption: z.enum(['kept', 'preempted']).optional(),
});

const refusal = { code, message, names: pattern.optional(), zone: zone.optional() };

/** Actions of an event: it has exactly one. */
export const ACTIONS = {
  capacity,
  quota,
  settings,
  clock: z.strictObject({
    scale: z.number('a number').min(CLOCK_SCALE.min).max(CLOCK_SCALE.max).optional(),
    frozen: z.boolean('true or false').optional(),
  }),
  preempt: z.strictObject({
    ...target,
    notice: z.union([z.literal('none'), duration], 'none, or a duration such as 30s').default('none'),
    mode: z.enum(['preempted', 'vanish', 'signal']).default('preempted'),
  }),
  warn: z.strictObject({ ...target, clearAfter: lasting }),
  maintenance: z.strictObject({ ...target, kind: z.enum(['announce', 'repair']).default('repair') }),
  fail: z.strictObject({ queuedResource: pattern.optional(), code: code.default('INTERNAL'), message }),
  sendBack: z.strictObject({ queuedResource: pattern.optional() }),
  stall: z.strictObject({ state: z.enum(HOLDABLE), names: pattern.optional(), for: lasting }),
  refuse: z.strictObject({
    method: methods,
    ...refusal,
    reason: z.string('text').optional(),
    as: z.enum(['operation', 'request']).optional(),
    times: times.optional(),
    for: lasting,
  }),
  unavailable: z.strictObject({ for: duration, methods: methods.default(['*']), zone: zone.optional(), message }),
  error: z.strictObject({ method: methods, ...refusal, times: times.default(1) }),
  answerLost: z.strictObject({
    method,
    code: code.default('UNAVAILABLE'),
    message,
    names: pattern.optional(),
    times: times.default(1),
  }),
  ssh: z.strictObject({ ...target, host, is: z.enum(['slow', 'dead', 'reset']), delay: lasting, for: lasting }),
  fullDisk: z.strictObject({ ...target, host, for: lasting }),
  freeze: z.strictObject({ ...target, host, for: lasting }),
  stopProcesses: z.strictObject({ ...target, host }),
  missingWorker: z.strictObject({ names: pattern.optional(), workers: z.array(whole(0, 4095)) }),
  bootFailure: z.strictObject({ names: pattern.optional(), message }),
  guestAttributes: z.strictObject({
    names: pattern.optional(),
    after: lasting,
    forbidden: z.boolean('true or false').optional(),
  }),
  recycledIp: z.boolean('true or false'),
  listLag: z.strictObject({ lag: duration, for: lasting }),
} as const;
export type ActionName = keyof typeof ACTIONS;

const when = z
  .strictObject({
    node: pattern.optional(),
    queuedResource: pattern.optional(),
    state: z.string('the name of a state').regex(/^[A-Z_]+$/, 'the name of a state, such as READY'),
    for: duration.default(0),
  })
  .refine(({ node, queuedResource }) => (node === undefined) !== (queuedResource === undefined), {
    error: 'a condition: it names a node or a queuedResource, one of the two',
  });

const optionalActions = Object.fromEntries(
  Object.entries(ACTIONS).map(([name, schema]) => [name, schema.optional()]),
) as { readonly [Name in ActionName]: z.ZodOptional<(typeof ACTIONS)[Name]> };

const event = z.strictObject({
  /** Time since the script's start. */
  at: duration.optional(),
  when: when.optional(),
  repeat: whole(1, 100_000).default(1),
  every: duration.optional(),
  /** Longest extra delay, drawn for each turn. */
  jitter: duration.default(0),
  /** Probability that a turn acts at all, drawn for each turn. */
  chance: z.number('a number from 0 to 1').min(0).max(1).default(1),
  ...optionalActions,
});

export const scriptSchema = z.strictObject({
  version: z.literal(1, '1, the only version there is'),
  seed: whole(0, Number.MAX_SAFE_INTEGER).optional(),
  timeScale: z.number('a number').min(CLOCK_SCALE.min).max(CLOCK_SCALE.max).optional(),
  capacity: capacity.optional(),
  quota: quota.optional(),
  settings: settings.optional(),
  events: z.array(event, 'a list of events').default([]),
});

export type WrittenEvent = z.output<typeof event>;
export type WrittenScript = z.output<typeof scriptSchema>;
export type ActionBody<Name extends ActionName> = z.output<(typeof ACTIONS)[Name]>;
