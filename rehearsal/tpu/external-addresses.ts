import { findAccelerator } from './accelerators.js';
import type { JsonObject } from '../json.js';
import { asObject, asString } from '../json.js';
import { regionOf } from '../project/facts.js';
import type { ApiError } from './api-error.js';
import { apiErrors } from './api-error.js';
import { zoneOf } from './resource-name.js';
import type { CloudState } from './state.js';

/**
 * The error of a slice with external addresses if its region has fewer left than the slice has hosts, else undefined. At Google
 * the request waits in the queue first and is FAILED then (`IN_USE_ADDRESSES limit: 8.0`). A node holds its addresses until it is
 * gone or preempted.
 * @param specs the requested nodes, each with its type
 */
export function lackOfAddresses(state: CloudState, zone: string, specs: readonly JsonObject[]): ApiError | undefined {
  const region = regionOf(zone);
  const limit = state.settings.addresses[region];
  if (limit === undefined) return undefined;
  const live = Object.values(state.nodes).filter((node) => !node.isReclaimed);
  const there = live.filter(({ resource }) => regionOf(zoneOf(resource.name)) === region);
  const inUse = there.reduce((sum, node) => sum + externalHosts(node.resource), 0);
  const wanted = specs.reduce((sum, node) => sum + externalHosts(node), 0);
  return wanted > 0 && inUse + wanted > limit ? apiErrors.noAddresses(limit) : undefined;
}

function externalHosts(node: JsonObject): number {
  if (asObject(node['networkConfig'])['enableExternalIps'] !== true) return 0;
  return findAccelerator(asString(node['acceleratorType']))?.hosts ?? 0;
}
