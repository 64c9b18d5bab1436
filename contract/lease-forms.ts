import { z } from 'zod';
import {
  type AskedFor,
  TOLD_SCOPES,
  type Demand,
  type LeaseId,
  type LeaseMessage,
  type LeaseMessageBody,
  MOST_ANSWER,
  type StuckDeletion,
} from '../domain/lease.js';
import { MACHINE_KINDS, machineKind, type MachineRef } from '../domain/machines.js';
import { type Pricing, PRICINGS } from '../domain/slice.js';

// Forms of messages about leases between jobs, slices and quota workflows. See contract/form.ts. All workflows of a worker share
// this module (docs/adr/0012), and Temporal freezes the exports of a shared module. zod writes to its schemas when it checks with
// them, so each is exported as a function that returns it.

const EPOCH = z.int().min(0);
/** The latest time that `new Date` takes: later code that writes a later time would throw. */
const LATEST_MS = 8_640_000_000_000_000;
const epochMs = z.int().min(0).max(LATEST_MS);
/** Half a surrogate pair is not text: `encodeURIComponent` throws on it. */
const TEXT = z.string().refine((value) => !/\p{Surrogate}/u.test(value), 'holds half a surrogate pair');
/** A part of a lease key, which is joined and split by `/`. */
const keyPart = TEXT.refine((value) => value !== '' && !value.includes('/'), "must be a name without '/'");

const PRICING: z.ZodType<Pricing> = z.enum(PRICINGS);

/** A machine ref of any kind. */
const MACHINE_REF: z.ZodType<MachineRef> = z.union(MACHINE_KINDS.map((kind) => machineKind(kind).refForm()));

const LEASE_ID: z.ZodType<LeaseId> = z.object({
  pool: TEXT,
  job: keyPart,
  run: keyPart,
  number: z.int().min(1),
});

/** Checked strictly: units that a pool cannot trust would overcommit it. */
const quotaUnits = z.record(TEXT, z.int().min(0));

/** Limit of a type's name, in characters: longer than any. */
const MOST_TYPE = 40;
const askedFor: z.ZodType<AskedFor> = z.object({ accelerator: TEXT.min(1).max(MOST_TYPE), pricing: PRICING });

const demand: z.ZodType<Demand> = z.object({
  project: TEXT,
  user: TEXT,
  isVerified: z.literal(true).exactOptional(),
  priority: z.int().min(1).max(5),
  submittedAt: epochMs,
  units: quotaUnits,
  pricing: PRICING.exactOptional(),
  zones: z.array(TEXT).exactOptional(),
  anyZone: askedFor.exactOptional(),
});

const DELETION = {
  since: epochMs,
  answer: TEXT.max(MOST_ANSWER),
  isFinal: z.literal(true).exactOptional(),
};
/** Form of a heartbeat, which anyone who reaches Temporal can send. */
export const deletionForm = (): z.ZodType<StuckDeletion> => z.object(DELETION);

const leaseMessageBody: z.ZodType<LeaseMessageBody> = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('request'),
    demand,
    heldSince: epochMs.exactOptional(),
    slices: z.array(MACHINE_REF),
    askedAt: epochMs.exactOptional(),
    tier: z.int().min(0).exactOptional(),
    zone: TEXT.exactOptional(),
    isParked: z.boolean().exactOptional(),
  }),
  z.object({ kind: z.literal('release'), slices: z.array(MACHINE_REF) }),
  z.object({
    kind: z.literal('slice'),
    ref: MACHINE_REF,
    isBeside: z.literal(true).exactOptional(),
    asks: askedFor.exactOptional(),
    isPlaceKept: z.literal(true).exactOptional(),
  }),
  z.object({
    kind: z.literal('gone'),
    refused: z.object({ scope: z.enum(TOLD_SCOPES), message: TEXT.max(MOST_ANSWER) }).exactOptional(),
    isRefused: z.literal(true).exactOptional(),
  }),
  z.object({
    kind: z.literal('stuck'),
    slice: TEXT.min(1),
    ...DELETION,
  }),
  z.object({ kind: z.literal('chips'), zone: TEXT.exactOptional(), isPreempted: z.literal(true).exactOptional() }),
  z.object({ kind: z.literal('parked'), isParked: z.boolean() }),
]);

const LEASE_MESSAGE: z.ZodType<LeaseMessage> = z.object({
  lease: LEASE_ID,
  sender: TEXT.min(1),
  sequence: z.int().min(0),
  body: leaseMessageBody,
});

export const epoch = () => EPOCH;
export const text = () => TEXT;
export const pricing = () => PRICING;
export const machineRef = () => MACHINE_REF;
export const leaseId = () => LEASE_ID;
export const leaseMessage = () => LEASE_MESSAGE;
