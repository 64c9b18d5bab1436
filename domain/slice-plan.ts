import type { JobSpec } from './job-spec.js';
import { sliceSpecHash } from './identity.js';
import type { Pricing, SlicePlan } from './slice.js';

export interface SlicePlace {
  readonly owner: string;
  /** The worker's Google project, used where neither the job nor its pool names one. */
  readonly googleProject: string;
  readonly zone: string;
  readonly name: string;
  readonly job: string;
  readonly run: string;
  readonly generation: number;
  readonly loginUser: string;
  /** OpenSSH line of the key that connects. */
  readonly publicKey: string;
  /** What the tier of the job's lease is bought as; absent: the job's own word counts. */
  readonly bought?: TierPurchase;
}

/** As a grant says it. A tier without a pricing leaves it to the job. */
export interface TierPurchase {
  readonly pricing?: Pricing;
  /** With pricing `reserved` only. */
  readonly reservation?: string;
}

/** The create request of one generation of one slice. */
export function slicePlan(spec: JobSpec, place: SlicePlace): SlicePlan {
  const tpu = boughtAs(spec.tpu, place.bought);
  const optional = {
    ...(tpu.topology === undefined ? {} : { topology: tpu.topology }),
    ...(tpu.reservation === undefined ? {} : { reservation: tpu.reservation }),
    ...(tpu.network === undefined ? {} : { network: tpu.network }),
    ...(tpu.subnetwork === undefined ? {} : { subnetwork: tpu.subnetwork }),
    ...(tpu.serviceAccount === undefined ? {} : { serviceAccount: tpu.serviceAccount }),
    ...(tpu.scopes === undefined ? {} : { scopes: tpu.scopes }),
    ...(tpu.dataDisks === undefined ? {} : { dataDisks: tpu.dataDisks }),
  };
  return {
    ref: {
      googleProject: tpu.project ?? place.googleProject,
      zone: place.zone,
      name: place.name,
      mode: tpu.allocationMode,
    },
    ownership: {
      owner: place.owner,
      job: place.job,
      run: place.run,
      generation: place.generation,
      spec: sliceSpecHash({ tpu }),
    },
    accelerator: tpu.accelerator,
    runtimeVersion: tpu.runtimeVersion,
    pricing: concretePricing(tpu.pricing),
    externalIps: tpu.externalIps,
    tags: tpu.tags,
    labels: tpu.labels,
    metadata: metadata(tpu, place),
    ...optional,
  };
}

/**
 * The job's chips as its tier buys them. The pool has seen to it that a job which names a pricing is in a tier that has the same,
 * or none. Part of what a slice's ownership is hashed from: a slice of another tier is not adopted.
 */
function boughtAs(tpu: JobSpec['tpu'], { pricing, reservation }: TierPurchase = {}): JobSpec['tpu'] {
  if (pricing === undefined) return tpu;
  const { reservation: ownReservation, ...rest } = tpu;
  const name = pricing === 'reserved' ? (ownReservation ?? reservation) : undefined;
  if (name === undefined) return { ...rest, pricing };
  // Only a queued resource can name one (see resolveCapacity).
  return { ...rest, pricing, reservation: name, allocationMode: 'queued-resources' };
}

/** `any` is for a tier to decide; without tiers' pricing the cheapest that needs no reservation. */
function concretePricing(pricing: JobSpec['tpu']['pricing']): Pricing {
  return pricing === 'any' ? 'spot' : pricing;
}

/** Our key joins the user's own `ssh-keys`; it is never patched in later (DESIGN.md 4). */
function metadata(tpu: JobSpec['tpu'], { loginUser, publicKey }: SlicePlace): Record<string, string> {
  const ours = `${loginUser}:${publicKey.trim()}`;
  const theirs = tpu.metadata['ssh-keys'];
  return {
    ...tpu.metadata,
    'ssh-keys': theirs === undefined ? ours : `${theirs.trimEnd()}\n${ours}`,
    ...(tpu.startupScript === undefined ? {} : { 'startup-script': tpu.startupScript }),
  };
}
