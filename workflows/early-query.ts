import type { WorkflowInterceptors } from '@temporalio/workflow';
import { EARLY_QUERY } from '../contract/early-query.js';

/** The facts of an activation that differ between a workflow task and events that came without one. */
interface Seen {
  readonly length: number;
  readonly time: string;
  readonly size: string;
}

/**
 * Refuses activations of events for which no workflow task has begun. While no worker polls, queries wait at the server; the
 * history that comes with one of them may already end with a signal or a fired timer. The SDK (1.24) hands these to the workflow
 * with the time of its last task, and the real task then sends commands that were decided at the wrong time, so that no replay
 * repeats them (docs/adr/0174). The refusal fails that query alone, which its caller repeats, and the next task finds the
 * workflow as its history says. Such an activation has more history, and neither another time nor another size, which both come
 * with the event that begins a task. Loaded by path.
 */
export function interceptors(): WorkflowInterceptors {
  let last: Seen | undefined;
  return {
    internals: [
      {
        activate(input, next) {
          const { jobs, historyLength, historySizeBytes, timestamp } = input.activation;
          if (jobs?.every(({ queryWorkflow }) => queryWorkflow) !== false) return next(input);
          const seen: Seen = {
            length: historyLength ?? 0,
            time: `${timestamp?.seconds?.toString()}.${timestamp?.nanos}`,
            size: historySizeBytes?.toString() ?? '0',
          };
          // Test servers that skip time leave out the size.
          const isEarly =
            last !== undefined &&
            seen.size !== '0' &&
            seen.length > last.length &&
            seen.time === last.time &&
            seen.size === last.size;
          if (isEarly) throw new Error(EARLY_QUERY);
          last = seen;
          return next(input);
        },
      },
    ],
  };
}
