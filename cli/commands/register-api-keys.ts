import { type Command, Option } from 'commander';
import { durationOption, type Invocation, outputOption, wholeNumber } from '../terminal/options.js';
import type { SetupApiKeysFlags } from './verbs/setup-api-keys.js';

const API_KEYS_NOTES = `
A Temporal server with its own authorizer takes a call only with an API key that these keys have signed. Repeated, the command makes new
API keys, which workers and servers read by themselves. docs/security.md leads through it; docker-compose.verified.yml has the server's
part.

Examples:
  jobctl setup api-keys --folder api-keys --namespace tpu
  jobctl setup api-keys --folder api-keys --namespace tpu --rotate
  sudo jobctl setup api-keys --folder api-keys --namespace default --for-uid 1000
`;

const API_KEY_LIFE_MS = 90 * 86_400_000;

/** The largest uid; the next one, (uid_t)-1, means no user. */
const MOST_UID = 4_294_967_294;

/** Registers `jobctl setup api-keys`. */
export function registerApiKeys(setup: Command, invocation: Invocation): void {
  setup
    .command('api-keys')
    .summary('make API keys for a Temporal server with its own authorizer')
    .description(
      'Makes API keys for workers, servers and people, and the public key set by which a Temporal server verifies them.',
    )
    .requiredOption('--folder <folder>', 'where they are kept, a folder for each holder')
    .option('--namespace <name>', 'the namespace that they give rights in (TEMPORAL_NAMESPACE, else default)')
    .addOption(
      new Option('--valid-for <duration>', 'how long the API keys are good')
        .argParser(durationOption)
        .default(API_KEY_LIFE_MS, '90d'),
    )
    .addOption(
      new Option(
        '--for-uid <uid>',
        "give the folders to this account, such as 1000 of docker compose's containers",
      ).argParser(wholeNumber(0, MOST_UID)),
    )
    .option('--rotate', 'sign with another key; API keys of the one before stay good until the next rotation')
    .addOption(outputOption())
    .addHelpText('after', API_KEYS_NOTES)
    .action(async (flags: SetupApiKeysFlags) => {
      const { setupApiKeys } = await import('./verbs/setup-api-keys.js');
      invocation.exitCode = setupApiKeys(flags);
    });
}
