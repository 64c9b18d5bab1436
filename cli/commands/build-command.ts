import type { Command } from 'commander';
import { buildOptions, collect, type Invocation, outputOption } from '../terminal/options.js';
import type { BuildFlags } from './verbs/build.js';

const NOTES = `
Prints the image by its digest, as hosts pull it, and nothing else to stdout. A cluster builds when a job needs it: \`submit --build remote\`.

Examples:
  jobctl build job.yaml
  jobctl submit job.yaml --set build.digest="$(jobctl build job.yaml | cut -d @ -f 2)"
`;

export function registerBuild(program: Command, invocation: Invocation): void {
  const command = program
    .command('build')
    .summary("build and push a job's image, and print its digest")
    .description(
      'Builds the image of a job file (its section build) on this computer, and pushes it. Nothing is submitted.',
    )
    .argument('<file>', 'a job file (YAML), or - for stdin')
    .option('--set <key=value>', 'set a value of the job file; may be repeated', collect)
    .option('--allow-outside', 'build what the job file names outside of its folder or repository; do not ask')
    .addOption(outputOption())
    .addHelpText('after', NOTES);
  buildOptions(command).action(async (file: string, flags: BuildFlags) => {
    const { build } = await import('./verbs/build.js');
    invocation.exitCode = await build(file, flags);
  });
}
