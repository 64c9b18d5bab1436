import { z } from 'zod';
import type { Followed, OtherEnded } from './after.js';
import type { Bounds } from '../domain/bounds.js';
import { MOST_SLICES, REFUSAL_SCOPES, type SliceHost } from '../domain/slice.js';
import { MOST_TIERS } from '../quota/quota-config.js';
import { type Form, form } from './form.js';
import type {
  AttemptTrouble,
  CancelNote,
  LeaseGrant,
  LeaseRevocation,
  PriorityNews,
  SetUpProgress,
  SliceNewsFrom,
  UnreachableHosts,
} from './job.js';
import { JOB_REQUESTS, JOB_VERBS, type JobCall, type JobRequest, type JobVerb, type KeyParts } from './job-requests.js';
import { epoch, machineRef, pricing, text } from './lease-forms.js';
import type { Eviction, LentSlice, LodgeAnswer, LodgeCall, LodgerNews } from './lodging.js';
import { humanCall } from './quota-forms.js';
import type { SliceNews } from './slice.js';

// Forms of a job workflow's messages (contract/job.ts). Its input has a separate check, with messages for users.

/** Limit of zones, more than a provider has. */
const MOST_ZONES = 1_000;
const leaseNews = { run: text(), number: z.int().min(1), epoch: epoch() };

export const grantedForm: Form<LeaseGrant> = form(
  z.object({
    ...leaseNews,
    tier: z.int().min(0),
    pricing: pricing().exactOptional(),
    reservation: text().exactOptional(),
    zones: z.array(text()).max(MOST_ZONES).exactOptional(),
    otherTiers: z.array(z.int().min(0)).max(MOST_TIERS).exactOptional(),
  }),
);
export const revokedForm: Form<LeaseRevocation> = form(
  z.object({ ...leaseNews, reason: text(), cause: z.enum(['quota', 'asking', 'parked', 'tier', 'beside']) }),
);
export const setUpProgressForm: Form<SetUpProgress> = form(
  z.object({
    v: z.literal(1),
    attempt: z.int().min(1),
    modules: z.array(text()),
    hosts: z.int().min(0),
    ready: z.record(text(), z.int().min(0)),
  }),
);
export const attemptTroubleForm: Form<AttemptTrouble> = form(
  z.object({
    v: z.literal(1),
    attempt: z.int().min(1),
    of: z.enum(['accelerator', 'silence', 'use']).exactOptional(),
    what: text().exactOptional(),
    hasEnded: z.literal(true).exactOptional(),
    isStoringOutputs: z.literal(true).exactOptional(),
  }),
);
export const unreachableHostsForm: Form<UnreachableHosts> = form(
  z.object({
    v: z.literal(1),
    attempt: z.int().min(1),
    hosts: z.array(z.object({ slice: z.int().min(0), host: z.int().min(0), since: z.number() })),
  }),
);
export const priorityNewsForm: Form<PriorityNews> = form(z.object({ run: text(), priority: z.int().min(1).max(5) }));
export const restateForm: Form<{ readonly epoch: number }> = form(z.object({ epoch: epoch() }));

const sliceHost: z.ZodType<SliceHost> = z.discriminatedUnion('reach', [
  z.object({
    reach: z.literal('ssh'),
    index: z.int().min(0),
    internalIp: text(),
    externalIp: text().exactOptional(),
    own: z
      .object({
        pool: text(),
        name: text(),
        port: z.int().min(1).max(65_535),
        user: text(),
        claim: text(),
        slot: z.object({ number: z.int().min(0), of: z.int().min(1), gpus: z.array(z.int().min(0)) }).exactOptional(),
        uuids: z.array(text()).exactOptional(),
        key: text().exactOptional(),
      })
      .exactOptional(),
    claim: text().exactOptional(),
  }),
  z.object({
    reach: z.literal('pod'),
    index: z.int().min(0),
    internalIp: text(),
    namespace: text(),
    pod: text(),
    uid: text(),
  }),
]);
const sliceMachines = { uid: text(), hosts: z.array(sliceHost) };
/** A worker of a later version may know more scopes. */
const refusalScope = z.enum(REFUSAL_SCOPES).catch('unknown');
const sliceLost = z.discriminatedUnion('cause', [
  z.object({ kind: z.literal('lost'), cause: z.enum(['preempted', 'failed', 'lease']), message: text() }),
  z.object({ kind: z.literal('lost'), cause: z.literal('refused'), scope: refusalScope, message: text() }),
]);
const sliceNews: z.ZodType<SliceNews> = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('allowed') }),
  z.object({ kind: z.literal('progress'), detail: text() }),
  z.object({
    kind: z.literal('ready'),
    ...sliceMachines,
    others: z.array(z.object(sliceMachines)).max(MOST_SLICES).exactOptional(),
    endsAt: z.number().exactOptional(),
  }),
  sliceLost,
  z.object({ kind: z.literal('gone') }),
]);
export const sliceNewsForm: Form<SliceNewsFrom> = form(z.object({ name: text(), run: text(), news: sliceNews }));

// Messages between workflows that wait for one another (contract/after.ts).
const otherId = (): z.ZodString => z.string().min(1).max(100);
export const followedForm: Form<Followed> = form(z.object({ v: z.literal(1), follower: otherId() }));
export const otherEndedForm: Form<OtherEnded> = form(z.object({ v: z.literal(1), id: otherId() }));

// Messages between members that share slices (contract/lodging.ts).
const jobRef = z.object({ id: otherId(), run: text().min(1) });
const landlord = z.object({ job: jobRef, publicKey: text() });
const lentSlice: z.ZodType<LentSlice> = z.object({
  index: z.int().min(0),
  generation: z.int().min(0),
  ref: machineRef(),
  ownership: z.object({ owner: text(), job: text(), run: text(), generation: z.int().min(0), spec: text() }),
  ...sliceMachines,
  others: z.array(z.object(sliceMachines)).max(MOST_SLICES).exactOptional(),
});
const lentLease = z.object({
  tier: z.int().min(0).exactOptional(),
  bought: z.object({ pricing: pricing().exactOptional(), reservation: text().exactOptional() }),
});
export const lodgeForm: Form<LodgeCall> = form(
  z.object({
    v: z.literal(1),
    lodger: jobRef,
    group: otherId(),
    fits: text().max(100),
    graceSeconds: z.number().min(0),
  }),
);
export const lodgeAnswerForm: Form<LodgeAnswer> = form(
  z.object({
    v: z.literal(1),
    run: text(),
    landlord,
    lent: z.object({ slices: z.array(lentSlice).min(1).max(MOST_SLICES), lease: lentLease }).exactOptional(),
  }),
);
export const evictionForm: Form<Eviction> = form(
  z.object({
    v: z.literal(1),
    run: text(),
    landlord: jobRef,
    reason: text(),
    cause: z.enum(['quota', 'asking', 'parked', 'tier']),
  }),
);
export const lodgerNewsForm: Form<LodgerNews> = form(
  z.discriminatedUnion('kind', [
    z.object({ v: z.literal(1), lodger: jobRef, kind: z.literal('left'), isClean: z.boolean() }),
    z.object({ v: z.literal(1), lodger: jobRef, kind: z.literal('parked'), isParked: z.boolean() }),
  ]),
);
export const noLodgerForm: Form<{ readonly v: 1; readonly group: string }> = form(
  z.object({ v: z.literal(1), group: otherId() }),
);

export const cancelNoteForm: Form<CancelNote> = form(z.object({ ...humanCall(), verb: text().exactOptional() }));

const PARTS: KeyParts = { z, text };

/** Forms of the updates of JOB_UPDATES. */
export const JOB_CALL_FORMS = Object.fromEntries(
  JOB_VERBS.map((verb) => {
    const { keys, bounds }: JobRequest<JobVerb> & { readonly bounds?: Bounds } = JOB_REQUESTS[verb];
    return [verb, form(z.object({ ...humanCall(), ...keys(PARTS) }), bounds)];
  }),
) as unknown as { readonly [Verb in JobVerb]: Form<JobCall<Verb>> };
