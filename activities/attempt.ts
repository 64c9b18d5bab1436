import type { AttemptInput, JobActivities, SetUpEnd, StopInput } from './contract.js';
import type { ActivityDependencies } from './dependencies.js';
import { unlessEnded } from './attempt/ended-before.js';
import { setUpHosts } from './attempt/set-up.js';
import { stopAttempt } from './attempt/stop.js';
import { superviseAttempt } from './attempt/supervise.js';
import { translated } from './failures.js';

/** What is done on the hosts of one attempt. */
export function attemptActivities(
  dependencies: ActivityDependencies,
): Pick<JobActivities, 'setUpHosts' | 'superviseAttempt' | 'stopAttempt'> {
  const { store } = dependencies;
  return {
    setUpHosts: (input: AttemptInput) =>
      timed(dependencies, () => translated(() => unlessEnded(store, input, () => setUpHosts(dependencies, input)))),
    superviseAttempt: (input: AttemptInput) =>
      translated(() => unlessEnded(store, input, () => superviseAttempt(dependencies, input))),
    stopAttempt: (input: StopInput) => translated(() => stopAttempt(dependencies, input)),
  };
}

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
