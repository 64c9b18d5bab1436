import { BY, changingFlags, JOB, JOBS } from '../jobs/job-filter.js';
import { BUILD_FLAGS, collect, durationOption, type Flag, outputOption } from '../terminal/options.js';
import { defineVerb, type Verb } from './define-verb.js';

const EDIT_FLAGS: readonly Flag[] = [
  ['--file <file>', 'the changed job file (YAML)'],
  ['--set <key=value>', 'set a value; may be repeated', collect],
  ['--bundle <folder>', 'the folder that every host gets from now on, packed as it is now'],
  ['--allow-outside', 'upload what the job file names outside of its folder or repository; do not ask'],
  ...BUILD_FLAGS,
];

/** Verbs that pause, resume, restart or end a job. docs/job-states.md draws their effects. */
export const CHANGING_VERBS: readonly Verb[] = [
  defineVerb({
    name: 'cancel',
    summary: 'stop jobs and give their slices back',
    description: 'Stops the command on all hosts, deletes the slices and ends the job as cancelled. Returns at once.',
    place: 'either',
    arguments: [JOBS],
    flags: [...changingFlags()],
    notes: `
It shows the jobs that a filter finds, and asks before it cancels these, or jobs of other people; with --yes it does not ask. The outcome
of a job records who cancelled it, and on which computer.
`,
    examples: [
      'jobctl cancel train-7f3k && jobctl wait train-7f3k',
      'jobctl cancel train-7f3k lr-0q1d',
      "jobctl cancel --name 'lr-*' --phase queued",
    ],
    run: async () => (await import('./verbs/life.js')).cancel,
  }),
  defineVerb({
    name: 'retry',
    summary: 'run the failed members of a group again',
    description: 'Runs the members of a group that failed again, each as a new job with the same parameters.',
    place: 'either',
    arguments: [['<group>', "the group's id"]],
    flags: [
      [
        '--failed',
        'members that failed, were terminated or refused, or that fail_fast or `after` kept from their turn',
      ],
      BY,
      outputOption(),
    ],
    notes: `
The jobs of a retry have ids of their own: GROUP-r1-INDEX for the first retry. The group counts them in place of those that failed.
`,
    examples: ['jobctl retry exp-7f3k --failed'],
    run: async () => (await import('../jobs/groups/changes.js')).retry,
  }),
  defineVerb({
    name: 'stop',
    summary: 'end the command and keep the slices',
    description: 'Ends the command on all hosts and keeps slices and lease until `jobctl resume`. Returns at once.',
    place: 'either',
    arguments: [JOBS],
    flags: [...changingFlags(), ['--release', 'give slices and lease back too']],
    notes: `
The command finds the cause in $JOBCTL_NOTICE_FILE and has the job's grace to save its state. The slices are kept, and billed, until
resume, until timeouts.stop is over (8h by default), or until the pool needs their chips. After that, and with --release, the job holds
nothing. It asks for chips again only at resume, with its first submit time.
`,
    examples: ['jobctl stop train-7f3k', 'jobctl stop train-7f3k --release', 'jobctl stop --mine --phase running'],
    run: async () => (await import('./verbs/life.js')).stop,
  }),
  defineVerb({
    name: 'resume',
    summary: 'continue a stopped job',
    description:
      'Continues a stopped job by a new attempt, on the slices that it kept or as soon as its pool grants it chips.',
    place: 'either',
    arguments: [JOB],
    flags: [BY, outputOption(), ...EDIT_FLAGS],
    notes: `
With --file or --set the job continues with the changed job file, as after \`jobctl restart\`.
`,
    examples: ['jobctl resume train-7f3k', 'jobctl resume train-7f3k --set env.LEARNING_RATE=0.0005'],
    run: async () => (await import('./verbs/life.js')).resume,
  }),
  defineVerb({
    name: 'restart',
    summary: 'start the command again on the same slices',
    description:
      'Ends the command, with grace, and starts it again on the same slices, with the same or a changed job file.',
    place: 'either',
    arguments: [JOB],
    flags: [
      BY,
      outputOption(),
      ...EDIT_FLAGS,
      ['--replace [slices]', 'with other machines in place of all slices, or of these: 0,3 (write JOB before it)'],
    ],
    notes: `
Command, environment, modules, times and budgets may change; what the slices were made from may not (tpu, slices, pool, the key). Modules
whose content is the same are not set up again.
`,
    examples: [
      'jobctl restart train-7f3k',
      'jobctl restart train-7f3k --file train.yaml',
      'jobctl restart train-7f3k --bundle .',
      'jobctl restart train-7f3k --replace',
      'jobctl restart train-7f3k --replace 0,3',
      "jobctl restart train-7f3k --set 'command.run=python3 train.py --lr 0.1'",
    ],
    run: async () => (await import('./verbs/life.js')).restart,
  }),
  defineVerb({
    name: 'requeue',
    summary: 'give slices and lease back and ask again',
    description:
      'Ends the command, with grace, gives slices and lease back, and asks for chips again, with the first submit time.',
    place: 'either',
    arguments: [JOB],
    flags: [BY, outputOption(), ['--zone <zone>', "ask in this one of the job's zones first"]],
    examples: ['jobctl requeue train-7f3k', 'jobctl requeue train-7f3k --zone us-east5-a'],
    run: async () => {
      const { asking } = await import('../job/ask-job.js');
      return asking('requeue', ({ zone }: { readonly zone?: string }) => ({ zone }));
    },
  }),
  defineVerb({
    name: 'delete',
    summary: 'end jobs and delete their slices',
    description: 'Ends jobs, if they have not ended, and waits until their slices are gone.',
    place: 'either',
    arguments: [JOBS],
    flags: [
      ...changingFlags(),
      ['--purge', 'remove what the bucket keeps of jobs that have ended'],
      ['--timeout <duration>', 'wait no longer than this and exit 124', durationOption],
    ],
    notes: `
An open job is cancelled, after a question unless --yes is given. A job that has ended and holds its slices (keep) keeps its outcome.
\`delete\` returns when nothing of the job is left in the cloud. Its record and logs stay in the bucket. --purge removes them, also after a
question, once the job has ended; what other jobs share stays. The id of a group that has ended stands for all of its jobs.
`,
    examples: ['jobctl delete train-7f3k', 'jobctl delete train-7f3k --purge', "jobctl delete --name 'lr-*' --mine"],
    run: async () => (await import('./verbs/delete.js')).deleteJobs,
  }),
];
