import { z } from 'zod';
import { GENERATIONS } from '../tpu/accelerators.js';
import { findStatus } from '../tpu/api-error.js';
import { METHODS } from '../tpu/methods.js';
import { SSH_AT_SHUTDOWN, TIERS } from '../tpu/settings.js';
import { COMPUTE_METHODS } from '../neighbours/compute-instances.js';
import { KUBERNETES_METHODS } from '../kubernetes/refused-calls.js';
import { STORE_METHODS } from '../store/calls.js';

/** Bodies of the admin interface's calls. */

export const REFUSABLE: readonly string[] = [
  ...Object.keys(METHODS),
  ...Object.keys(STORE_METHODS),
  ...KUBERNETES_METHODS,
  ...COMPUTE_METHODS,
];
export const HOLDABLE = [
  'CREATING',
  'WAITING_FOR_RESOURCES',
  'PROVISIONING',
  'SUSPENDING',
  'STOPPING',
  'STARTING',
  'REPAIRING',
  'DELETING',
] as const;
export const ZONE = /^[a-z]+-[a-z]+\d+-[a-z]$/;
/** 30 days. */
const MAX_MS = 2_592_000_000;

/** Time on the cloud's clock. */
const ms = z.number().int().min(0).max(MAX_MS);
const chips = z.number().int().min(0);
const pattern = z
  .string()
  .refine(isPattern, { error: (issue) => `'${String(issue.input)}' is not a regular expression` });
const zone = z.string().regex(ZONE, 'must be a zone, such as us-central1-a');
const code = z.union([z.string(), z.number()]).refine((given) => findStatus(given) !== undefined, {
  error: 'must be a google.rpc.Code: its name or number 1 to 16',
});
const method = z.string().refine(isRefusable, {
  error: () => `must be one of ${REFUSABLE.join(', ')}; * for all of them, Get* for all that begin so`,
});

export const preemptRequest = z.strictObject({
  /** Name of a node or queued resource, full or its last part. */
  name: z.string(),
  notice: z.boolean().optional(),
  /** Time between notice and preemption; default: by the settings. Implies `notice`. */
  noticeMs: ms.optional(),
  /** `signal`: the guests shut down, and the API shows nothing until the time that the settings give them is over. */
  mode: z.enum(['preempted', 'vanish', 'signal']).optional(),
});

/** Sets UNHEALTHY_MAINTENANCE. `clearAfterMs`: healthy again after that time. `clear`: healthy at once. */
export const warnRequest = z.strictObject({
  name: z.string(),
  clearAfterMs: ms.optional(),
  clear: z.literal(true).optional(),
});

export const maintenanceRequest = z.strictObject({
  name: z.string(),
  kind: z.enum(['announce', 'repair']).default('repair'),
  /** For `announce`: workers that are notified; absent: all. */
  workers: z.array(z.number().int().min(0)).min(1).optional(),
});

export const forceRequest = z.strictObject({
  name: z.string(),
  state: z.enum([
    'READY',
    'RESTARTING',
    'REIMAGING',
    'REPAIRING',
    'STOPPED',
    'PREEMPTED',
    'TERMINATED',
    'STOPPING',
    'SUSPENDING',
    'SUSPENDED',
    'HIDING',
    'HIDDEN',
    'UNHIDING',
    'UNKNOWN',
  ]),
  health: z.enum(['HEALTHY', 'TIMEOUT', 'UNHEALTHY_TENSORFLOW', 'UNHEALTHY_MAINTENANCE']).optional(),
  symptoms: z.array(z.record(z.string(), z.json())).optional(),
});

/** A request fails for a reason on the service's side. */
export const failRequestRequest = z.strictObject({
  name: z.string(),
  code: code.optional(),
  message: z.string().optional(),
});

/** A request goes from PROVISIONING back into the queue. */
export const sendBackRequest = z.strictObject({ name: z.string() });

const CREATES = ['CreateNode', 'instances.insert', 'CreateQueuedResource'];

export const refuseRequest = z
  .strictObject({
    method,
    code,
    message: z.string().optional(),
    /** Reason in ErrorInfo. */
    reason: z.string().optional(),
    times: z.number().int().min(1).optional(),
    forMs: ms.optional(),
    afterEffect: z.boolean().optional(),
    /** A create call is accepted and fails later: through its operation, or as a FAILED queued resource. */
    as: z.enum(['operation', 'request']).optional(),
    nameMatches: pattern.optional(),
    zone: zone.optional(),
  })
  .refine(({ as, method: of }) => as === undefined || CREATES.slice(as === 'request' ? 2 : 0).includes(of), {
    path: ['as'],
    error: 'operation: of CreateNode, CreateQueuedResource or instances.insert; request: of CreateQueuedResource',
  });

export const holdRequest = z.strictObject({ state: z.enum(HOLDABLE), nameMatches: pattern.optional() });

/** Without a state, holds of every state are released. */
export const releaseRequest = z.strictObject({ state: z.enum(HOLDABLE).optional(), nameMatches: pattern.optional() });

/** 0 ends the lag. */
export const listLagRequest = z.strictObject({ lagMs: ms.max(3_600_000) });

/** A Compute Engine machine type, such as g2-standard-8. */
export const MACHINE_TYPE = /^[a-z]\w*(-[a-z0-9]+)+$/;

function isCapacityKey(key: string): boolean {
  const [place = '', type = '', ...rest] = key.split('/');
  return placePattern('').test(key) || (rest.length === 0 && ZONE.test(place) && MACHINE_TYPE.test(type));
}

/** `null`: no limit. */
export const capacityRequest = z.strictObject({
  zone,
  /** A TPU generation, or a Compute Engine machine type. For a machine type, `chips` is a number of VMs. */
  generation: z.union([z.enum(GENERATIONS), z.string().regex(MACHINE_TYPE)], {
    error: `must be one of ${GENERATIONS.join(', ')}, or a machine type such as g2-standard-8`,
  }),
  tier: z.enum(TIERS).optional(),
  chips: chips.nullable(),
});
export const quotaRequest = capacityRequest.extend({
  generation: z.enum(GENERATIONS),
  project: z.string().min(1).optional(),
});

const span = z.union([
  ms,
  z.strictObject({ min: ms, max: ms }).refine(({ min, max }) => min <= max, 'min is above max'),
]);
const onNodes = { nameMatches: pattern.optional() };

/** Tables and lists given here replace the present ones as a whole. */
export const configureRequest = z.strictObject({
  creatingMs: span.optional(),
  queueMs: span.optional(),
  provisioningMs: span.optional(),
  deletingMs: span.optional(),
  suspendingMs: span.optional(),
  stoppingMs: span.optional(),
  startingMs: span.optional(),
  updatingMs: span.optional(),
  repairingMs: span.optional(),
  noticeMs: span.optional(),
  guestNoticeMs: span.optional(),
  preemptedLagMs: span.optional(),
  sshAtShutdown: z.enum(SSH_AT_SHUTDOWN).optional(),
  preemptibleLifeMs: span.optional(),
  capacity: z
    .record(
      z
        .string()
        .refine(isCapacityKey, 'must be <zone>/<generation> or <zone>/<generation>/<tier>, or <zone>/<machine type>'),
      chips,
    )
    .optional(),
  quota: z
    .record(z.string().regex(placePattern('[^/]+/'), 'must be <project or *>/<zone>/<generation>/<tier>'), chips)
    .optional(),
  addresses: z
    .record(z.string().regex(/^[a-z]+-[a-z]+\d+$/, 'must be a region, such as us-central1'), chips)
    .optional(),
  quotaRefusal: z.enum(['call', 'failed']).optional(),
  undeletableMs: span.optional(),
  unreachableZones: z.array(zone).optional(),
  queuedState: z.enum(['WAITING_FOR_RESOURCES', 'ACCEPTED']).optional(),
  othersOnPreemption: z.enum(['kept', 'preempted']).optional(),
  recycleAddresses: z.boolean().optional(),
  missingWorkers: z
    .array(
      z.strictObject({ ...onNodes, workers: z.array(z.number().int().min(0)), keepsPlace: z.boolean().optional() }),
    )
    .optional(),
  endpointOrders: z.array(z.strictObject({ ...onNodes, order: z.array(z.number().int().min(0)) })).optional(),
  bootFailures: z.array(z.strictObject({ ...onNodes, message: z.string().optional() })).optional(),
  guestAttributes: z
    .array(z.strictObject({ ...onNodes, afterMs: ms.optional(), forbidden: z.boolean().optional() }))
    .optional(),
});

export const HOST_ACTIONS = [
  'freeze',
  'thaw',
  'unreachable',
  'reachable',
  'slow-ssh',
  'refuse-ssh',
  'accept-ssh',
  'fill-disk',
  'free-disk',
  'kill-processes',
] as const;

export const hostsRequest = z.strictObject({
  name: z.string(),
  host: z.union([z.number().int().min(0), z.literal('all')]),
  action: z.enum(HOST_ACTIONS),
  /** For slow-ssh: delay of each answer, in real time; 0 ends it. */
  delayMs: z.number().int().min(0).max(3_600_000).optional(),
});

export const clockRequest = z.strictObject({
  scale: z.number().optional(),
  frozen: z.boolean().optional(),
  stepMs: z
    .number()
    .int()
    .min(0)
    .max(MAX_MS * 12)
    .optional(),
});

function placePattern(before: string): RegExp {
  const tier = before === '' ? `(/(${TIERS.join('|')}))?` : `(/(${TIERS.join('|')}))`;
  return new RegExp(`^${before}[a-z0-9-]+/[a-z0-9]+${tier}$`);
}

export function isRefusable(given: string): boolean {
  if (!given.endsWith('*')) return REFUSABLE.includes(given);
  return REFUSABLE.some((known) => known.startsWith(given.slice(0, -1)));
}

export function isPattern(text: string): boolean {
  try {
    return RegExp(text) instanceof RegExp;
  } catch {
    return false;
  }
}
