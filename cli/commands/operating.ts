import { Argument, InvalidArgumentError, Option } from 'commander';
import { outputOption, serverFlags, wholeNumber, type Flag } from '../terminal/options.js';
import { defineVerb, type Verb } from './define-verb.js';
import type { MachineVerb } from '../../contract/machines.js';
import { BY } from '../jobs/job-filter.js';
import type { MachinesFlags } from './verbs/machines.js';

/** Verbs that run the parts of an installation, and verbs about jobctl itself. */
export const OPERATING_VERBS: readonly Verb[] = [
  defineVerb({
    name: 'codec',
    description: 'encrypt what Temporal stores',
    examples: ['jobctl codec new-key --file codec-key'],
    verbs: [
      defineVerb({
        name: 'new-key',
        summary: 'make a key for the payload codec',
        description:
          'Makes a new key, on stdout or in a file that only you can read. Keep a copy: without the key, encrypted data is lost.',
        flags: [
          ['--file <file>', 'the file to make; an existing file is not touched'],
          ['--id <id>', 'its id, readable in each payload (the day and some digits)'],
        ],
        examples: ['jobctl codec new-key --file codec-key'],
        run: async () => (await import('./verbs/codec.js')).newKey,
      }),
      defineVerb({
        name: 'serve',
        summary: "decode payloads for Temporal's Web UI",
        description: "Runs a codec server, which decrypts payloads for Temporal's Web UI and the temporal command.",
        flags: [
          ['--port <number>', 'the port to listen on', wholeNumber(0, 65_535), 8081],
          ['--host <address>', 'the address to listen on; any but loopback needs --token-file', undefined, '127.0.0.1'],
          ['--ui-origin <origin>', "the origin of the Web UI (default: the local stack's); may be repeated", origins],
          ['--token-file <file>', 'require Authorization: Bearer with the text of this file'],
          ['--allow-encode', 'answer /encode too'],
          ['--codec-key <reference>', 'JOBCTL_CODEC_KEY: file:///PATH, env:NAME or a secret version'],
          ['--codec-decode-keys <references>', 'JOBCTL_CODEC_DECODE_KEYS: older keys, separated by commas'],
        ],
        notes: `
In the Web UI, click the glasses at the top right ("Codec Server") and enter the address that is printed. docs/encryption.md says who can
call it.
`,
        examples: [
          'jobctl codec serve',
          'jobctl codec serve --codec-key file:///etc/jobctl/codec-key --ui-origin https://temporal.example.com',
        ],
        run: async () => (await import('./verbs/codec.js')).serve,
      }),
    ],
  }),
  defineVerb({
    name: 'worker',
    summary: 'run a worker',
    description: 'Runs a worker, which takes jobs from Temporal and runs them on Cloud TPUs, until it is stopped.',
    flags: [
      ['--config <file>', 'the configuration file (JSON)'],
      ['--google-project <id>', 'the Google Cloud project of the slices'],
      ['--tpu-endpoint <host:port>', "another Cloud TPU API than Google's"],
      ['--kubeconfig <file>', 'KUBECONFIG: the clusters of jobs on Kubernetes'],
      ['--kube-context <name>', 'the cluster of jobs that name no context'],
      ['--quota-file <file>', "the quota file (Bastion's TOML)"],
      ['--pool-file <file>', "the pool's Google project, zones and defaults (TOML)"],
      ['--ssh-private-key-file <file>', 'the key that logs in to TPU VMs'],
      ['--ssh-public-key-file <file>', 'its public half'],
      ['--ssh-user <name>', 'login name on TPU VMs'],
      ['--ssh-port <port>', 'SSH port of TPU VMs'],
      ['--secret-store <place>', 'the store of secrets: file:///FOLDER or projects/P'],
      ['--health-port <port>', 'the port of /ready'],
      ['--metrics-port <port>', 'the port of /metrics, for Prometheus'],
      ['--listen-host <address>', 'the address of both ports (default: 127.0.0.1)'],
      ['--log-level <level>', 'debug, info, warn or error'],
      ...serverFlags(),
    ],
    notes: `
A flag wins over the environment (JOBCTL_*, TEMPORAL_*), which wins over the file. At SIGTERM or SIGINT the worker hands its jobs over
and ends; a second signal ends it at once. docs/worker.md lists every field.
`,
    examples: ['jobctl worker --config worker.json --health-port 9090'],
    run: async () => (await import('./verbs/worker.js')).worker,
  }),
  defineVerb({
    name: 'serve',
    summary: 'run the HTTP server, which verifies who submits',
    description:
      'Runs the HTTP server of an installation: it verifies logins, decides who may do what, and starts jobs for verified users.',
    flags: [['--config <file>', 'the configuration file (JSON)']],
    notes: `
It prints its address when it listens, and ends at SIGTERM. Any number of replicas may run behind one address. Where Temporal is, TLS and
API keys come from its configuration and TEMPORAL_* variables. docs/serve.md lists every field; docs/access.md says who may do what.
`,
    examples: ['jobctl serve new-key --file /etc/jobctl/serve-key.pem', 'jobctl serve --config /etc/jobctl/serve.json'],
    run: async () => (await import('./verbs/serve.js')).serve,
    verbs: [
      defineVerb({
        name: 'new-key',
        description: 'Makes the key pair that a server signs submissions with.',
        flags: [
          new Option(
            '--file <file>',
            'where the private key is to be; its public half is FILE.pub',
          ).makeOptionMandatory(),
        ],
        notes: `
The server signs what it starts with FILE. Workers of pools in verified mode verify with FILE.pub (verified.serverKeys).
`,
        examples: ['jobctl serve new-key --file /etc/jobctl/serve-key.pem'],
        run: async () => (await import('./verbs/serve.js')).newKey,
      }),
    ],
  }),
  defineVerb({
    name: 'ui',
    nearWords: ['dashboard', 'web'],
    summary: 'show jobs in a browser',
    description:
      'Shows jobs, logs, groups and pools in a browser. The page of a server is at its address; over Temporal it is served on this computer, for you alone.',
    place: 'either',
    flags: [
      ['--no-open', 'print the link, and open no browser'],
      ['--port <number>', 'the port on this computer (default: one that is free)', wholeNumber(0, 65_535), 0],
    ],
    notes: `
The link is good once, for ten minutes: it gives the browser's tab what it needs, and other logins of this computer cannot use it. docs/page.md
shows the page.
`,
    examples: ['jobctl ui', 'jobctl ui --no-open --port 7481'],
    run: async () => (await import('./verbs/ui.js')).ui,
  }),
  defineVerb({
    name: 'access',
    description: "explain what a server's access table allows you",
    examples: ['jobctl access explain --job train-7f3k'],
    verbs: [
      defineVerb({
        name: 'explain',
        summary: 'see what you may do, and why not',
        description: 'Prints each verb with the role that allows it to you, or with who may.',
        place: 'either',
        flags: [
          ['--job <id>', 'with this job'],
          ['--project <name>', 'in this project'],
          ['--pool <name>', 'in this pool (default: default)'],
          ['--verb <verb>', 'this verb alone'],
          outputOption(),
        ],
        notes: `
Of a context that names a jobctl serve. docs/access.md has the table. Without --job it says what you may do with jobs of your own.
`,
        examples: ['jobctl access explain', 'jobctl access explain --job train-7f3k --verb cancel'],
        run: async () => (await import('./verbs/access.js')).explain,
      }),
    ],
  }),
];

/** The verb that a shell calls with the words before the cursor. `--help` hides it because it is not for people. */
export const COMPLETE_VERB = '__complete';

const SHELLS = ['bash', 'zsh', 'fish'] as const;
type Shell = (typeof SHELLS)[number];

/** The completion script of each shell. Without a candidate, shells complete file names; in zsh the script has to ask for it. */
const COMPLETION_SCRIPTS: Readonly<Record<Shell, string>> = {
  bash: `_jobctl() {
  local IFS=$'\\n'
  COMPREPLY=($(jobctl ${COMPLETE_VERB} "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _jobctl jobctl
`,
  zsh: `#compdef jobctl
_jobctl() {
  local -a found
  found=("\${(@f)$(jobctl ${COMPLETE_VERB} "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ -n "\${found[*]}" ]]; then compadd -a found; else _files; fi
}
compdef _jobctl jobctl
`,
  fish: `function __jobctl_complete
    set -l words (commandline -opc) (commandline -ct)
    set -l found (jobctl ${COMPLETE_VERB} $words[2..-1] 2>/dev/null)
    if test (count $found) -gt 0
        printf '%s\\n' $found
    else
        __fish_complete_path (commandline -ct)
    end
end
complete -c jobctl -f -a '(__jobctl_complete)'
`,
};

export const PROGRAM_VERBS: readonly Verb[] = [
  defineVerb({
    name: 'version',
    description: 'print the versions of jobctl, Node.js and the Temporal SDK',
    flags: [outputOption()],
    examples: ['jobctl version --output json'],
    run: async () => (await import('../terminal/version.js')).version,
  }),
  defineVerb({
    name: 'completion',
    summary: 'print the completion script of a shell',
    description: 'Prints the script that completes jobctl on the command line of a shell.',
    arguments: [new Argument('<shell>', 'the shell').choices(SHELLS)],
    notes: `
It completes verbs, flags, their values and, if a server answers within two seconds, ids of jobs.
`,
    examples: [
      'jobctl completion bash >> ~/.bashrc',
      'jobctl completion zsh >> ~/.zshrc         behind compinit',
      'jobctl completion fish > ~/.config/fish/completions/jobctl.fish',
    ],
    run: () => (shell: Shell) => void process.stdout.write(COMPLETION_SCRIPTS[shell]),
  }),
];

/** Normalizes an origin as a browser writes it: scheme, host and port only. */
function origins(text: string, before: readonly string[] = []): readonly string[] {
  if (URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)) return [...before, new URL(text).origin];
  throw new InvalidArgumentError('an origin such as http://127.0.0.1:8233.');
}

type Told = Pick<Verb, 'summary' | 'description' | 'examples'>;

/** @param flags the verb's own, in addition to those of all machine verbs */
const machineVerb = (name: MachineVerb, words: string, flags: readonly Flag[], told: Told): Verb =>
  defineVerb({
    name,
    ...told,
    place: { temporal: "it asks a worker about a pool's own machines, which is for its operators" },
    arguments: [[words]],
    flags: [['--pool <name>', 'the pool', undefined, 'default'], outputOption(), ...flags],
    run: async () => {
      const { machines } = await import('./verbs/machines.js');
      return (named: string | readonly string[], given: MachinesFlags) => machines(name, [named].flat(), given);
    },
  });

export const MACHINES = defineVerb({
  name: 'machines',
  description: "show and change a pool's own machines",
  notes: `
The machines are named in the pool file ([[machines]]); docs/own-machines.md has the rules. A worker reaches them and answers.
`,
  examples: ['jobctl machines ls', 'jobctl machines check rack-3'],
  verbs: [
    machineVerb('ls', '[machines...]', [], {
      summary: 'show machines, and who holds them',
      description: 'Looks at each machine over SSH, and shows who holds it, or why it is not used.',
      examples: ['jobctl machines ls --pool lab --output json'],
    }),
    machineVerb('check', '[machines...]', [BY], {
      summary: 'inspect machines that nobody holds',
      description:
        'Inspects machines that no slice holds: reach, disk, driver, devices, their own check. Those that are well and were put aside are used again. What an ended slice left on them is ended.',
      examples: ['jobctl machines check rack-3'],
    }),
    machineVerb('drain', '<machines...>', [BY, ['--reason <text>', 'why, for others']], {
      summary: 'begin nothing more on machines',
      description: 'A job that runs on a drained machine goes on; no other begins there until it is undrained.',
      examples: ["jobctl machines drain rack-3 --reason 'new power supply'"],
    }),
    machineVerb('undrain', '<machines...>', [BY], {
      summary: 'use drained machines again',
      description: 'Ends the drain of machines.',
      examples: ['jobctl machines undrain rack-3'],
    }),
    machineVerb('forget', '<machines...>', [BY], {
      summary: 'say that silent machines are off',
      description:
        'Says that machines which do not answer are off, so that jobctl stops waiting for them and their jobs start elsewhere. If one is not off, its command may run twice. It is used again only after a check, which ends what it still runs.',
      examples: ['jobctl machines forget rack-3'],
    }),
    machineVerb(
      'release',
      '<machine>',
      [BY, new Option('--claim <id>', 'the claim that is removed').makeOptionMandatory()],
      {
        summary: 'end what a lost installation left on a machine',
        description:
          'Ends what runs on a machine under a claim that nobody looks after any more, such as that of a stack whose data were removed, and removes the claim. The claim must be named as `machines ls` shows it, so that no other is removed. One that a job of this pool has is refused.',
        examples: ['jobctl machines release rack-3 --claim 0b9e3f0c-5a44-4a63-9d3b-0c8e3c1f2a77'],
      },
    ),
  ],
});
