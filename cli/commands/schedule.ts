import { Option } from 'commander';
import { DEFAULT_OVERLAP, DEFAULT_ZONE, OVERLAP_WORDS } from '../../domain/schedule/schedule.js';
import { BY } from '../jobs/job-filter.js';
import { BUILD_FLAGS, buildPlaceOption, collect, type Flag, outputOption, wholeNumber } from '../terminal/options.js';
import { defineVerb, type Verb } from './define-verb.js';
import { MACHINE_FLAGS } from './starting.js';

const NAME = ['<name>', "the schedule's name"] as const;
const YES: Flag = ['--yes', 'do not ask'];

function changingVerb(verb: Pick<Verb, 'name' | 'aliases' | 'summary' | 'description' | 'flags' | 'run'>): Verb {
  const { name, flags = [] } = verb;
  return defineVerb({
    ...verb,
    place: 'either',
    arguments: [NAME],
    flags: [...flags, YES, BY, outputOption()],
    examples: [`jobctl schedule ${name} nightly${name === 'pause' ? " --reason 'the data is late'" : ''}`],
  });
}

/** Jobs at set times (docs/adr/0159). */
export const SCHEDULE = defineVerb({
  name: 'schedule',
  nearWords: ['cron', 'scrontab', 'schedules'],
  description: 'start a job at set times',
  examples: ["jobctl schedule create nightly train.yaml --cron '30 2 * * *' --time-zone America/New_York"],
  verbs: [
    defineVerb({
      name: 'create',
      summary: 'start a job file at the times of a cron',
      description: 'Has the server start a job at the times of a cron: a job file, or --tpu and the words after `--`.',
      usage: 'NAME [FILE] --cron CRON [options] [-- CMD..]',
      place: 'either',
      takesWords: true,
      arguments: [
        ['<name>', "the schedule's name, with which the ids of its jobs begin"],
        ['[file]', 'the job file (YAML)'],
      ],
      flags: [
        new Option('--cron <cron>', 'minute, hour, day of the month, month, day of the week').makeOptionMandatory(),
        ['--time-zone <zone>', 'the zone whose clock counts', undefined, DEFAULT_ZONE],
        new Option('--overlap <policy>', 'what becomes of a firing if the job before has not ended')
          .choices(OVERLAP_WORDS)
          .default(DEFAULT_OVERLAP),
        ...MACHINE_FLAGS,
        ['--set <key=value>', 'set a value of the file; may be repeated', collect],
        ['--bundle <folder>', 'copy this folder to every host, packed as it is now'],
        ['--project <project>', 'the quota project'],
        ['--user <user>', 'the user who submits (default: your login name)'],
        ['--priority <number>', '1 (high) to 5 (low) (default: 3)', wholeNumber(1, 5)],
        ['--allow-outside', 'upload what the job file names outside of its folder or repository; do not ask'],
        ['--literal-quotes', 'keep the quotes of words of the command that are in single quotes'],
        outputOption(),
        buildPlaceOption(),
        ...BUILD_FLAGS,
      ],
      notes: `
Each job is what was read now: the file, its bundle and local files, and the image by its digest. Its id is the name with the time in UTC,
such as nightly-20261130t0730. Overlap: skip starts none while the job before has not ended, queue starts one when it has, cancel cancels it
first, and allow starts one beside it. docs/job-file.md, "Jobs at set times", says what happens when clocks are changed.
`,
      examples: [
        "jobctl schedule create nightly train.yaml --cron '30 2 * * *' --time-zone America/New_York",
        "jobctl schedule create eval eval.yaml --cron '0 8-18/2 * * mon-fri' --overlap cancel --set priority=2",
        'jobctl schedule create report --cron @daily --tpu v5litepod-1 --zone us-central1-a -- python3 report.py',
      ],
      run: async () => (await import('./verbs/schedule-create.js')).scheduleCreate,
    }),
    defineVerb({
      name: 'ls',
      aliases: ['list'],
      summary: 'list schedules',
      description: 'Lists all schedules: their times, whether they are paused, and how their last job is or ended.',
      place: 'either',
      flags: [outputOption()],
      examples: ['jobctl schedule ls', 'jobctl schedule ls --output json'],
      run: async () => (await import('./verbs/schedule.js')).scheduleList,
    }),
    defineVerb({
      name: 'status',
      aliases: ['describe'],
      summary: 'show a schedule and its last jobs',
      description: 'Shows a schedule: its next times, its last jobs and how they ended, and firings that started none.',
      place: 'either',
      arguments: [NAME],
      flags: [outputOption()],
      examples: ['jobctl schedule status nightly'],
      run: async () => (await import('./verbs/schedule.js')).scheduleStatus,
    }),
    changingVerb({
      name: 'pause',
      summary: 'start no more jobs until it is resumed',
      description:
        'Starts no job until `schedule resume`. A job that runs goes on. What is passed over is not made up for.',
      flags: [['--reason <text>', 'shown by `schedule status`']],
      run: async () => (await import('./verbs/schedule.js')).schedulePause,
    }),
    changingVerb({
      name: 'resume',
      aliases: ['unpause'],
      summary: 'let a paused schedule go on',
      description: 'Lets a paused schedule go on, from its next time.',
      run: async () => (await import('./verbs/schedule.js')).scheduleResume,
    }),
    changingVerb({
      name: 'trigger',
      summary: 'start its job now',
      description: 'Starts the job of a schedule now, under its overlap policy, also if it is paused.',
      run: async () => (await import('./verbs/schedule.js')).scheduleTrigger,
    }),
    changingVerb({
      name: 'delete',
      aliases: ['rm'],
      summary: 'end a schedule',
      description: 'Ends a schedule. Jobs that it has started go on.',
      run: async () => (await import('./verbs/schedule.js')).scheduleDelete,
    }),
  ],
});
