import { Option } from 'commander';
import type { Command } from 'commander';
import { type Invocation, outputOption } from '../terminal/options.js';
import type { DoctorFlags } from '../doctor/diagnosis.js';

const NOTES = `
ok: the check passed. warning: a job may work, or the check could not be made. FAILED: a job would fail; the lines below say what to do.
Nothing is created or changed, with --record neither; in a store of S3's --server writes one object and removes it. docs/doctor.md explains each line.

Examples:
  jobctl doctor --gcp train.yaml
  jobctl doctor --gcp --google-project my-project --zone us-central1-a --accelerator v5litepod-16 --bucket my-jobs
  jobctl doctor --gcp --zone us-central1-a --record recordings
  jobctl doctor --kubernetes pods.yaml
  jobctl doctor --quota quota.toml
  jobctl doctor --server
`;

export function registerDoctor(program: Command, invocation: Invocation): void {
  program
    .command('doctor')
    .summary('check that a Google Cloud project, a Kubernetes cluster or a Temporal server can run jobs')
    .description(
      'Checks a Google Cloud project as a job would use it: login, APIs, permissions, bucket, types and quota of a zone, network, ' +
        'firewall, addresses, policies. Or checks a namespace of a Kubernetes cluster: version, rights, Kueue, quota, GPUs. ' +
        "Or a quota file. Or whether the Temporal server is this installation's. Exits with 1 if a check has FAILED.",
    )
    .argument('[file]', 'a job file (YAML) with zones, accelerator, network ..')
    .option('--gcp', 'check Google Cloud')
    .option(
      '--record <folder>',
      'with --gcp: write what Google answers as files that name nobody; calls are free, and read or are refused',
    )
    .option('--kubernetes', 'check a Kubernetes cluster')
    .option('--quota <file>', 'check a quota file: whom its members mean beside those who are written there')
    .option(
      '--server',
      "check the Temporal server: whose its task queue is, and its workers; and a store that is not Google's",
    )
    .option('--kubeconfig <file>', 'KUBECONFIG: the kubeconfig file (default: ~/.kube/config)')
    .option('--kube-context <name>', "a context of it (default: the job file's, else the current one)")
    .option('--kube-namespace <name>', "the namespace of the pods (default: the job file's, else the context's)")
    .option(
      '--google-project <id>',
      'JOBCTL_GOOGLE_PROJECT: the project (default: that of the credentials, or of gcloud)',
    )
    .option(
      '--zone <zone>',
      'a zone for slices; may be repeated',
      (zone: string, before: readonly string[] | undefined) => [...(before ?? []), zone],
    )
    .option('--accelerator <type>', 'a type of slice, such as v5litepod-16')
    .option('--bucket <name>', 'JOBCTL_BUCKET: the bucket of logs and files')
    .option('--system-bucket <name>', 'JOBCTL_SYSTEM_BUCKET: the second bucket, which hosts may not write')
    .option('--network <name>', 'the network of the slices (default: "default")')
    .option('--subnetwork <name>', 'its subnetwork')
    .option('--service-account <email>', "the service account of the hosts (default: the project's)")
    .option('--no-external-ips', 'hosts without external addresses')
    .addOption(outputOption())
    .addOption(
      new Option('--google-api-endpoint <url>', "JOBCTL_GOOGLE_API_ENDPOINT: for all of Google's APIs").hideHelp(),
    )
    .addOption(new Option('--store-endpoint <url>', 'JOBCTL_STORE_ENDPOINT: for Cloud Storage').hideHelp())
    .addHelpText('after', NOTES)
    .action(async (file: string | undefined, flags: DoctorFlags) => {
      const { doctor } = await import('./verbs/doctor.js');
      invocation.exitCode = await doctor(file, flags);
    });
}
