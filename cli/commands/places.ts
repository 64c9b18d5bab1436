import { collect, type Flag, outputOption } from '../terminal/options.js';
import { SETTINGS } from '../terminal/settings.js';
import { asTyped } from '../terminal/print.js';
import { defineVerb, type Verb } from './define-verb.js';

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

const STORE_FLAGS: readonly Flag[] = [
  ['--context <name>', 'use the secret store of this context'],
  ['--secret-store <place>', 'JOBCTL_SECRET_STORE: the store of the workers, projects/P or file:///FOLDER'],
];

/** Verbs about the servers that jobctl talks to, the user's identity there, and the secrets of jobs. */
export const PLACE_VERBS: readonly Verb[] = [
  defineVerb({
    name: 'context',
    description: 'name the servers that jobctl talks to',
    notes: `
A context names a jobctl serve, or a Temporal server, and what belongs to it: namespace, bucket, task queue, TLS, an API key by reference, your user name
and quota project. Contexts are in ~/.config/jobctl/contexts.toml (XDG_CONFIG_HOME). \`jobctl help where\` says which setting wins.
`,
    examples: [
      'jobctl context set team --server https://jobctl.example.com && jobctl login',
      'jobctl context set prod --temporal-address temporal.example.com:7233 --namespace ml --bucket ml-jobs',
      'jobctl context use prod',
      'jobctl list --context local',
    ],
    verbs: [
      defineVerb({
        name: 'ls',
        aliases: ['list'],
        description: 'Lists the contexts, and the local stack. * is the one in use.',
        flags: [outputOption()],
        examples: ['jobctl context ls'],
        run: async () => (await import('./verbs/context.js')).contextList,
      }),
      defineVerb({
        name: 'use',
        description: 'Selects the context that commands use.',
        arguments: [['<context>', 'its name; local is the local stack']],
        examples: ['jobctl context use prod'],
        run: async () => (await import('./verbs/context.js')).contextUse,
      }),
      defineVerb({
        name: 'show',
        description:
          'Shows what the next command would use and where each setting comes from; with a name, that context.',
        place: 'none',
        arguments: [['[context]', 'its name']],
        flags: [outputOption()],
        examples: ['jobctl context show'],
        run: async () => (await import('./verbs/context.js')).contextShow,
      }),
      defineVerb({
        name: 'set',
        description: 'Makes a context, or changes the settings that the flags name. The first context is used at once.',
        arguments: [['<context>', 'its name']],
        flags: [
          ...SETTINGS.map(({ flag, value, what }): Flag => [`--${flag}${value === '' ? '' : ` ${value}`}`, what]),
          ['--unset <key>', 'remove a setting, such as tls_ca_file; may be repeated', collect],
        ],
        examples: [
          'jobctl context set team --server https://jobctl.example.com',
          'jobctl context set prod --temporal-address temporal.example.com:7233 --namespace ml --bucket ml-jobs --user alice',
          'jobctl context set cloud --temporal-address ml.a1b2c.tmprl.cloud:7233 --namespace ml.a1b2c --api-key env:TEMPORAL_CLOUD_KEY',
          'jobctl context set prod --tls-cert-file ~/certs/me.pem --tls-key-file ~/certs/me.key',
        ],
        run: async () => (await import('./verbs/context.js')).contextSet,
      }),
      defineVerb({
        name: 'rm',
        aliases: ['delete'],
        description: 'Removes a context. Nothing on its server is changed.',
        arguments: [['<context>', 'its name']],
        examples: ['jobctl context rm prod'],
        run: async () => (await import('./verbs/context.js')).contextRemove,
      }),
    ],
  }),
  defineVerb({
    name: 'login',
    summary: 'log in at a server',
    description: 'Logs you in at a `jobctl serve`, by its OpenID Connect issuer.',
    place: 'none',
    flags: [
      ['--device', 'show an address and a code for another browser'],
      ['--id-token-from <way>', 'gcloud, file:/PATH or env:NAME: the ID token is read there each time'],
      ['--print-token', 'print a valid ID token of your login, for other programs, and log nobody in'],
      ['--audience <id>', 'whom tokens for this server are made for (default: what you agree to at the first login)'],
      ['--issuer <url>', 'the issuer, if the server accepts several (default: its first)'],
      outputOption(),
    ],
    notes: `
A browser opens at the issuer of the server, such as Google, and comes back to this computer. Where there is no browser or no terminal,
and with --device, jobctl prints an address and a code for the browser of any computer. The login is renewed as long as the issuer
permits. Tokens are kept in a file that only you can read (~/.local/state/jobctl-login). docs/login.md

A token is good wherever its audience (the client of a login in a browser) is accepted. The server names one, and you are shown or
asked whether it is that server's, once: the context keeps it. One that another server of yours has is refused.

--id-token-from stores no token: gcloud, the file or the variable is asked each time.
`,
    examples: [
      'jobctl login',
      'jobctl login --context team --device',
      'jobctl login --server https://jobctl.example.com --id-token-from gcloud --audience https://jobctl.example.com',
      'jobctl login --id-token-from file:/var/run/secrets/tokens/jobctl',
      'curl -H "Authorization: Bearer $(jobctl login --print-token)" https://jobctl.example.com/v1/jobs',
    ],
    run: async () => (await import('./verbs/login.js')).login,
  }),
  defineVerb({
    name: 'logout',
    summary: 'forget the login at a server',
    description: 'Removes your tokens for a `jobctl serve` from this computer.',
    place: 'none',
    flags: [outputOption()],
    notes: `
Jobs continue. The issuer is told, if it takes that.
`,
    examples: ['jobctl logout --context team'],
    run: async () => (await import('./verbs/login.js')).logout,
  }),
  defineVerb({
    name: 'whoami',
    summary: 'show whom the server knows you as',
    description: 'Shows whom a server knows you as: name, groups, issuer, and when the token ends.',
    place: 'either',
    flags: [outputOption()],
    notes: `
Without a jobctl serve, nobody verifies who you are, and it says so.
`,
    examples: ['jobctl whoami --context team'],
    run: async () => (await import('./verbs/login.js')).whoami,
  }),
  defineVerb({
    name: 'secret',
    description: 'keep tokens and keys for jobs',
    notes: `
Values come from a file or through a pipe, never as a word of the command line, and no verb shows one. A job names a secret, and
gets its value at each start of its command: secrets: {WANDB_API_KEY: wandb}, ssh: {private_key: secret:my-key}. docs/secrets.md
`,
    examples: [
      'jobctl secret put wandb --from-file ~/.wandb-key',
      'jobctl secret put my-key --from-file ~/.ssh/id_ed25519',
      'jobctl secret ls',
    ],
    verbs: [
      defineVerb({
        name: 'put',
        description: 'Stores a value under a name, and replaces an earlier one.',
        place: 'none',
        arguments: [['<name>', 'the name that job files use']],
        flags: [
          ...STORE_FLAGS,
          outputOption(),
          ['--from-file <file>', 'the file with the value (default: standard input)'],
        ],
        examples: ['jobctl secret put wandb --from-file ~/.wandb-key'],
        run: async () => (await import('./verbs/secret.js')).secretPut,
      }),
      defineVerb({
        name: 'ls',
        aliases: ['list'],
        description:
          'Lists names, fingerprints and times, never values. A `jobctl serve` lists those that you may use.',
        place: 'either',
        flags: [
          ...STORE_FLAGS,
          outputOption(),
          ['--server <url>', 'JOBCTL_SERVER: ask this `jobctl serve`'],
          ['--project <project>', 'of this quota project, from a server (default: of the context)'],
        ],
        examples: ['jobctl secret ls'],
        run: async () => (await import('./verbs/secret.js')).secretList,
      }),
      defineVerb({
        name: 'rm',
        aliases: ['delete'],
        description:
          'Removes a secret. Running commands keep its value; the next start of a command that names it fails.',
        place: 'none',
        arguments: [['<name>', 'as `jobctl secret ls` shows it']],
        flags: [...STORE_FLAGS, outputOption()],
        examples: ['jobctl secret rm wandb'],
        run: async () => (await import('./verbs/secret.js')).secretRemove,
      }),
    ],
  }),
];
