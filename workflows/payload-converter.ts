import { defaultPayloadConverter, type PayloadConverter } from '@temporalio/common';

/**
 * The SDK's own, but a message that it cannot decode (an encoding of another SDK, JSON that is none) becomes `undefined`, which
 * no form of contract/ takes: it is dropped like other garbage. The SDK would fail the workflow task on every try, and anybody
 * who may signal could so stop a pool for good (docs/design.md, "Nothing wedges"). What an activity returned is no message: that
 * still fails the task, until a worker can read it. So does what the payload codec has no key for. Loaded by path.
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
