/** The queue that every jobctl worker polls, unless configured otherwise. */
export const TASK_QUEUE = 'jobctl';
