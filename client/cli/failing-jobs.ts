import type { FailingWorkflows } from '../../contract/janitor.js';
import { failingWorkflowsObject } from '../../domain/store-layout.js';
import type { JobClient } from '../job-client.js';
import type { JobRow } from '../job-rows.js';
import { openReader } from './connect.js';
import type { CliContext } from './context.js';

/** Workflows that stood still at the janitor's last sweep. Empty where no bucket is known or can be read. */
export async function knownToFail({ store }: CliContext): Promise<ReadonlySet<string>> {
  if (store === undefined) return new Set();
  try {
    const content = await (await openReader(store)).read(failingWorkflowsObject);
    return new Set(content && (JSON.parse(content.toString('utf8')) as FailingWorkflows).ids);
  } catch {
    return new Set();
  }
}

/** Asks about the open jobs among `rows` that are known to fail, and about no other: a list does not ask once per row. */
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
