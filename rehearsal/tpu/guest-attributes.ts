import type { JsonObject, JsonValue } from '../json.js';
import { asString } from '../json.js';
import { ApiError } from './api-error.js';
import type { TpuCloud } from './cloud.js';
import type { Site } from './site.js';
import { matches } from './state.js';

interface Attribute extends JsonObject {
  readonly namespace: string;
  readonly key: string;
  readonly value: string;
}

/**
 * The attributes that guest agents posted: host keys, and the host's name. There is one entry per requested worker (no ids, or
 * "": all), even if nothing was posted yet: gcloud takes the first entry without a check that there is one.
 */
export function guestAttributes(cloud: TpuCloud, request: JsonObject, site: Site): JsonObject {
  const name = asString(request['name']);
  const node = cloud.getNode(name);
  const hosts = cloud.state.nodes[name]?.hosts ?? [];
  const fault = cloud.state.settings.guestAttributes.find((rule) => matches(rule.nameMatches, name));
  // With the text of Compute Engine's instances.getGuestAttributes; Cloud TPU's own was not found.
  if (fault?.forbidden === true)
    throw new ApiError('PERMISSION_DENIED', 'Guest attributes endpoint access is disabled.');
  const isPosted = cloud.now() >= Date.parse(asString(node['createTime'])) + (fault?.afterMs ?? 0);
  const keys = isPosted ? site.hostKeys(name) : [];
  const path = asString(request['queryPath']);
  const workers = wantedWorkers(request, hosts.length, name);
  const guest = workers.map((worker) => {
    const items = attributesOf(keys[worker], hosts[worker]?.hostname ?? '').filter((item) => isUnder(path, item));
    return { queryPath: path, queryValue: { items } };
  });
  return { guestAttributes: guest };
}

/** Empty while the VM boots: its agent posts all at once. Namespaces and keys as gcloud 528 reads them. */
function attributesOf(hostKey: string | undefined, hostname: string): readonly Attribute[] {
  if (hostKey === undefined) return [];
  const value = hostKey.slice(hostKey.lastIndexOf(' ') + 1);
  return [
    { namespace: 'hostkeys', key: 'ssh-ed25519', value },
    { namespace: 'guestInventory', key: 'hostname', value: hostname },
  ];
}

/** @param path empty, `namespace/` or `namespace/key` */
function isUnder(path: string, { namespace, key }: Attribute): boolean {
  return path === '' || path === `${namespace}/` || path === `${namespace}/${key}`;
}

function wantedWorkers(request: JsonObject, hosts: number, name: string): readonly number[] {
  const asked = Array.isArray(request['workerIds']) ? request['workerIds'].map((id: JsonValue) => String(id)) : [];
  if (asked.length === 0 || asked.includes('')) return Array.from({ length: hosts }, (_, index) => index);
  const unknown = asked.find((id) => !/^\d+$/.test(id) || Number(id) >= hosts);
  if (unknown !== undefined) throw new ApiError('INVALID_ARGUMENT', `worker ${unknown} is not one of ${name}`);
  return asked.map(Number);
}
