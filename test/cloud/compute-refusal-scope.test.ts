import assert from 'node:assert/strict';
import { type ComputeFailure, refusalScope } from '../../cloud/machines/compute-engine/compute-api.js';
import type { RefusalScope } from '../../domain/slice.js';

const ZONE = "projects/p/zones/us-central1-b'";

/** Google's texts, as people reported them (docs/compute-engine.md has each source). */
const CASES: readonly (readonly [ComputeFailure, RefusalScope])[] = [
  [
    {
      errorCode: 'ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS',
      message: `The zone '${ZONE} does not have enough resources available to fulfill the request.  '(resource type:compute)'.`,
    },
    'zone',
  ],
  [
    {
      errorCode: 'ZONE_RESOURCE_POOL_EXHAUSTED',
      message: `The zone '${ZONE} does not have enough resources available to fulfill the request. Try a different zone, or try again later.`,
    },
    'zone',
  ],
  [
    { errorCode: 'QUOTA_EXCEEDED', message: "Quota 'NVIDIA_L4_GPUS' exceeded.  Limit: 1.0 in region us-central1." },
    'zone',
  ],
  [{ httpStatus: 403, message: "Quota 'IN_USE_ADDRESSES' exceeded. Limit: 4.0 in region us-central1." }, 'zone'],
  [
    { errorCode: 'QUOTA_EXCEEDED', message: "Quota 'GPUS_ALL_REGIONS' exceeded.  Limit: 0.0 globally." },
    'installation',
  ],
  [{ errorCode: 'QUOTA_EXCEEDED', message: "Quota 'GPUS_ALL_REGIONS' exceeded.  Limit: 8.0 globally." }, 'moment'],
  [{ errorCode: 'QUOTA_EXCEEDED', message: "Quota 'CPUS_ALL_REGIONS' exceeded." }, 'moment'],
  [
    {
      httpStatus: 400,
      message:
        "Invalid value for field 'resource.machineType': 'zones/europe-west8-a/machineTypes/f1-micro'. Machine type with name 'f1-micro' does not exist in zone 'europe-west8-a'.",
    },
    'zone-lasting',
  ],
  [
    {
      httpStatus: 404,
      message: "The resource 'projects/p/zones/us-west1-b/acceleratorTypes/nvidia-tesla-p4' was not found",
    },
    'zone-lasting',
  ],
  [{ httpStatus: 400, message: "Invalid value for field 'zone': 'us-east9-z'. Unknown zone." }, 'zone-lasting'],
  [
    { httpStatus: 404, message: "The resource 'projects/debian-cloud/global/images/family/debian-8' was not found" },
    'request',
  ],
  [{ httpStatus: 400, message: 'Instances with guest accelerators do not support live migration.' }, 'request'],
  [{ httpStatus: 400, message: "Invalid value for field 'resource.name': 'X'. Must be a match of regex" }, 'request'],
  [
    { httpStatus: 403, message: "Required 'compute.instances.create' permission for 'projects/p/zones/z/instances/n'" },
    'installation',
  ],
  [{ httpStatus: 403, message: 'Rate Limit Exceeded' }, 'moment'],
  [{ httpStatus: 403, message: 'not here, said the project' }, 'permission'],
  [
    { errorCode: 'RESOURCE_OPERATION_RATE_EXCEEDED', message: 'Too frequent operations from the source resource' },
    'moment',
  ],
  [{ errorCode: 'UNSUPPORTED_OPERATION', message: 'Instance was preempted while it was created' }, 'moment'],
  [{ errorCode: 'RESOURCE_NOT_READY', message: 'The resource is not ready' }, 'moment'],
  [{ httpStatus: 503, message: 'Service Unavailable' }, 'moment'],
  [{ httpStatus: 400, message: 'a text that nobody has seen yet' }, 'unknown'],
  [{ errorCode: 'A_NEW_CODE', message: 'a text that nobody has seen yet' }, 'unknown'],
];

describe('how far a refusal of Compute Engine reaches', () => {
  for (const [failure, scope] of CASES)
    it(`${failure.errorCode ?? failure.httpStatus}: ${failure.message.slice(0, 70)}: ${scope}`, () =>
      assert.equal(refusalScope(failure), scope));
});
