import { type Command, Option } from 'commander';
import { parseHostChoice } from './hosts/host-options.js';
import { type Invocation, outputOption, wholeNumber, withConnection } from './options.js';
import type { DownloadFlags } from './verbs/download.js';
import type { OutputsFlags } from './verbs/outputs.js';

/** The verbs for files that outlive a job's hosts. */
export function registerOutputsVerbs(program: Command, invocation: Invocation): void {
  registerDownload(program, invocation);
  registerOutputs(program, invocation);
}

const DOWNLOAD_NOTES = `
Stored are the files in $JOBCTL_OUTPUT_DIR and what \`outputs\` of the job file names: every 10 minutes, on a provider's notice, and at each
end of the command. Without --host: those of the first host that stored any; of several hosts, each one's files go to DIR/host-N. Every file
is compared by its SHA-256; one that is there already is not read again, and one that was cut goes on where it was.

Examples:
  jobctl download train-7f3k
  jobctl download train-7f3k --host all --attempt 1 results/
`;

function registerDownload(program: Command, invocation: Invocation): void {
  const command = program
    .command('download')
    .summary('get the files that a job stored')
    .description("Downloads a job's outputs from the bucket, also when its hosts are gone.")
    .argument('<job>', "the job's id")
    .argument('[dir]', 'the folder; ./JOB without it');
  choosing(command).addHelpText('after', DOWNLOAD_NOTES);
  withConnection(command).action(async (job: string, dir: string | undefined, flags: DownloadFlags) => {
    const { download } = await import('./verbs/download.js');
    invocation.exitCode = await download(job, dir, flags);
  });
}

const OUTPUTS_NOTES = `
Examples:
  jobctl outputs train-7f3k
  jobctl outputs train-7f3k --attempt 1 --host 0,2 -o json
`;

function registerOutputs(program: Command, invocation: Invocation): void {
  const command = program
    .command('outputs')
    .summary('list the files that a job stored')
    .description("Lists a job's outputs in the bucket: size, host, attempt, when it was written, path.")
    .argument('<job>', "the job's id");
  choosing(command).addHelpText('after', OUTPUTS_NOTES);
  withConnection(command).action(async (job: string, flags: OutputsFlags) => {
    const { outputs } = await import('./verbs/outputs.js');
    invocation.exitCode = await outputs(job, flags);
  });
}

const choosing = (command: Command): Command =>
  command
    .addOption(
      new Option('--attempt <number>', 'the newest with files without it').argParser(wholeNumber(1, 1_000_000)),
    )
    .addOption(new Option('--host <hosts>', '2, 0,2-3 or all').argParser(parseHostChoice))
    .addOption(outputOption());
