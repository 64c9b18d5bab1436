import { innermost } from '../../../client/temporal-calls.js';

/** A part that an audit could not read, the answer, and the remedy. */
export interface UnreadPart {
  readonly part: string;
  readonly answer: string;
  /** Absent where the answer says it. */
  readonly remedy?: string;
}

export function unreadPart(part: string, error: Error, remedy: string): UnreadPart {
  const cause = innermost(error).message;
  const message = error.message.replace(/^audit: /, '');
  const answer = error.message.includes(cause) ? message : `${message}: ${cause}`;
  // Refusals of Google's that a person can end name the command themselves (cloud/google-refusal.ts).
  return answer.includes('gcloud ') ? { part, answer } : { part, answer, remedy };
}
