import { log } from '@temporalio/activity';
import type { HostConnection, ModuleOutcome, ModulePlan } from '../../cloud/hosts/port.js';
import { fileObject, logPrefix } from '../../domain/store-layout.js';
import type { AttemptInput, SetUpEnd } from '../contract.js';
import type { ActivityDependencies } from '../dependencies.js';
import { connectingKey } from '../connecting-key.js';
import { invalidJob } from '../failures.js';
import { modulePlans } from '../modules/index.js';
import { type AttemptHost, HostCaller, hostsOf } from './attempt-hosts.js';
import { ActivityEnd } from './activity-end.js';
import { LogStream } from './log-stream.js';
import { pause } from './pause.js';
import { SliceGuard } from './slice-guard.js';

/**
 * Makes every module ready on every host, all hosts at once. One activity per attempt: a host's retries are no events.
 * @param asked ends it before its time, as a shutdown of the worker does
 */
export async function setUpHosts(
  dependencies: ActivityDependencies,
  input: AttemptInput,
  asked: AbortSignal,
): Promise<SetUpEnd> {
  const plans = modulePlans(input.spec, await filesOf(dependencies, input));
  const key = await connectingKey(dependencies.installation, input.spec.ssh);
  const end = new ActivityEnd(asked);
  const guard = new SliceGuard(dependencies.tpu, input.slices, input.settings.timings.notFoundApartMs, end.signal);
  const caller = new HostCaller(dependencies.hosts, key, end.signal, ({ slice }) => guard.suspect(slice));
  const work = Promise.all(
    hostsOf(input).map((host) => setUpHost(dependencies, input, caller, host, plans, end.signal)),
  );
  try {
    return await Promise.race([
      work.then((ends): SetUpEnd => ends.find(({ kind }) => kind !== 'ready') ?? { kind: 'ready' }),
      guard.lost.then((slices): SetUpEnd => ({ kind: 'slices-lost', slices })),
      end.handedOver.then((): SetUpEnd => ({ kind: 'handed-over' })),
    ]);
  } finally {
    end.finish();
    await work.catch(() => undefined);
  }
}

async function setUpHost(
  dependencies: ActivityDependencies,
  input: AttemptInput,
  caller: HostCaller,
  host: AttemptHost,
  plans: readonly ModulePlan[],
  signal: AbortSignal,
): Promise<SetUpEnd> {
  const { slice, index } = host.target;
  // Also without any module: an attempt starts only on hosts that answer.
  await caller.on(host.target, async () => undefined);
  for (const plan of plans) {
    const stream = await LogStream.open(
      dependencies,
      logPrefix(input.job.id, input.attempt, plan.name),
      host.number,
      signal,
    );
    const outcome = await withRetries(
      () => caller.on(host.target, (connection) => apply(connection, plan, stream, signal)),
      signal,
    );
    await stream.flush();
    log.info(`${plan.name} on host ${host.number}: ${outcome.kind}`);
    if (outcome.kind !== 'failed') continue;
    const message = `step '${outcome.step}' ended with code ${outcome.code}; its last lines:\n${outcome.tail}`;
    return { kind: 'module-failed', at: { slice, host: index }, module: plan.name, message };
  }
  return { kind: 'ready' };
}

function apply(
  connection: HostConnection,
  plan: ModulePlan,
  stream: LogStream,
  signal: AbortSignal,
): Promise<ModuleOutcome> {
  return connection.applyModule(plan, (chunk) => void stream.append(chunk), signal);
}

/** A failing step is tried again on its host alone; the steps before it are not repeated. */
async function withRetries(attempt: () => Promise<ModuleOutcome>, signal: AbortSignal): Promise<ModuleOutcome> {
  for (let tries = 1; ; tries++) {
    const outcome = await attempt();
    if (outcome.kind !== 'failed' || tries === STEP_TRIES) return outcome;
    log.warn(`step '${outcome.step}' ended with code ${outcome.code}; trying again`);
    await pause(2_000 * tries, signal);
  }
}

const STEP_TRIES = 3;

async function filesOf({ store }: ActivityDependencies, { files }: AttemptInput): Promise<Map<string, Buffer>> {
  const contents = new Map<string, Buffer>();
  for (const [path, sha256] of Object.entries(files)) {
    const content = await store.read(fileObject(sha256));
    if (!content)
      throw invalidJob(
        `${path}: its content (${fileObject(sha256)}) is not in bucket ${store.bucket}; submit the job again`,
      );
    contents.set(path, content);
  }
  return contents;
}
