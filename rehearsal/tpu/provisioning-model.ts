import type { AcceleratorType } from './accelerators.js';
import type { JsonObject } from '../json.js';
import { asObject, asString } from '../json.js';

/** Zones that sell Flex-start (cloud.google.com/tpu/docs/request-using-flex-start, 2025-08-19). */
const FLEX_START: Readonly<Record<string, readonly string[]>> = {
  v6e: ['asia-northeast1-b', 'us-east5-a'],
  v5litepod: ['us-west4-a', 'us-central1-a'],
};

/**
 * Flex-start is asked for where it is not sold: the create operation fails with that.
 * @param holder a queued resource or a node, with fields that gcloud 528 sends beyond the published protos.
 */
export function isFlexStartRefused(holder: JsonObject, { generation }: AcceleratorType, zone: string): boolean {
  const model =
    asString(holder['provisioningModel']) || asString(asObject(holder['schedulingConfig'])['provisioningModel']);
  return model === 'FLEX_START' && FLEX_START[generation]?.includes(zone) !== true;
}
