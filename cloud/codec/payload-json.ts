import type { Payload } from '@temporalio/common';
import proto from '@temporalio/proto';

const { Payloads } = proto.temporal.api.common.v1;

/**
 * Payloads of the body of a codec server's request: `{"payloads": [{"metadata": {"k": BASE64}, "data": BASE64}]}`.
 * @throws Error where it is none
 */
export function payloadsFromJson(text: string): Payload[] {
  const tree = JSON.parse(text) as { payloads?: unknown } | null;
  if (!Array.isArray(tree?.payloads)) throw new TypeError('payloads is no list');
  return Payloads.fromObject({ payloads: tree.payloads }).payloads;
}

/** The same form, for the answer. */
export function payloadsToJson(payloads: Payload[]): string {
  return JSON.stringify(Payloads.toObject(Payloads.create({ payloads }), { bytes: String, arrays: true }));
}
