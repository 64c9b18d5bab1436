import type { AttemptInput, JobActivities, SetUpEnd } from './contract.js';
import type { ActivityDependencies } from './dependencies.js';
import { setUpHosts } from './attempt/set-up.js';
import { stopAttempt } from './attempt/stop.js';
import { superviseAttempt } from './attempt/supervise.js';
import { translated } from './failures.js';

/** What is done on the hosts of one attempt. */
export function attemptActivities(
  dependencies: ActivityDependencies,
): Pick<JobActivities, 'setUpHosts' | 'superviseAttempt' | 'stopAttempt'> {
  return {
    setUpHosts: (input: AttemptInput) => timed(dependencies, () => translated(() => setUpHosts(dependencies, input))),
    superviseAttempt: (input: AttemptInput) => translated(() => superviseAttempt(dependencies, input)),
    stopAttempt: (input: AttemptInput) => translated(() => stopAttempt(dependencies, input)),
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
