import type { JobView } from '../../contract/job.js';
import type { JobClient } from '../../client/job-client.js';

/** Facts that only the job's workflow knows, or the reason why they are missing. */
export type ViewOrReason = { readonly view: JobView } | { readonly missing: string };

/** A running worker answers in a fraction of this time. */
const VIEW_TIMEOUT_MS = 5_000;

/** Never rejects. */
export async function viewOf(client: Pick<JobClient, 'describe'>, id: string): Promise<ViewOrReason> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new Error(`no worker answered within ${VIEW_TIMEOUT_MS / 1000} s`)),
      VIEW_TIMEOUT_MS,
    );
  });
  try {
    return { view: await Promise.race([client.describe(id), timeout]) };
  } catch (error) {
    return { missing: (error as Error).message };
  } finally {
    clearTimeout(timer);
  }
}
