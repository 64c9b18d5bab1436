import type { temporal } from '@temporalio/proto';

type History = temporal.api.history.v1.IHistory;
type Event = temporal.api.history.v1.IHistoryEvent;
type Payloads = temporal.api.common.v1.IPayloads | null | undefined;
type TimeoutType = temporal.api.enums.v1.TimeoutType;

/** One activity of a history: what it was asked, and how each of its ends is written there. */
export interface ActivityFacts {
  readonly name: string;
  readonly input: unknown;
  /** Undefined if it did not complete, or if its payload is encrypted. */
  readonly result: unknown;
  readonly timeout: TimeoutType | undefined;
}

/** What a history's own events say, in the words in which the replay gate asks. Encrypted payloads are undefined. */
export class HistoryFacts {
  readonly #events: readonly Event[];

  constructor(history: History) {
    this.#events = history.events ?? [];
  }

  get workflowType(): string {
    return this.#events[0]?.workflowExecutionStartedEventAttributes?.workflowType?.name ?? '';
  }

  /** First argument of the workflow. */
  get input(): unknown {
    return firstOf(this.#events[0]?.workflowExecutionStartedEventAttributes?.input);
  }

  get isContinued(): boolean {
    return (this.#events[0]?.workflowExecutionStartedEventAttributes?.continuedExecutionRunId ?? '') !== '';
  }

  has(attributes: keyof Event): boolean {
    return this.#events.some((event) => event[attributes] !== null && event[attributes] !== undefined);
  }

  hasSignal(name: string): boolean {
    return this.signalCount(name) > 0;
  }

  signalCount(name: string): number {
    return this.#events.filter((event) => event.workflowExecutionSignaledEventAttributes?.signalName === name).length;
  }

  get updates(): readonly string[] {
    return this.#events.flatMap(
      (event) => event.workflowExecutionUpdateAcceptedEventAttributes?.acceptedRequest?.input?.name ?? [],
    );
  }

  /** First arguments of the children that it asked for. */
  get children(): readonly unknown[] {
    return this.#events.flatMap(({ startChildWorkflowExecutionInitiatedEventAttributes: child }) =>
      child ? [firstOf(child.input)] : [],
    );
  }

  /** Ids of changes whose marker it carries. */
  get changes(): readonly string[] {
    return this.#events.flatMap(({ markerRecordedEventAttributes: marker }) => {
      if (marker?.markerName !== 'core_patch') return [];
      const details = firstOf(marker.details?.['patch-data']) as { readonly id?: string } | undefined;
      return details?.id ?? [];
    });
  }

  activities(name: string): readonly ActivityFacts[] {
    return this.#events.flatMap(({ eventId, activityTaskScheduledEventAttributes: scheduled }) => {
      if (scheduled?.activityType?.name !== name) return [];
      const ends = this.#events.filter((event) => scheduledBy(event)?.equals(eventId ?? 0) ?? false);
      const completed = ends.map(({ activityTaskCompletedEventAttributes: end }) => end).find(Boolean);
      const timedOut = ends.map(({ activityTaskTimedOutEventAttributes: end }) => end).find(Boolean);
      return {
        name,
        input: firstOf(scheduled.input),
        result: firstOf(completed?.result),
        timeout: timedOut?.failure?.timeoutFailureInfo?.timeoutType ?? undefined,
      };
    });
  }
}

function scheduledBy(event: Event) {
  const end = event.activityTaskCompletedEventAttributes ?? event.activityTaskTimedOutEventAttributes;
  return end?.scheduledEventId;
}

function firstOf(payloads: Payloads): unknown {
  const payload = payloads?.payloads?.[0];
  if (!payload?.data || Buffer.from(payload.metadata?.['encoding'] ?? []).toString() !== 'json/plain') return undefined;
  try {
    return JSON.parse(Buffer.from(payload.data).toString('utf8')) as unknown;
  } catch {
    // Garbage that a test has sent: its run is replayed as every other, and is of no kind.
    return undefined;
  }
}
