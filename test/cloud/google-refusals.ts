import type { ApiError } from '../../cloud/machines/cloud-tpu/classify-error.js';
import type { RefusalScope } from '../../domain/slice.js';

/**
 * What Cloud TPU answered to people who asked for slices, as they reported it (docs/facts.md, "Cloud TPU"). `Z` is the zone that was
 * asked. `from`: the call itself, the operation of an accepted call, or a queued resource that became FAILED.
 */
export interface RecordedRefusal extends ApiError {
  readonly from: readonly ('call' | 'operation' | 'request')[];
  readonly scope: RefusalScope;
  readonly code: number;
}

const EID = '[EID: 0x1bc8f9d790be9142]';

export const GOOGLE_REFUSALS: Readonly<Record<string, RecordedRefusal>> = {
  'no capacity': {
    code: 8,
    message: `There is no more capacity in the zone "Z"; you can try in another zone where Cloud TPU Nodes are offered (see https://cloud.google.com/tpu/docs/regions) ${EID}`,
    from: ['call', 'operation', 'request'],
    scope: 'zone',
  },
  'quota is used up': {
    code: 8,
    message: "Quota 'TPUV4sPreemptiblePodPerProjectPerRegionForTPUAPI' exhausted. Limit 20800 in region us-central2",
    from: ['call', 'request'],
    scope: 'zone',
  },
  'there is no quota': {
    code: 8,
    message: "Quota 'TPUV5sPreemptibleLitepodPerProjectPerZoneForTPUAPI' exhausted. Limit 0 in region us-east5",
    from: ['call', 'request'],
    scope: 'zone',
  },
  'another text of quota': {
    code: 8,
    message:
      "Quota limit 'TPUV6EPreemptiblePerProjectPerRegionForTPUAPI' has been exceeded. Limit: 0 in region us-east5.",
    from: ['call', 'request'],
    scope: 'zone',
  },
  'the reservation is full': {
    code: 8,
    message: `Insufficient reserved capacity. Contact customer support to increase your reservation. ${EID}`,
    from: ['call', 'operation'],
    scope: 'zone',
  },
  'the reservation is full, code 9': {
    code: 9,
    message: `Insufficient reserved capacity. Contact customer support to increase your reservation. ${EID}`,
    from: ['call', 'operation'],
    scope: 'zone',
  },
  'an internal error': {
    code: 13,
    message: 'an internal error has occurred',
    from: ['operation', 'request'],
    scope: 'moment',
  },
  'the type is not offered': {
    code: 3,
    message: `Cloud TPU received a bad request. The requested accelerator configuration for accelerator type, "v6e-1", could not be found in the zonal accelerator configurations for "Z".; the accelerator v6e-1 was not found in zone Z ${EID}`,
    from: ['call'],
    scope: 'zone-lasting',
  },
  'the zone is not supported': {
    code: 3,
    message: `Cloud TPU received a bad request. The requested zone "Z" is not supported. ${EID}`,
    from: ['call'],
    scope: 'zone-lasting',
  },
  'a create that met a preemption': {
    code: 3,
    message: `Cloud TPU received a bad request. update is not supported while in state PREEMPTED ${EID}`,
    from: ['call', 'operation'],
    scope: 'moment',
  },
  'a create that met a preemption, code 9': {
    code: 9,
    message: 'update is not supported while in state PREEMPTED',
    from: ['call', 'operation'],
    scope: 'moment',
  },
  'flex-start is not offered': {
    code: 3,
    message: 'FLEX_START provisioning model is not supported for accelerator type "v6e-1" in location "Z"',
    from: ['operation'],
    scope: 'zone-lasting',
  },
  'fields that do not go together': {
    code: 3,
    message: 'STANDARD provisioning model is incompatible with spot requests',
    from: ['call'],
    scope: 'unknown',
  },
  'a state that forbids a call': {
    code: 9,
    message:
      'DeleteQueuedResource is not supported when state is ACTIVE (must be one of [ACCEPTED WAITING_FOR_RESOURCES SUSPENDED FAILED])',
    from: ['call', 'operation'],
    scope: 'moment',
  },
  'a resource that is not there': {
    code: 5,
    message: "Resource 'projects/p/global/networks/n' was not found",
    from: ['call'],
    scope: 'unknown',
  },
  'a zone that is unknown or forbidden': {
    code: 7,
    message: "Permission denied on 'locations/Z' (or it may not exist).",
    reason: 'LOCATION_POLICY_VIOLATED',
    from: ['call'],
    scope: 'zone-lasting',
  },
  'a zone that is unknown or forbidden, in other words': {
    code: 7,
    message: 'Location us-east9-z is not found or access is unauthorized.',
    from: ['call'],
    scope: 'zone-lasting',
  },
  'a right that is missing for one type in one zone': {
    code: 7,
    message:
      'User does not have permission to submit requests for accelerator type "v5litepod-8" in location "Z" (or it may not exist).',
    from: ['call', 'operation', 'request'],
    scope: 'permission',
  },
  'an operation that cannot be queued': {
    code: 10,
    message: 'unable to queue the operation',
    from: ['operation'],
    scope: 'moment',
  },
  'too few external addresses': {
    code: 8,
    message: "Quota 'IN_USE_ADDRESSES' exceeded. IN_USE_ADDRESSES limit: 8.0",
    from: ['call', 'request'],
    scope: 'zone',
  },
};
