import { Context, log } from '@temporalio/activity';
import type { SignalDefinition } from '@temporalio/common';
import { messageOf } from '../../domain/error-words.js';
import type { AttemptInput } from '../../contract/job-activities.js';

/**
 * Signals the job of this activity. Best effort: the news is only for people who look.
 * @param ofWhat for the log if it fails: "the job was not told .."
 */
export function jobTeller<News>(
  { job }: Pick<AttemptInput, 'job'>,
  signal: SignalDefinition<[News]>,
  ofWhat: string,
): (news: News) => void {
  // This activity's context: the caller may be a connection that another activity opened.
  const context = Context.current();
  return (news) => {
    const handle = context.client.workflow.getHandle(job.id, undefined, { firstExecutionRunId: job.run });
    handle.signal(signal, news).catch((error: unknown) => {
      log.warn(`the job was not told ${ofWhat}: ${messageOf(error)}`);
    });
  };
}
