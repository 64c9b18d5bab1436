import type { AcceleratorType } from './accelerators.js';
import type { JsonObject } from '../json.js';
import { asObject, asString } from '../json.js';
import { ApiError, apiErrors } from './api-error.js';
import type { ApiVersion } from './api-version.js';

/** Zones that sell Flex-start (cloud.google.com/tpu/docs/request-using-flex-start, 2025-08-19). */
const FLEX_START: Readonly<Record<string, readonly string[]>> = {
  v6e: ['asia-northeast1-b', 'us-east5-a'],
  v5litepod: ['us-west4-a', 'us-central1-a'],
};

/** From the same page: "up to 7 days". */
const MOST_RUN_SECONDS = 7 * 86_400;

/** Fields of v2alpha1 that v2 lacks, as gcloud 528 knows both versions. The client's own protos have them in neither version. */
const OF_ALPHA = ['provisioningModel', 'runDuration'] as const;

/** @param holder a queued resource or a node, with fields that gcloud 528 sends beyond the published protos. */
const isFlexStart = (holder: JsonObject): boolean =>
  (asString(holder['provisioningModel']) || asString(asObject(holder['schedulingConfig'])['provisioningModel'])) ===
  'FLEX_START';

/** Whether Flex-start is asked for in a zone that does not sell it: the create operation then fails. */
export function isFlexStartRefused(holder: JsonObject, { generation }: AcceleratorType, zone: string): boolean {
  return isFlexStart(holder) && FLEX_START[generation]?.includes(zone) !== true;
}

/**
 * Refuses a request that this version of the API, or every version, does not accept. The texts about fields are those of Google's
 * front end. The one about STANDARD was seen (`gcloud alpha .. --spot` of SDK 528 sends it). The others are ours.
 * @throws ApiError
 */
export function checkProvisioning(queuedResource: JsonObject, version: ApiVersion): void {
  const unknown = version === 'v2' ? OF_ALPHA.filter((field) => queuedResource[field] !== undefined) : [];
  if (unknown.length > 0)
    throw apiErrors.malformed(
      unknown.map((name) => ({
        field: 'queued_resource',
        description: `Invalid JSON payload received. Unknown name "${name}" at 'queued_resource': Cannot find field.`,
      })),
    );
  const model = queuedResource['provisioningModel'];
  if (model === 'STANDARD' && queuedResource['spot'] !== undefined) throw apiErrors.standardSpotRefused();
  if (model !== 'FLEX_START') return;
  const tier = ['spot', 'bestEffort', 'guaranteed', 'reservationName'].find(
    (name) => queuedResource[name] !== undefined,
  );
  if (tier !== undefined)
    throw new ApiError('INVALID_ARGUMENT', `FLEX_START provisioning model is incompatible with ${tier}`);
  if (!(runSecondsOf(queuedResource) <= MOST_RUN_SECONDS))
    throw new ApiError('INVALID_ARGUMENT', `max_run_duration must be at most ${MOST_RUN_SECONDS}s`);
}

/** Lifetime of a Flex-start request's nodes, ms; undefined for others. If the request gives none, the longest (our reading). */
export function runMsOf(queuedResource: JsonObject): number | undefined {
  return isFlexStart(queuedResource) ? runSecondsOf(queuedResource) * 1000 : undefined;
}

function runSecondsOf(queuedResource: JsonObject): number {
  const text = asString(asObject(queuedResource['runDuration'])['maxRunDuration']);
  return text === '' ? MOST_RUN_SECONDS : Number.parseFloat(text);
}
