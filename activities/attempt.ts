import type {
  AttemptInput,
  HoldInput,
  HookInput,
  JobActivities,
  SetUpAgainInput,
  SetUpEnd,
  StopInput,
} from '../contract/job-activities.js';
import type { ActivityDependencies } from './dependencies.js';
import { unlessEnded } from './attempt/ends.js';
import { holdSlices } from './attempt/hold.js';
import { Routes } from './attempt/routes.js';
import { runHook } from './attempt/run-hook.js';
import { setUpHosts } from './attempt/set-up.js';
import { SetUps } from './attempt/set-ups.js';
import { stopAttempt } from './attempt/stop.js';
import { superviseAttempt } from './attempt/supervise.js';
import { unlessKeyUnknown } from './attempt/without-key.js';
import { translated } from './failures.js';

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
