import type { Client } from '@temporalio/client';
import type { temporal } from '@temporalio/proto';
import type { TemporalCalls } from '../temporal-calls.js';

/** One run of a workflow. A chain of runs is one job. */
export interface Run {
  readonly workflowId: string;
  readonly runId: string;
  readonly firstRunId: string;
  /** Size of its history in bytes, as Temporal counts them. */
  readonly bytes: number;
}

export interface Runs {
  /** Newest first. */
  readonly found: readonly Run[];
  /** Workflow type. */
  readonly type?: string;
  readonly missing: readonly string[];
}

type Execution = Pick<Run, 'workflowId' | 'runId'>;
type ProtoEvent = temporal.api.history.v1.IHistoryEvent;

/** Most events of a page. Only one page is in memory at a time. */
const PAGE = 500;

/** Reads the runs of a workflow and their events from Temporal. */
export class HistoryReader {
  readonly #temporal: Client;
  readonly #calls: TemporalCalls;

  constructor(temporal: Client, calls: TemporalCalls) {
    this.#temporal = temporal;
    this.#calls = calls;
  }

  /** The chain of runs that ends with the present run. Temporal may have deleted the older runs, or all. */
  async runsOf(workflowId: string): Promise<Runs> {
    const { WorkflowNotFoundError } = await import('@temporalio/common');
    const found: Run[] = [];
    let type: string | undefined;
    let runId: string | undefined;
    do {
      try {
        const described = await this.#describe(workflowId, runId);
        const start = await this.#startOf({ workflowId, runId: described.runId });
        type = described.type;
        const bytes = Number(described.raw.workflowExecutionInfo?.historySizeBytes ?? 0);
        found.push({ workflowId, runId: described.runId, firstRunId: start?.firstExecutionRunId ?? '', bytes });
        runId = start?.continuedExecutionRunId || undefined;
      } catch (error) {
        if (!(error instanceof WorkflowNotFoundError)) throw error;
        const missing = runId === undefined ? [] : [`history of run ${runId} and before: Temporal's retention is over`];
        return { found, ...(type === undefined ? {} : { type }), missing };
      }
    } while (runId !== undefined);
    return { found, type, missing: [] };
  }

  /** Yields events in Temporal's own JSON. @param page number of events that are fetched together */
  async *events(execution: Execution, page = PAGE): AsyncGenerator<unknown> {
    const { historyToJSON } = await import('@temporalio/common/lib/proto-utils.js');
    for await (const events of this.#pages(execution, page)) {
      const json = JSON.parse(historyToJSON({ events })) as { readonly events?: readonly unknown[] };
      yield* json.events ?? [];
    }
  }

  #describe(workflowId: string, runId: string | undefined) {
    return this.#calls.bounded(() => this.#temporal.workflow.getHandle(workflowId, runId).describe());
  }

  async #startOf(execution: Execution) {
    for await (const [first] of this.#pages(execution, 1))
      return first?.workflowExecutionStartedEventAttributes ?? undefined;
    return undefined;
  }

  async *#pages(execution: Execution, maximumPageSize: number): AsyncGenerator<ProtoEvent[]> {
    const { namespace } = this.#temporal.options;
    let nextPageToken: Uint8Array | undefined;
    do {
      const request = { namespace, execution, maximumPageSize, ...(nextPageToken && { nextPageToken }) };
      const page = await this.#calls.bounded(
        () => this.#temporal.workflowService.getWorkflowExecutionHistory(request),
        PAGE_MS,
      );
      yield page.history?.events ?? [];
      nextPageToken = page.nextPageToken?.length ? page.nextPageToken : undefined;
    } while (nextPageToken !== undefined);
  }
}

/** Timeout of a page: 500 events may have some megabytes. */
const PAGE_MS = 60_000;
