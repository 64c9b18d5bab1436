import { type WorkflowInterceptors, workflowInfo } from '@temporalio/workflow';
import { payloadConverter } from './payload-converter.js';

/**
 * Number of signals in one activation above which they are a flood. A job gets so many only in an attack. A pool of many jobs
 * may get them regularly, and there this path is merely cheaper.
 */
const FLOOD = 50;

type Take = (signal: string, value: unknown) => void;
/** State of one run of a workflow: modules of a bundle are loaded anew for each run, which begins with `interceptors`. */
let take: Take | undefined;
let waiting: { readonly signal: string; readonly value: unknown }[] = [];

/** @param taker gets every signal of a flood in the order of its arrival, and at once the signals that came before this call */
export function takeFloods(taker: Take): void {
  take = taker;
  const before = waiting;
  waiting = [];
  for (const { signal, value } of before) taker(signal, value);
}

/**
 * The SDK makes promises for each signal and records a stack trace of each promise, nine tenths of a signal's cost. A few
 * thousand signals take more than the five seconds that it gives an activation, on every try. So the signals of a flood bypass it
 * and go straight to the inbox, whose handlers are synchronous, like the SDK's calls of them (docs/adr/0053). Loaded by path.
 */
export function interceptors(): WorkflowInterceptors {
  take = undefined;
  waiting = [];
  return {
    internals: [
      {
        activate(input, next) {
          const jobs = input.activation.jobs ?? [];
          const signals = jobs.flatMap(({ signalWorkflow }) => (signalWorkflow ? [signalWorkflow] : []));
          if (signals.length <= FLOOD) return next(input);
          // The SDK's default for unknown names is not needed: the inbox knows all names of a workflow.
          for (const { signalName, input: payloads } of signals) give(signalName ?? '', payloads?.[0]);
          return next({
            ...input,
            activation: { ...input.activation, jobs: jobs.filter((job) => !job.signalWorkflow) },
          });
        },
      },
    ],
  };
}

function give(signal: string, payload: Parameters<typeof payloadConverter.fromPayload>[0] | undefined): void {
  const { namespace, workflowId } = workflowInfo();
  const value = payload && payloadConverter.fromPayload(payload, { type: 'workflow', namespace, workflowId });
  if (take === undefined) waiting.push({ signal, value });
  else take(signal, value);
}
