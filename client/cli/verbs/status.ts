import type { JobView } from '../../../contract/job.js';
import type { JobClient } from '../../job-client.js';
import type { TaskQueuePolls } from '../../task-queue-polls.js';
import { withClient } from '../connect.js';
import { resolveContext } from '../context.js';
import type { ContextFlags } from '../context.js';
import { ExitCode } from '../exit-codes.js';
import { shownHostKeys } from '../hosts/shown-host-keys.js';
import type { OutputFlag } from '../options.js';
import { placesOf } from '../quota/places.js';
import { renderJobStatus } from '../render/job-status.js';
import { noWorkerText } from '../render/no-worker.js';
import { withSetUp } from '../set-up-reason.js';
import { unattended } from './why.js';
import { terminalWidth } from '../render/columns.js';

export type StatusFlags = ContextFlags & OutputFlag & { readonly timeline?: true };

/** A worker that is there answers in a fraction of it. */
const VIEW_TIMEOUT_MS = 5_000;

export function status(id: string, flags: StatusFlags): Promise<number> {
  const context = resolveContext(flags);
  return withClient(context, async (client) => {
    const found = await client.row(id);
    const idle = await unattended(client, found);
    const asking =
      found.failingTask === undefined ? viewUnless(client, id, idle) : { missing: 'its workflow stands still' };
    const [view, places, row] = await Promise.all([asking, placesOf([found], context), withSetUp(found, context)]);
    const standing = places.byJob.get(id);
    const place = { bucket: context.store?.bucket, uiUrl: context.uiUrl, namespace: context.temporal.namespace };
    if (flags.output === 'json') {
      const known =
        'view' in view
          ? { view: view.view, hostKeys: await shownHostKeys(view.view, context) }
          : { missing: view.missing };
      process.stdout.write(
        `${JSON.stringify({ ...row, ...standing, ...(idle && { noWorker: idle }), ...known }, null, 2)}\n`,
      );
    } else {
      const width = terminalWidth(process.stdout);
      process.stdout.write(`${renderJobStatus({ ...row, ...standing }, view, place, Date.now(), width).join('\n')}\n`);
    }
    return ExitCode.Done;
  });
}

/** What only the job's workflow knows, or why it cannot be had. */
export type ViewOrReason = { readonly view: JobView } | { readonly missing: string };

/** A job that no worker answers for is not asked: that would take the whole timeout. */
function viewUnless(
  client: JobClient,
  id: string,
  idle: TaskQueuePolls | undefined,
): Promise<ViewOrReason> | ViewOrReason {
  return idle === undefined ? viewOf(client, id) : { missing: noWorkerText(idle, Date.now()) };
}

async function viewOf(client: JobClient, id: string): Promise<ViewOrReason> {
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
