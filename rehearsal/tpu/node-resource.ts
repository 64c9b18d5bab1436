import type { AcceleratorType } from './accelerators.js';
import { GENERATION_FACTS } from './accelerators.js';
import type { JsonObject } from '../json.js';
import { asObject, asString } from '../json.js';
import type { Random } from '../random.js';
import type { HostRecord, NodeResource } from './model.js';
import type { Settings } from './settings.js';
import { matches } from './state.js';

export interface NewNode {
  readonly name: string;
  /** Unknown fields of the request are kept. */
  readonly request: JsonObject;
  readonly accelerator: AcceleratorType;
  readonly hosts: readonly HostRecord[];
  /** Epoch ms. */
  readonly now: number;
  readonly random: Random;
  readonly settings: Settings;
}

/** The node as first seen: CREATING, with its endpoints, without those that a fault hides. */
export function makeNode({ name, request, accelerator, hosts, now, random, settings }: NewNode): NodeResource {
  const network = asObject(request['networkConfig']);
  return {
    ...request,
    name,
    state: 'CREATING',
    id: random63(random),
    acceleratorType: accelerator.type,
    acceleratorConfig: {
      type: GENERATION_FACTS[accelerator.generation].apiEnum,
      topology: asString(asObject(request['acceleratorConfig'])['topology']) || accelerator.topology,
    },
    createTime: new Date(now).toISOString(),
    networkConfig: { network: 'default', subnetwork: 'default', ...network },
    networkEndpoints: endpointsOf(name, hosts, network['enableExternalIps'] === true, settings),
    labels: request['labels'] ?? {},
    metadata: request['metadata'] ?? {},
    health: 'HEALTHY',
    // gcloud drops a node whose version is missing or starts with V1 (docs/facts.md, "Cloud TPU").
    apiVersion: 'V2',
  };
}

/** Endpoints in the order of workers, unless a fault changes it. gcloud relies on it; no page says that Google keeps it. */
function endpointsOf(
  name: string,
  hosts: readonly HostRecord[],
  areExternal: boolean,
  { missingWorkers, endpointOrders }: Settings,
): readonly JsonObject[] {
  const missing = missingWorkers.find((rule) => matches(rule.nameMatches, name));
  const order = endpointOrders.find((rule) => matches(rule.nameMatches, name))?.order ?? [];
  const workers = [...new Set([...order.filter((worker) => worker < hosts.length), ...hosts.keys()])];
  return workers.flatMap((worker): readonly JsonObject[] => {
    const address = hosts[worker]?.address ?? '';
    const entry = { ipAddress: address, port: 8470, ...(areExternal && { accessConfig: { externalIp: address } }) };
    if (missing?.workers.includes(worker) !== true) return [entry];
    return missing.keepsPlace === true ? [{ port: 8470 }] : [];
  });
}

// Sequential ids would clash with the known_hosts entries that gcloud builds from them.
function random63(random: Random): string {
  const bits = (BigInt(random.uint32()) << 31n) | BigInt(random.uint32() >>> 1);
  return String(bits === 0n ? 1n : bits);
}
