import { collect, outputOption } from '../terminal/options.js';
import { defineVerb } from './define-verb.js';

export const NOTIFY = defineVerb({
  name: 'notify',
  description: 'try who is told of jobs',
  examples: ['jobctl notify test train.yaml'],
  verbs: [
    defineVerb({
      name: 'test',
      summary: 'send a test event to those whom a job file tells',
      description:
        "Has a worker send one event to each target of the job file's notify, by the code and the rights that a job's own events are sent by. Says of each target whether it was told; exit code 1 if one was not.",
      place: { temporal: 'it starts a workflow of its own, which a worker carries out' },
      arguments: [['[job-file]', 'the job file']],
      flags: [
        ['--channel <name...>', 'channels of the operator, in place of a job file or beside it'],
        ['--pool <name>', "the pool whose rules count; the job file's without it"],
        ['--set <key=value>', 'set a value of the job file; may be repeated', collect],
        outputOption(),
      ],
      examples: ['jobctl notify test train.yaml', 'jobctl notify test --channel oncall'],
      run: async () => (await import('./verbs/notify.js')).notifyTest,
    }),
  ],
});
