import { type Command, Option } from 'commander';
import { parseHostChoice } from '../jobs/hosts/host-options.js';
import { type Invocation, outputOption, wholeNumber, withConnection } from '../terminal/options.js';
import type { DownloadFlags } from './verbs/download.js';
import type { OutputsFlags } from './verbs/outputs.js';

/** Registers the verbs for files that outlive a job's hosts. */
export function registerOutputsVerbs(program: Command, invocation: Invocation): void {
  registerDownload(program, invocation);
  registerOutputs(program, invocation);
}

const DOWNLOAD_NOTES = `
A job stores the files in $JOBCTL_OUTPUT_DIR and those that \`outputs\` of the job file names: every 10 minutes, on a provider's notice, and
at each end of the command. Without --host, the files of the first host that stored any are downloaded; files of several hosts go to
DIR/host-N each. Every file is compared by its SHA-256: a file that is there already is not read again, and an interrupted download
continues.

With --logs, the logs are downloaded instead, of all hosts: DIR/MODULE/host-N.log, such as command/host-0.log or venv/host-3.log, and
DIR/job.log, which is what jobctl did for the job. If several attempts have logs and --attempt chooses none, each attempt has a folder:
DIR/attempt-2/command/host-0.log. A file that is there is replaced only by a log that begins with all of it: of a job that runs, the
same command brings the rest.

Examples:
  jobctl download train-7f3k
  jobctl download train-7f3k --host all --attempt 1 results/
  jobctl download train-7f3k --logs logs/
`;

function registerDownload(program: Command, invocation: Invocation): void {
  const command = program
    .command('download')
    .summary('get the files that a job stored, or its logs')
    .description("Downloads a job's outputs, or its logs, from the bucket, also after its hosts are gone.")
    .argument('<job>', "the job's id")
    .argument('[dir]', 'the folder (default: ./JOB)')
    .option('--logs', 'all its logs as plain files, MODULE/host-N.log, and no outputs');
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
      new Option('--attempt <number>', 'the attempt (default: the newest that stored files)').argParser(
        wholeNumber(1, 1_000_000),
      ),
    )
    .addOption(new Option('--host <hosts>', 'these hosts: 2, 0,2-3 or all').argParser(parseHostChoice))
    .addOption(outputOption());
