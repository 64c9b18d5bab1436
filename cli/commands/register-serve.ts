import type { Command } from 'commander';
import type { Invocation } from '../terminal/options.js';
import type { NewKeyFlags, ServeFlags } from './verbs/serve.js';

const SERVE_NOTES = `
It prints its address when it listens, and ends at SIGTERM. Any number of replicas may run behind one address. Where Temporal is, TLS and
API keys come from its configuration and TEMPORAL_* variables. docs/serve.md lists every field; docs/access.md says who may do what.

Examples:
  jobctl serve new-key --file /etc/jobctl/serve-key.pem
  jobctl serve --config /etc/jobctl/serve.json
`;

const NEW_KEY_NOTES = `
The server signs what it starts with FILE. Workers of pools in verified mode verify with FILE.pub (verified.serverKeys).

Example:
  jobctl serve new-key --file /etc/jobctl/serve-key.pem
`;

/** Registers `serve`, the HTTP API of an installation. */
export function registerServe(program: Command, invocation: Invocation): void {
  const serve = program
    .command('serve')
    .summary('run the HTTP server, which verifies who submits')
    .description(
      'Runs the HTTP server of an installation: it verifies logins, decides who may do what, and starts jobs for verified users.',
    )
    .option('--config <file>', 'the configuration file (JSON)')
    .addHelpText('after', SERVE_NOTES)
    .action(async (flags: ServeFlags) => {
      const verb = await import('./verbs/serve.js');
      invocation.exitCode = await verb.serve(flags);
    });
  serve
    .command('new-key')
    .description('Makes the key pair that a server signs submissions with.')
    .requiredOption('--file <file>', 'where the private key is to be; its public half is FILE.pub')
    .addHelpText('after', NEW_KEY_NOTES)
    .action(async (flags: NewKeyFlags) => {
      const verb = await import('./verbs/serve.js');
      invocation.exitCode = verb.newKey(flags);
    });
}
