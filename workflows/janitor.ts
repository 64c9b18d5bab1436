import type { JanitorInput, JanitorReport } from '../contract/janitor.js';
import { janitorial } from './activity-options.js';

/** One sweep, started by a Temporal Schedule, for resources that no workflow looks after (docs/design.md, "Nothing leaks"). */
export async function janitor(_input: JanitorInput): Promise<JanitorReport> {
  return janitorial('look for slices that nobody owns').sweep();
}
