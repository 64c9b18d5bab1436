import type { JobInput } from 'jobctl/contract';

/** jobctl's workflow type and the queue that its workers poll: all that is needed to start one, in any language. */
export const JOB_WORKFLOW = 'job';
export const JOB_QUEUE = 'jobctl';

/** What one training run of this service is: the job file as plain JSON. */
export function trainingJob(learningRate: number): JobInput {
  return {
    v: 1,
    user: 'typescript-service',
    job: {
      name: 'train',
      tpu: { accelerator: 'v5litepod-8', zone: 'us-central1-a', allocation_mode: 'queued-resources' },
      env: { LEARNING_RATE: learningRate },
      command: { run: 'echo "training with learning rate $LEARNING_RATE on $(hostname)"' },
    },
  };
}
