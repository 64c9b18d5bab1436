import type { Flag } from '../terminal/options.js';
import { defineVerb } from './define-verb.js';

const FLAGS: readonly Flag[] = [
  ['-o, --output <file>', 'the file to write (default: stdout)'],
  ['--yes', 'overwrite an existing file'],
];

export const IMPORT = defineVerb({
  name: 'import',
  summary: 'write a job file from a file or command line of another tool',
  description: 'Writes a job file from a job spec of AXLearn, a JobMan file, or a command line of launch.',
  notes: `
The job file goes to stdout or to the file of -o; an existing file is not overwritten without a question. stderr says of each key whether it
was kept, changed or lost, and why. docs/migrating.md lists all keys.
`,
  examples: ['jobctl import jobman configs/quick_start.yaml -o job.yaml'],
  verbs: [
    defineVerb({
      name: 'bastion-jobspec',
      description: "Writes a job file from a job spec (JSON) of AXLearn's Bastion.",
      arguments: [['<file>', 'the job spec (JSON)']],
      flags: FLAGS,
      examples: ['jobctl import bastion-jobspec spec.json -o job.yaml'],
      run: async () => (await import('./verbs/import.js')).importJobspec,
    }),
    defineVerb({
      name: 'jobman',
      description: 'Writes a JobMan file under the names of jobctl. JobMan files also run as they are.',
      arguments: [['<file>', 'the JobMan file (YAML)']],
      flags: FLAGS,
      examples: ['jobctl import jobman configs/quick_start.yaml -o job.yaml'],
      run: async () => (await import('./verbs/import.js')).importJobmanFile,
    }),
    defineVerb({
      name: 'launch',
      description: "Writes a job file from a command line of AXLearn's or Astera's launch.",
      usage: '[options] -- ARGS..',
      takesWords: true,
      flags: FLAGS,
      examples: ['jobctl import launch -- --instance_type=tpu-v4-32 --max_tries=3 -- python3 train.py'],
      run: async () => (await import('./verbs/import.js')).importLaunch,
    }),
  ],
});
