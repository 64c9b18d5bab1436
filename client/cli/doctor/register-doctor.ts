import { Option } from 'commander';
import type { Command } from 'commander';
import { type Invocation, outputOption } from '../options.js';
import type { DoctorFlags } from './diagnosis.js';

const NOTES = `
ok: it is there. warning: it may work, or could not be looked at. FAILED: a job would fail; below it stands what to do.
Nothing is made or changed. docs/doctor.md says what each line means.

Examples:
  jobctl doctor --gcp train.yaml
  jobctl doctor --gcp --google-project my-project --zone us-central1-a --accelerator v5litepod-16 --bucket my-jobs
`;

export function registerDoctor(program: Command, invocation: Invocation): void {
  program
    .command('doctor')
    .summary('look whether a Google project can run jobs, before money is spent')
    .description(
      'Looks at a Google project as a job would use it: login, APIs, permissions, bucket, types and quota of a zone, network, ' +
        'firewall, addresses, policies. Exits 1 when something is FAILED. Needs no server.',
    )
    .argument('[file]', 'a job file (YAML) that says zones, accelerator, network ..')
    .option('--gcp', 'Google Cloud')
    .option('--google-project <id>', 'JOBCTL_GOOGLE_PROJECT: else what credentials and gcloud name')
    .option(
      '--zone <zone>',
      'where slices would be; may be repeated',
      (zone: string, before: readonly string[] | undefined) => [...(before ?? []), zone],
    )
    .option('--accelerator <type>', 'such as v5litepod-16')
    .option('--bucket <name>', 'JOBCTL_BUCKET: the bucket of logs and files')
    .option('--network <name>', 'the network of the slices (default)')
    .option('--subnetwork <name>', 'and its subnetwork')
    .option('--service-account <email>', "what the hosts run as (the project's default one)")
    .option('--no-external-ips', 'hosts without external addresses')
    .addOption(outputOption())
    .addOption(
      new Option('--google-api-endpoint <url>', "JOBCTL_GOOGLE_API_ENDPOINT: for all of Google's APIs").hideHelp(),
    )
    .addOption(new Option('--store-endpoint <url>', 'JOBCTL_STORE_ENDPOINT: for Cloud Storage').hideHelp())
    .addHelpText('after', NOTES)
    .action(async (file: string | undefined, flags: DoctorFlags) => {
      const { doctor } = await import('../verbs/doctor.js');
      invocation.exitCode = await doctor(file, flags);
    });
}
