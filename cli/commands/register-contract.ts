import { type Command, InvalidArgumentError, Option } from 'commander';
import { WAIT_MINUTES } from '../doctor/contract/bound.js';
import { durationOption, type Invocation, outputOption } from '../terminal/options.js';
import type { ContractFlags } from './verbs/contract.js';

const NOTES = `
It asks for one spot slice, looks at it until it is ACTIVE, at most ten minutes, deletes it, and looks until it is gone. It asks before it
begins. Ctrl-C deletes the slice too; a second Ctrl-C ends at once and says what is left. The recordings name no project, person or
address. Exit code 1: the slice did not become ACTIVE in time (spot chips lack); what came is recorded. docs/doctor.md has the form.

Example:
  jobctl contract --gcp --spend 1 --google-project my-project --zone us-central1-a --record recordings
`;

function usd(text: string): number {
  const value = Number(text);
  if (/^\d+(?:\.\d+)?$/.test(text) && value > 0 && value <= 100) return value;
  throw new InvalidArgumentError('An amount in USD above 0, 100 at most.');
}

export function registerContract(program: Command, invocation: Invocation): void {
  program
    .command('contract')
    .summary('record what Google Cloud answers over the life of one small spot slice, for money')
    .description(
      'Takes one small spot slice of Cloud TPU through its life and records each request and answer as a file, without what tells whose they are.',
    )
    .option('--gcp', 'of Google Cloud')
    .addOption(
      new Option('--spend <usd>', 'the most that it may cost, in USD, by the prices that jobctl knows').argParser(usd),
    )
    .option(
      '--google-project <id>',
      'JOBCTL_GOOGLE_PROJECT: the project (default: that of the credentials, or of gcloud)',
    )
    .option('--zone <zone>', 'the zone of the slice')
    .option('--accelerator <type>', 'its type', 'v5litepod-1')
    .option('--record <folder>', 'the folder of the recordings (default: jobctl-contract-DATE)')
    .option('--yes', 'do not ask')
    .addOption(outputOption())
    .addOption(new Option('--tpu-endpoint <host:port>', 'JOBCTL_TPU_ENDPOINT').hideHelp())
    .addOption(
      new Option('--at-most <duration>', 'the wait for ACTIVE')
        .argParser(durationOption)
        .default(WAIT_MINUTES * 60_000)
        .hideHelp(),
    )
    .addOption(new Option('--every <duration>', 'between two looks').argParser(durationOption).default(5000).hideHelp())
    .addHelpText('after', NOTES)
    .action(async (flags: ContractFlags) => {
      const { contract } = await import('./verbs/contract.js');
      invocation.exitCode = await contract(flags);
    });
}
