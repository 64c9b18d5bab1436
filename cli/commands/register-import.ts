import type { Command } from 'commander';
import type { Invocation } from '../terminal/options.js';
import type { ImportFlags } from './verbs/import.js';

const IMPORT_NOTES = `
The job file goes to stdout or to the file of -o; an existing file is not overwritten without a question. stderr says of each key whether it
was kept, changed or lost, and why. docs/migrating.md lists all keys.
`;

/** Job files out of what users of other tools have. */
export function registerImport(program: Command, invocation: Invocation): void {
  const group = program
    .command('import')
    .summary('write a job file from a file or command line of another tool')
    .description('Writes a job file from a job spec of AXLearn, a JobMan file, or a command line of launch.')
    .addHelpText('after', `${IMPORT_NOTES}\nExample:\n  jobctl import jobman configs/quick_start.yaml -o job.yaml\n`);
  const importing = (name: string, description: string, example: string): Command =>
    group
      .command(name)
      .description(description)
      .option('-o, --output <file>', 'the file to write (default: stdout)')
      .option('--yes', 'overwrite an existing file')
      .addHelpText('after', `\nExample:\n  ${example}\n`);
  importing(
    'bastion-jobspec',
    "Writes a job file from a job spec (JSON) of AXLearn's Bastion.",
    'jobctl import bastion-jobspec spec.json -o job.yaml',
  )
    .argument('<file>', 'the job spec (JSON)')
    .action(async (file: string, flags: ImportFlags) => {
      const { importJobspec } = await import('./verbs/import.js');
      invocation.exitCode = await importJobspec(file, flags);
    });
  importing(
    'jobman',
    'Writes a JobMan file under the names of jobctl. JobMan files also run as they are.',
    'jobctl import jobman configs/quick_start.yaml -o job.yaml',
  )
    .argument('<file>', 'the JobMan file (YAML)')
    .action(async (file: string, flags: ImportFlags) => {
      const { importJobmanFile } = await import('./verbs/import.js');
      invocation.exitCode = await importJobmanFile(file, flags);
    });
  importing(
    'launch',
    "Writes a job file from a command line of AXLearn's or Astera's launch.",
    'jobctl import launch -- --instance_type=tpu-v4-32 --max_tries=3 -- python3 train.py',
  )
    .usage('[options] -- ARGS..')
    .action(async (flags: ImportFlags) => {
      const { importLaunch } = await import('./verbs/import.js');
      invocation.exitCode = await importLaunch(invocation.commandWords, flags);
    });
}
