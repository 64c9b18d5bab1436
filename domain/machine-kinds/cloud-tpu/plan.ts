import { contentHash } from '../../content-hash.js';
import type { Pricing, TierPurchase } from '../../slice.js';
import type { SlicePlace } from '../kind.js';
import {
  type CloudTpuPlan,
  type CloudTpuRef,
  type CloudTpuRequest,
  type CloudTpuSection,
  MOST_RUN_SECONDS,
} from './words.js';

/** The create request for one generation of one slice, or of all slices of an atomic job. */
export function slicePlan(
  spec: CloudTpuSection & { readonly slices: number; readonly atomic?: true },
  place: SlicePlace,
): CloudTpuPlan {
  const tpu = boughtAs(spec.tpu, place.bought);
  const { validUntilSeconds } = tpu;
  const adopts = place.mayAdopt && tpu.adopt?.zone === place.zone ? tpu.adopt.node : undefined;
  const optional = {
    ...(tpu.topology === undefined ? {} : { topology: tpu.topology }),
    ...(tpu.reservation === undefined ? {} : { reservation: tpu.reservation }),
    ...(tpu.reservationBound && tpu.pricing === 'reserved' ? { reservationBound: true as const } : {}),
    ...(tpu.pricing === 'flex-start' ? { runSeconds: tpu.runSeconds ?? MOST_RUN_SECONDS } : {}),
    ...(validUntilSeconds === undefined || tpu.allocationMode === 'tpu-vm' ? {} : { validUntilSeconds }),
    ...(tpu.network === undefined ? {} : { network: tpu.network }),
    ...(tpu.subnetwork === undefined ? {} : { subnetwork: tpu.subnetwork }),
    ...(tpu.serviceAccount === undefined ? {} : { serviceAccount: tpu.serviceAccount }),
    ...(tpu.scopes === undefined ? {} : { scopes: tpu.scopes }),
    ...(tpu.dataDisks === undefined ? {} : { dataDisks: tpu.dataDisks }),
  };
  return {
    ref: {
      kind: 'cloud-tpu',
      googleProject: tpu.project ?? place.googleProject,
      zone: place.zone,
      name: place.name,
      mode: adopts === undefined ? tpu.allocationMode : 'tpu-vm',
      ...(spec.atomic ? { slices: spec.slices } : {}),
      ...(adopts === undefined ? {} : { adopts }),
    },
    ownership: {
      owner: place.owner,
      job: place.job,
      run: place.run,
      generation: place.generation,
      spec: specHash(tpu),
    },
    accelerator: tpu.accelerator,
    runtimeVersion: tpu.runtimeVersion,
    pricing: concretePricing(tpu.pricing),
    externalIps: tpu.externalIps,
    tags: tpu.tags,
    labels: tpu.labels,
    metadata: instanceMetadata(tpu, place),
    ...optional,
  };
}

/** Google names the nodes of one request by a prefix and a number (v2, MultisliceParams). Our prefix is the request's name. */
export function nodeRefs({ slices, ...ref }: CloudTpuRef): readonly CloudTpuRef[] {
  if (slices === undefined) return [ref];
  return Array.from({ length: slices }, (_, index) => ({ ...ref, name: `${ref.name}-${index}`, request: ref.name }));
}

/**
 * The job's chips as its tier buys them. The pool makes sure that a job with a pricing of its choice is in a tier of the same
 * pricing, or in one without a pricing. The hash of a slice's ownership includes this, so a slice of another tier is not adopted.
 */
function boughtAs(tpu: CloudTpuRequest, { pricing, reservation }: TierPurchase = {}): CloudTpuRequest {
  if (pricing === undefined) return tpu;
  const { reservation: ownReservation, ...rest } = tpu;
  const name = pricing === 'reserved' ? (ownReservation ?? reservation) : undefined;
  // Only a queued resource can name a reservation, or be flex-start (see resolveCapacity).
  if (pricing === 'flex-start') return { ...rest, pricing, allocationMode: 'queued-resources' };
  if (name === undefined) return { ...rest, pricing };
  return { ...rest, pricing, reservation: name, allocationMode: 'queued-resources' };
}

/** `any` is decided by the tier. If the tier has no pricing: spot, the cheapest that needs no reservation. */
function concretePricing(pricing: CloudTpuRequest['pricing']): Pricing {
  return pricing === 'any' ? 'spot' : pricing;
}

/** The line of `ssh-keys` that `instanceMetadata` has added: `USER:KEY`. */
export const ownKeyLine = ({ metadata }: Pick<CloudTpuPlan, 'metadata'>): string =>
  metadata['ssh-keys']?.split('\n').at(-1) ?? '';

/** Adds our key to the user's own `ssh-keys`. No later call adds it (docs/design.md, "Slices"). */
export function instanceMetadata(
  tpu: Pick<CloudTpuRequest, 'metadata' | 'startupScript'>,
  { loginUser, publicKey }: Pick<SlicePlace, 'loginUser' | 'publicKey'>,
): Record<string, string> {
  const ours = `${loginUser}:${publicKey.trim()}`;
  const theirs = tpu.metadata['ssh-keys'];
  return {
    ...tpu.metadata,
    'ssh-keys': theirs === undefined ? ours : `${theirs.trimEnd()}\n${ours}`,
    ...(tpu.startupScript === undefined ? {} : { 'startup-script': tpu.startupScript }),
  };
}

/** Value of the `jobctl-spec` label: a resource of another spec is not adopted. */
export const specHash = (tpu: CloudTpuRequest): string => contentHash(tpu).slice(0, 16);
