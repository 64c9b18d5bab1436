import { defaultFailureConverter, defaultPayloadConverter } from '@temporalio/common';
import proto, { type coresdk, type temporal } from '@temporalio/proto';

export type Payload = temporal.api.common.v1.IPayload;
type Failure = temporal.api.failure.v1.IFailure;

export const DATA = defaultPayloadConverter;

export const valueOf = (payload: Payload | null | undefined): unknown =>
  payload ? DATA.fromPayload(payload) : undefined;
export const errorOf = (failure: Failure | null | undefined): Error =>
  defaultFailureConverter.failureToError(failure as never, DATA);
const failureOf = (error: unknown): Failure => defaultFailureConverter.errorToFailure(error, DATA);

/** The end of an activity that was cancelled. */
export const cancelled = (error: unknown): coresdk.activity_result.ICancellation => ({
  failure: { ...failureOf(error), canceledFailureInfo: {} },
});

const { RetryState } = proto.temporal.api.enums.v1;

/** The end of an activity that failed for good, or too often. */
export function failed(name: string, error: unknown, isFinal: boolean): coresdk.activity_result.IFailure {
  const retryState = isFinal
    ? RetryState.RETRY_STATE_NON_RETRYABLE_FAILURE
    : RetryState.RETRY_STATE_MAXIMUM_ATTEMPTS_REACHED;
  const activityFailureInfo = { activityType: { name }, retryState };
  return { failure: { message: 'activity', cause: failureOf(error), activityFailureInfo } };
}

export const REUSED = proto.temporal.api.enums.v1.WorkflowIdReusePolicy.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE;
export const ABANDONED = proto.coresdk.child_workflow.ParentClosePolicy.PARENT_CLOSE_POLICY_ABANDON;

export const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
export const seqOf = ({ seq }: { readonly seq?: number | null }): number => seq ?? 0;
