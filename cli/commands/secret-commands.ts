import type { Command } from 'commander';
import { type Invocation, outputOption } from '../terminal/options.js';
import type { SecretFlags, SecretListFlags, SecretPutFlags } from './verbs/secret.js';

const NOTES = `
Values come from a file or through a pipe, never as a word of the command line, and no verb shows one. A job names a secret, and
gets its value at each start of its command: secrets: {WANDB_API_KEY: wandb}, ssh: {private_key: secret:my-key}. docs/secrets.md

Examples:
  jobctl secret put wandb --from-file ~/.wandb-key
  jobctl secret put my-key --from-file ~/.ssh/id_ed25519
  jobctl secret ls
`;

/** Registers `jobctl secret put | ls | rm`. */
export function registerSecret(program: Command, invocation: Invocation): void {
  const secret = program.command('secret').description('keep tokens and keys for jobs').addHelpText('after', NOTES);
  withStore(secret.command('put'))
    .description('Stores a value under a name, and replaces an earlier one.')
    .argument('<name>', 'the name that job files use')
    .option('--from-file <file>', 'the file with the value (default: standard input)')
    .addHelpText('after', '\nExample:\n  jobctl secret put wandb --from-file ~/.wandb-key\n')
    .action(async (name: string, flags: SecretPutFlags) => {
      const { secretPut } = await import('./verbs/secret.js');
      invocation.exitCode = await secretPut(name, flags);
    });
  withStore(secret.command('ls'))
    .alias('list')
    .description('Lists names, fingerprints and times, never values. A `jobctl serve` lists those that you may use.')
    .option('--server <url>', 'JOBCTL_SERVER: ask this `jobctl serve`')
    .option('--project <project>', 'of this quota project, from a server (default: of the context)')
    .addHelpText('after', '\nExample:\n  jobctl secret ls\n')
    .action(async (flags: SecretListFlags) => {
      const { secretList } = await import('./verbs/secret.js');
      invocation.exitCode = await secretList(flags);
    });
  withStore(secret.command('rm'))
    .alias('delete')
    .description('Removes a secret. Running commands keep its value; the next start of a command that names it fails.')
    .argument('<name>', 'as `jobctl secret ls` shows it')
    .addHelpText('after', '\nExample:\n  jobctl secret rm wandb\n')
    .action(async (name: string, flags: SecretFlags) => {
      const { secretRemove } = await import('./verbs/secret.js');
      invocation.exitCode = await secretRemove(name, flags);
    });
}

function withStore(command: Command): Command {
  return command
    .option('--context <name>', 'use the secret store of this context')
    .option('--secret-store <place>', 'JOBCTL_SECRET_STORE: the store of the workers, projects/P or file:///FOLDER')
    .addOption(outputOption());
}
