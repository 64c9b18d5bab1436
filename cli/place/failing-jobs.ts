import type { FailingWorkflows } from '../../contract/janitor.js';
import { failingWorkflowsObject } from '../../domain/store-layout.js';
import type { JobClient } from '../../client/job-client.js';
import type { JobRow } from '../../client/job-rows.js';
import { openReader } from './connect.js';
import type { CliContext } from './context.js';

/** Ids of workflows that were blocked at the janitor's last sweep. Empty if no bucket is known or readable. */
export async function knownToFail({ store }: CliContext): Promise<ReadonlySet<string>> {
  if (store === undefined) return new Set();
  try {
    const content = await (await openReader(store)).read(failingWorkflowsObject);
    return new Set(content && (JSON.parse(content.toString('utf8')) as FailingWorkflows).ids);
  } catch {
    return new Set();
  }
}

/** Reads the failing tasks of open `rows` that are known to fail, and of no others: a list must not make one call per row. */
export async function withFailingTasks(
  rows: readonly JobRow[],
  known: ReadonlySet<string>,
  client: Pick<JobClient, 'row'>,
): Promise<readonly JobRow[]> {
  const asked = rows.filter(({ id, endedAt }) => endedAt === undefined && known.has(id));
  // One that cannot be asked, such as a job that was deleted meanwhile, keeps no other from the list.
  const task = (id: string): Promise<JobRow['failingTask']> =>
    client.row(id).then(
      ({ failingTask }) => failingTask,
      () => undefined,
    );
  const failing = await Promise.all(asked.map(async ({ id }) => [id, await task(id)] as const));
  const byId = new Map(failing);
  return rows.map((row) => {
    const failingTask = byId.get(row.id);
    return failingTask === undefined ? row : { ...row, failingTask };
  });
}
