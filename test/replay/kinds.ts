import proto from '@temporalio/proto';
import { WorkflowType } from '../../contract/workflow-ids.js';
import type { HistoryFacts } from './history-facts.js';

const { TIMEOUT_TYPE_HEARTBEAT } = proto.temporal.api.enums.v1.TimeoutType;

/** How much of an input or a result the kinds below look at. */
interface Seen {
  readonly kind?: string;
  readonly carry?: object;
  readonly job?: { readonly job?: { readonly loop?: boolean }; readonly timeouts?: object; readonly slices?: number };
  readonly task?: { readonly kind?: string; readonly plan?: { readonly ref?: { readonly zone?: string } } };
  readonly revocations?: readonly unknown[];
}
const seen = (value: unknown): Seen => (typeof value === 'object' && value !== null ? value : {});

type Kind = (history: HistoryFacts) => boolean;

/**
 * What the histories of one CI run must show between them, by workflow type. Each kind is read from a history's events, never
 * from the name of the test that made it. A workflow's new way of living belongs here, or no replay ever sees it.
 */
export const KINDS: Readonly<Record<string, Readonly<Record<string, Kind>>>> = {
  [WorkflowType.Job]: {
    completed: (history) => history.has('workflowExecutionCompletedEventAttributes'),
    failed: (history) => history.has('workflowExecutionFailedEventAttributes'),
    cancelled: (history) => history.has('workflowExecutionCanceledEventAttributes'),
    'continues as new': (history) => history.has('workflowExecutionContinuedAsNewEventAttributes'),
    'was continued': (history) => history.isContinued && seen(history.input).carry !== undefined,
    'revoked by its pool': (history) => history.hasSignal('revoked'),
    'in the next zone': ({ children }) => new Set(children.map((child) => seen(child).task?.plan?.ref?.zone)).size > 1,
    'a second attempt': (history) => history.activities('superviseAttempt').length > 1,
    'several slices': ({ input, children }) => (seen(input).job?.slices ?? 1) > 1 && children.length > 1,
    'lost its worker': (history) =>
      history.activities('superviseAttempt').some(({ timeout }) => timeout === TIMEOUT_TYPE_HEARTBEAT),
    loops: (history) =>
      seen(history.input).job?.job?.loop === true && history.activities('superviseAttempt').length > 1,
    'a time-out of its own': (history) =>
      seen(history.input).job?.timeouts !== undefined && history.has('timerFiredEventAttributes'),
    'waits for its image': (history) => history.activities('joinBuild').length > 0,
    'asked by a person': ({ updates }) => updates.length > 0,
  },
  [WorkflowType.Slice]: {
    'brought up, then gone': (history) =>
      history.activities('awaitSlice').length > 0 && history.has('workflowExecutionCompletedEventAttributes'),
    'create call without an answer': (history) =>
      history.activities('createSlice').some(({ result }) => seen(result).kind === 'unanswered'),
    'create call refused': (history) =>
      history.activities('createSlice').some(({ result }) => seen(result).kind === 'refused'),
    'its job closed, or continued as new': (history) =>
      history.has('workflowExecutionCancelRequestedEventAttributes') && history.activities('isJobOpen').length > 0,
    reclaim: ({ input }) => seen(input).task?.kind === 'reclaim',
    'continues as new': (history) => history.has('workflowExecutionContinuedAsNewEventAttributes'),
    'was continued': (history) => history.isContinued && seen(history.input).carry !== undefined,
  },
  [WorkflowType.Quota]: {
    'rebuilt without a memory': (history) => history.activities('readOpenWork').length > 0,
    'continues as new': (history) => history.has('workflowExecutionContinuedAsNewEventAttributes'),
    'was continued': (history) => history.isContinued && seen(history.input).carry !== undefined,
    revokes: (history) => history.activities('deliver').some(({ input }) => (seen(input).revocations?.length ?? 0) > 0),
    updates: ({ updates }) => updates.length > 0,
    'compares its leases': (history) => history.activities('findStrays').length > 0,
  },
  [WorkflowType.Build]: {
    built: (history) => history.has('workflowExecutionCompletedEventAttributes'),
    failed: (history) => history.has('workflowExecutionFailedEventAttributes'),
    'for two jobs': (history) => history.signalCount('buildWanted') > 1,
    'nobody waits any more': (history) =>
      history.hasSignal('buildLeft') && history.has('activityTaskCancelRequestedEventAttributes'),
    'a second try': (history) => history.activities('awaitBuild').length > 1,
    'create call without an answer': (history) => history.activities('findBuild').length > 0,
    'create call refused': (history) =>
      history.activities('createBuild').some(({ result }) => seen(result).kind === 'refused'),
    'continues as new': (history) => history.has('workflowExecutionContinuedAsNewEventAttributes'),
    'was continued': (history) => history.isContinued && seen(history.input).carry !== undefined,
  },
  [WorkflowType.Group]: {
    'starts its members, and hears of their ends': (history) =>
      history.activities('startMembers').length > 0 && history.hasSignal('memberNews'),
    'cancelled by a person': (history) => history.activities('cancelMembers').length > 0,
  },
  [WorkflowType.Firing]: {
    'starts its job, and hears of its end': (history) =>
      history.activities('startFiring').length > 0 &&
      history.hasSignal('otherEnded') &&
      history.has('workflowExecutionCompletedEventAttributes'),
    'cancelled with its job': (history) => history.activities('cancelMembers').length > 0,
  },
  [WorkflowType.Janitor]: {
    'a sweep': (history) => history.has('workflowExecutionCompletedEventAttributes'),
  },
};

/** Names of the kinds that a history shows: 'job: lost its worker'. */
export function kindsOf(history: HistoryFacts): readonly string[] {
  const type = history.workflowType;
  return Object.entries(KINDS[type] ?? {}).flatMap(([kind, isShown]) => (isShown(history) ? [`${type}: ${kind}`] : []));
}

export const allKinds: readonly string[] = Object.entries(KINDS).flatMap(([type, kinds]) =>
  Object.keys(kinds).map((kind) => `${type}: ${kind}`),
);
