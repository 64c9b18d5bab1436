import { proxyActivities } from '@temporalio/workflow';

const { decide } = proxyActivities<{ decide(): Promise<string> }>({ startToCloseTimeout: '60s' });

/** What a job is here: one decision, by whichever worker has the task. */
export async function decided(): Promise<string> {
  return decide();
}
