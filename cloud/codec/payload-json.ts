import type { Payload } from '@temporalio/common';
import proto from '@temporalio/proto';

const { Payload: PayloadMessage, Payloads } = proto.temporal.api.common.v1;

/**
 * Payloads of the body of a codec server's request: `{"payloads": [{"metadata": {"k": BASE64}, "data": BASE64}]}`.
 * @throws Error where it is none
 */
export function payloadsFromJson(text: string): Payload[] {
  const tree = JSON.parse(text) as { payloads?: unknown } | null;
  if (!Array.isArray(tree?.payloads)) throw new TypeError('payloads is no list');
  return Payloads.fromObject({ payloads: tree.payloads }).payloads;
}

/** The same form, for the answer. Fields that are not set are left out: older readers refuse fields that they do not know. */
export function payloadsToJson(payloads: Payload[]): string {
  const trees = payloads.map((payload) => PayloadMessage.toObject(PayloadMessage.create(payload), { bytes: String }));
  return JSON.stringify({ payloads: trees });
}
