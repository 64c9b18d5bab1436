import { defaultPayloadConverter, type PayloadConverter } from '@temporalio/common';

/**
 * The SDK's converter, except that a message that it cannot decode (an encoding of another SDK, invalid JSON) becomes
 * `undefined`. No form of contract/ takes that, so the message is dropped like other garbage. The SDK would fail the workflow
 * task on every try, and any user who may signal could stop a pool for good (docs/design.md, "Nothing wedges"). An activity's
 * result is not a message: if it cannot be decoded, the task fails until a worker can read it. So it does for a payload for which
 * the codec has no key. Loaded by path.
 */
export const payloadConverter: PayloadConverter = {
  toPayload: (value) => defaultPayloadConverter.toPayload(value),
  fromPayload: <T>(payload: Parameters<PayloadConverter['fromPayload']>[0], context?: { readonly type: string }): T => {
    try {
      return defaultPayloadConverter.fromPayload<T>(payload);
    } catch (error) {
      if (context?.type !== 'workflow') throw error;
      return undefined as T;
    }
  },
};
