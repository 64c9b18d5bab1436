import type { AttemptInput, JobActivities } from './contract.js';
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
    setUpHosts: (input: AttemptInput) => translated(() => setUpHosts(dependencies, input)),
    superviseAttempt: (input: AttemptInput) => translated(() => superviseAttempt(dependencies, input)),
    stopAttempt: (input: AttemptInput) => translated(() => stopAttempt(dependencies, input)),
  };
}
