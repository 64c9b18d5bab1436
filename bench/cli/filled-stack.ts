import { JobClient } from '../../client/index.js';
import { readDevContext } from '../../cli/place/stack/context.js';
import { stackHome } from '../../cli/terminal/home.js';
import { eachOf } from '../../domain/semaphore.js';

/** A task queue without a worker: jobs submitted to it wait. */
const QUEUE = 'bench-cli';
const AT_ONCE = 50;

/** Submits jobs that no worker takes, so that `list` has this many to show and count. */
export async function fill(env: NodeJS.ProcessEnv, jobs: number): Promise<void> {
  const temporal = readDevContext(stackHome(env))?.temporal;
  if (temporal === undefined) throw new Error('no local stack');
  const { address, namespace } = temporal;
  const client = await JobClient.connect({ temporal: { address, namespace }, taskQueue: QUEUE });
  const job = { tpu: { accelerator: 'v5litepod-8', zone: 'us-central1-a' }, command: { run: 'true' } };
  const names = Array.from({ length: jobs }, (_, index) => `bench-${index}`);
  await eachOf(names, AT_ONCE, async (name) => void (await client.submit({ job, name })));
  await client.close();
}
