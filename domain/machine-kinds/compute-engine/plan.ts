import { contentHash, shortHash } from '../../content-hash.js';
import type { TierPurchase } from '../../slice.js';
import { instanceMetadata } from '../cloud-tpu/plan.js';
import type { SlicePlace } from '../kind.js';
import type { ComputeEnginePlan, ComputeEngineRef, ComputeEngineRequest, ComputeEngineSection } from './words.js';

/** The VMs of one generation of one slice. */
export function vmsPlan({ compute_engine }: ComputeEngineSection, place: SlicePlace): ComputeEnginePlan {
  const bought = boughtAs(compute_engine, place.bought);
  // The name's prefix, the zones and the project are in the ref.
  const { name: _name, zones: _zones, project, count, pricing, startupScript, metadata, ...shape } = bought;
  return {
    ...shape,
    ref: {
      kind: 'compute-engine',
      googleProject: project ?? place.googleProject,
      zone: place.zone,
      name: place.name,
      vms: count,
    },
    ownership: {
      owner: place.owner,
      job: place.job,
      run: place.run,
      generation: place.generation,
      spec: contentHash(bought).slice(0, 16),
    },
    pricing: pricing === 'any' ? 'spot' : pricing,
    metadata: instanceMetadata({ metadata, ...(startupScript !== undefined && { startupScript }) }, place),
  };
}

/** The job's VMs as its tier buys them. The hash of a slice's ownership includes this. */
function boughtAs(
  request: ComputeEngineRequest,
  { pricing, reservation: ofTier }: TierPurchase = {},
): ComputeEngineRequest {
  if (pricing === undefined) return request;
  const { reservation: own, ...rest } = request;
  const reservation = pricing === 'reserved' ? (own ?? ofTier) : undefined;
  return { ...rest, pricing, ...(reservation !== undefined && { reservation }) };
}

/** Compute Engine's limit for the name of a VM. */
const MOST_CHARACTERS = 63;

/**
 * The names of a slice's VMs, by host: the slice's own, with `-<index>` if there are several. A name longer than 63 characters
 * is cut and marked with a hash of the whole.
 */
export function vmNames({ name, vms }: Pick<ComputeEngineRef, 'name' | 'vms'>): readonly string[] {
  if (vms === 1) return [name];
  const longest = `-${vms - 1}`.length;
  if (name.length + longest <= MOST_CHARACTERS) return Array.from({ length: vms }, (_, index) => `${name}-${index}`);
  const mark = shortHash(name);
  const front = name.slice(0, MOST_CHARACTERS - longest - mark.length - 1).replace(/(?<!-)-+$/, '');
  return Array.from({ length: vms }, (_, index) => `${front}-${mark}-${index}`);
}
