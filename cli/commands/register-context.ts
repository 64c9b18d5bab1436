import { type Command, Option } from 'commander';
import { collect, type Invocation, outputOption, withConnection } from '../terminal/options.js';
import { SETTINGS } from '../terminal/settings.js';
import { asTyped } from '../terminal/typed-command.js';
import type { ContextSetFlags } from './verbs/context.js';
import type { ContextFlags } from '../place/context.js';
import type { OutputFlag } from '../terminal/options.js';

/** The text of `jobctl help where`, also in docs/cli.md. */
export const whereText = (): string =>
  asTyped(`Where a command talks to: the first of these that names a server.

  1. flags                  --server URL, --temporal-address HOST:PORT, and --context NAME for one command
  2. the environment        JOBCTL_SERVER, TEMPORAL_ADDRESS, TEMPORAL_PROFILE, TEMPORAL_CONFIG_FILE
  3. JOBCTL_CONTEXT         a context
  4. JOBCTL_HOME            the local stack in it, if the variable is set and a stack is there
  5. a context              the one of \`jobctl context use\`
  6. Temporal's profile     the profile default of Temporal's own temporal.toml
  7. the local stack        if \`jobctl dev up\` or \`submit --local\` made one; as a context it is \`local\`

If none does, the command says so and does nothing. A context, profile or stack of another server than the one that is used is
passed over as a whole. \`jobctl context show\` prints every setting, where it comes from, and what it wins over.

Flags of every verb that talks to a server:
${SETTINGS.filter(({ isFlag }) => isFlag)
  .map(({ flag, value, variable = '', what }) => `  ${`--${flag} ${value}`.padEnd(36)} ${variable.padEnd(26)} ${what}`)
  .join('\n')}

TLS and API keys are in a context (as files and references), or in Temporal's own variables and profiles (TEMPORAL_TLS_*,
TEMPORAL_API_KEY).
`);

const NOTES = `
A context names a jobctl serve, or a Temporal server, and what belongs to it: namespace, bucket, task queue, TLS, an API key by reference, your user name
and quota project. Contexts are in ~/.config/jobctl/contexts.toml (XDG_CONFIG_HOME). \`jobctl help where\` says which setting wins.

Examples:
  jobctl context set team --server https://jobctl.example.com && jobctl login
  jobctl context set prod --temporal-address temporal.example.com:7233 --namespace ml --bucket ml-jobs
  jobctl context use prod
  jobctl list --context local
`;

/** Registers `jobctl context ls | use | show | set | rm`. */
export function registerContext(program: Command, invocation: Invocation): void {
  const context = program
    .command('context')
    .description('name the servers that jobctl talks to')
    .addHelpText('after', NOTES);
  context
    .command('ls')
    .alias('list')
    .description('Lists the contexts, and the local stack. * is the one in use.')
    .addOption(outputOption())
    .addHelpText('after', '\nExample:\n  jobctl context ls\n')
    .action(async (flags: OutputFlag) => {
      const { contextList } = await import('./verbs/context.js');
      invocation.exitCode = contextList(flags);
    });
  context
    .command('use')
    .description('Selects the context that commands use.')
    .argument('<context>', 'its name; local is the local stack')
    .addHelpText('after', '\nExample:\n  jobctl context use prod\n')
    .action(async (name: string) => {
      const { contextUse } = await import('./verbs/context.js');
      invocation.exitCode = contextUse(name);
    });
  withConnection(
    context
      .command('show')
      .description(
        'Shows what the next command would use and where each setting comes from; with a name, that context.',
      )
      .argument('[context]', 'its name')
      .addOption(outputOption())
      .addHelpText('after', '\nExample:\n  jobctl context show\n'),
  ).action(async (name: string | undefined, flags: OutputFlag & ContextFlags) => {
    const { contextShow } = await import('./verbs/context.js');
    invocation.exitCode = contextShow(name, flags);
  });
  registerSet(context, invocation);
  context
    .command('rm')
    .alias('delete')
    .description('Removes a context. Nothing on its server is changed.')
    .argument('<context>', 'its name')
    .addHelpText('after', '\nExample:\n  jobctl context rm prod\n')
    .action(async (name: string) => {
      const { contextRemove } = await import('./verbs/context.js');
      invocation.exitCode = contextRemove(name);
    });
}

function registerSet(context: Command, invocation: Invocation): void {
  const command = context
    .command('set')
    .description('Makes a context, or changes the settings that the flags name. The first context is used at once.')
    .argument('<context>', 'its name');
  for (const { flag, value, what } of SETTINGS)
    command.addOption(new Option(`--${flag}${value === '' ? '' : ` ${value}`}`, what));
  command
    .option('--unset <key>', 'remove a setting, such as tls_ca_file; may be repeated', collect)
    .addHelpText(
      'after',
      `
Examples:
  jobctl context set team --server https://jobctl.example.com
  jobctl context set prod --temporal-address temporal.example.com:7233 --namespace ml --bucket ml-jobs --user alice
  jobctl context set cloud --temporal-address ml.a1b2c.tmprl.cloud:7233 --namespace ml.a1b2c --api-key env:TEMPORAL_CLOUD_KEY
  jobctl context set prod --tls-cert-file ~/certs/me.pem --tls-key-file ~/certs/me.key
`,
    )
    .action(async (name: string, flags: ContextSetFlags) => {
      const { contextSet } = await import('./verbs/context.js');
      invocation.exitCode = contextSet(name, flags);
    });
}
