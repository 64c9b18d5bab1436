import { setCurrentDetails, type WorkflowInterceptors, workflowInfo } from '@temporalio/workflow';

/** The SDK's own query, by which Temporal's Web UI and `temporal workflow metadata` ask for Current Details. */
const METADATA_QUERY = '__temporal_workflow_metadata';

/** Texts by run. A worker loads this module anew for each run; test/virtual-clock loads it once for all. */
const texts = new Map<string, () => string>();

/** @param text makes Current Details, in Markdown, each time that somebody looks. It must change nothing. */
export function describeBy(text: () => string): void {
  texts.set(workflowInfo().runId, text);
}

/**
 * Makes Current Details when somebody asks for them, and not at each change: nobody looks at most states of a workflow, and the texts
 * took a sixth of the time of its tasks (docs/adr/0183). The SDK shows its own queries to no interceptor of queries. Loaded by path.
 */
export function interceptors(): WorkflowInterceptors {
  return {
    internals: [
      {
        activate(input, next) {
          const isAsked = input.activation.jobs?.some(
            ({ queryWorkflow }) => queryWorkflow?.queryType === METADATA_QUERY,
          );
          const text = isAsked === true ? texts.get(workflowInfo().runId) : undefined;
          if (text !== undefined) setCurrentDetails(text());
          return next(input);
        },
      },
    ],
  };
}
