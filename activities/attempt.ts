import { Context, cancellationSignal, log } from '@temporalio/activity';
import type {
  AttemptInput,
  HoldInput,
  HookInput,
  JobActivities,
  SetUpAgainInput,
  SetUpEnd,
  StopInput,
} from '../contract/job-activities.js';
import type { LostSlice } from '../domain/recovery/facts.js';
import { messageOf } from '../domain/errors.js';
import type { HostsPort, SshKey } from '../cloud/hosts/port.js';
import { HEALTHY_MS } from '../domain/recovery/budgets.js';
import type { ActivityDependencies } from './dependencies.js';
import { unlessEnded } from './attempt/ends.js';
import { Routes } from './attempt/routes.js';
import { runHook } from './attempt/run-hook.js';
import { setUpHosts } from './attempt/set-up.js';
import { superviseAttempt } from './attempt/supervise.js';
import { translated } from './failures.js';
import { ActivityEnd, beating, pause } from './attempt/activity-end.js';
import { SliceGuard } from './attempt/slice-guard.js';
import { runIdOf, hostsOf } from './attempt/attempt-hosts.js';
import { connectingKey, JobKeyUnknown } from './connecting-key.js';
import { ofJob } from './secret-values.js';
import { tellJobOfTrouble } from './attempt/store-patience.js';

/** Activities on the hosts of one attempt. */
export function attemptActivities(
  dependencies: ActivityDependencies,
): Pick<
  JobActivities,
  'setUpHosts' | 'setUpAgain' | 'stopSetUp' | 'superviseAttempt' | 'stopAttempt' | 'holdSlices' | 'runHook'
> {
  const { store } = dependencies;
  const setUps = new SetUps();
  const routes = new Routes();
  const setUp = (input: AttemptInput): Promise<SetUpEnd> =>
    setUps.run(input, (asked) =>
      unlessEnded(store, input, () =>
        unlessKeyUnknown(dependencies, input, () => setUpHosts(dependencies, input, asked), asked),
      ),
    );
  return {
    setUpHosts: (input: AttemptInput) => timed(dependencies, () => translated(() => setUp(input))),
    // Also for a job that keeps its slices, whose outcome is stored.
    setUpAgain: (input: SetUpAgainInput) => translated(() => setUpHosts(dependencies, input, NEVER)),
    stopSetUp: async (of) => setUps.stop(of),
    superviseAttempt: (input: AttemptInput) =>
      translated(() =>
        unlessEnded(store, input, () =>
          unlessKeyUnknown(dependencies, input, () => superviseAttempt(dependencies, input, routes)),
        ),
      ),
    stopAttempt: (input: StopInput) => translated(() => stopAttempt(dependencies, input)),
    runHook: (input: HookInput) => translated(() => runHook(dependencies, input)),
    holdSlices: (input: HoldInput) => translated(() => holdSlices(dependencies, input)),
  };
}

/** A set-up that a person asked for ends only with its hosts or its worker. */
const NEVER = new AbortController().signal;

async function timed({ meter }: ActivityDependencies, setUp: () => Promise<SetUpEnd>): Promise<SetUpEnd> {
  const startedAt = performance.now();
  let kind: SetUpEnd['kind'] | 'error' = 'error';
  try {
    const end = await setUp();
    kind = end.kind;
    return end;
  } finally {
    meter.setUp((performance.now() - startedAt) / 1000, kind);
  }
}

/**
 * Watches slices on which nothing runs, until one of them is lost. It needs no connection to a host, so any worker may do it. A
 * worker that shuts down fails the activity, and another begins again.
 */
async function holdSlices({ machinesOf }: ActivityDependencies, input: HoldInput): Promise<readonly LostSlice[]> {
  const end = new ActivityEnd();
  const guard = new SliceGuard(machinesOf, input.slices, input.timings.notFoundApartMs, end.signal);
  try {
    return await Promise.race([guard.lost, Context.current().cancelled]);
  } finally {
    end.finish();
  }
}

type SetUpOf = Pick<AttemptInput, 'job' | 'attempt'>;

/**
 * The set-ups that this worker has under way, so that one can be ended at once when its slices stay and are needed for something
 * else. A cancel of the activity would come with a heartbeat's answer, up to 72 s later.
 */
class SetUps {
  readonly #underWay = new Map<string, AbortController>();

  /** @param setUp ends soon after its signal is aborted */
  async run<T>(of: SetUpOf, setUp: (asked: AbortSignal) => Promise<T>): Promise<T> {
    const asked = new AbortController();
    const id = runIdOf(of);
    this.#underWay.set(id, asked);
    try {
      return await setUp(asked.signal);
    } finally {
      if (this.#underWay.get(id) === asked) this.#underWay.delete(id);
    }
  }

  /** Ends the set-up, without waiting until it has ended. Does nothing if none is under way. */
  stop(of: SetUpOf): void {
    this.#underWay.get(runIdOf(of))?.abort(new Error('the set-up is not wanted any more'));
  }
}

/**
 * Ends the command on every host, at once and whatever the supervision does (docs/design.md, "Stop reaches the process"). A
 * command that was not started yet never will be.
 * @throws if a host could not be reached, naming each
 */
async function stopAttempt({ hosts, installation }: ActivityDependencies, input: StopInput): Promise<void> {
  // A host takes up to the whole grace to answer. The heartbeat shows earlier if the worker dies meanwhile.
  const beat = beating();
  try {
    await stopOnHosts(hosts, await connectingKey(ofJob(installation, input.settings), input), input);
  } finally {
    clearInterval(beat);
  }
}

async function stopOnHosts(hosts: HostsPort, key: SshKey, input: StopInput): Promise<void> {
  const graceMs = input.spec.graceSeconds * 1000;
  // Node 20 forgets an AbortSignal.timeout that only AbortSignal.any holds, so this uses a controller.
  const giveUp = new AbortController();
  const timer = setTimeout(() => giveUp.abort(new Error(`no connection within ${CONNECT_MS / 1000} s`)), CONNECT_MS);
  cancellationSignal().addEventListener('abort', () => giveUp.abort(new Error('the activity was cancelled')), {
    once: true,
  });
  const failures: string[] = [];
  const stops = hostsOf(input).map(async ({ target }) => {
    try {
      const connection = await hosts.connect(target, key, giveUp.signal);
      try {
        await connection.stopRun(runIdOf(input), graceMs, input.notice);
      } finally {
        connection.close();
      }
    } catch (error) {
      failures.push(messageOf(error));
    }
  });
  await Promise.all(stops);
  clearTimeout(timer);
  if (failures.length > 0) throw new Error(`${failures.length} of ${stops.length} hosts: ${failures[0]}`);
}

const CONNECT_MS = 10_000;

type WithoutKey =
  | { readonly kind: 'slices-lost'; readonly slices: readonly LostSlice[] }
  | { readonly kind: 'handed-over' };

/**
 * Does `work`, unless this worker cannot make the key that the job's hosts accept. In that case nothing is wrong with the hosts:
 * their command runs, and an operator has to name a secret. So the job is told why no worker watches it, its slices are watched
 * for a loss, and another worker is asked after a while.
 * @param asked ends the wait early
 */
async function unlessKeyUnknown<End>(
  dependencies: Pick<ActivityDependencies, 'machinesOf'>,
  input: AttemptInput,
  work: () => Promise<End>,
  asked?: AbortSignal,
): Promise<End | WithoutKey> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof JobKeyUnknown)) throw error;
    return wait(dependencies, input, error, asked);
  }
}

async function wait(
  { machinesOf }: Pick<ActivityDependencies, 'machinesOf'>,
  input: AttemptInput,
  why: JobKeyUnknown,
  asked: AbortSignal | undefined,
): Promise<WithoutKey> {
  log.error(why.message);
  tellJobOfTrouble(input)(why.message);
  const end = new ActivityEnd(asked);
  const { notFoundApartMs } = input.settings.timings;
  const guard = new SliceGuard(machinesOf, input.slices, notFoundApartMs, end.signal);
  try {
    return await Promise.race([
      guard.lost.then((slices): WithoutKey => ({ kind: 'slices-lost', slices })),
      end.handedOver.then((): WithoutKey => ({ kind: 'handed-over' })),
      pause(OTHER_WORKER_AFTER_MS, end.signal).then(() => {
        throw why;
      }),
    ]);
  } finally {
    end.finish();
  }
}

/** Errors this far apart are not errors in a row, which would end the attempt (domain/recovery/budgets.ts). */
const OTHER_WORKER_AFTER_MS = HEALTHY_MS + 10_000;
