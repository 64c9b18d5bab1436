import { InvalidArgumentError, type Command } from 'commander';
import { type Invocation, wholeNumber } from '../terminal/options.js';
import type { NewKeyFlags, ServeFlags } from './verbs/codec.js';

const SERVE_NOTES = `
In the Web UI, click the glasses at the top right ("Codec Server") and enter the address that is printed. docs/encryption.md says who can
call it.

Examples:
  jobctl codec serve
  jobctl codec serve --codec-key file:///etc/jobctl/codec-key --ui-origin https://temporal.example.com
`;

/** Adds `codec new-key | serve`. Each verb loads its modules when it is used. */
export function registerCodec(program: Command, invocation: Invocation): void {
  const codec = program.command('codec').description('encrypt what Temporal stores');
  codec.addHelpText('after', '\nExample:\n  jobctl codec new-key --file codec-key\n');
  codec
    .command('new-key')
    .summary('make a key for the payload codec')
    .description(
      'Makes a new key, on stdout or in a file that only you can read. Keep a copy: without the key, encrypted data is lost.',
    )
    .option('--file <file>', 'the file to make; an existing file is not touched')
    .option('--id <id>', 'its id, readable in each payload (the day and some digits)')
    .addHelpText('after', '\nExample:\n  jobctl codec new-key --file codec-key\n')
    .action(async (flags: NewKeyFlags) => {
      const { newKey } = await import('./verbs/codec.js');
      invocation.exitCode = newKey(flags);
    });
  codec
    .command('serve')
    .summary("decode payloads for Temporal's Web UI")
    .description("Runs a codec server, which decrypts payloads for Temporal's Web UI and the temporal command.")
    .option('--port <number>', 'the port to listen on', wholeNumber(0, 65_535), 8081)
    .option('--host <address>', 'the address to listen on; any but loopback needs --token-file', '127.0.0.1')
    .option('--ui-origin <origin>', "the origin of the Web UI (default: the local stack's); may be repeated", origins)
    .option('--token-file <file>', 'require Authorization: Bearer with the text of this file')
    .option('--allow-encode', 'answer /encode too')
    .option('--codec-key <reference>', 'JOBCTL_CODEC_KEY: file:///PATH, env:NAME or a secret version')
    .option('--codec-decode-keys <references>', 'JOBCTL_CODEC_DECODE_KEYS: older keys, separated by commas')
    .addHelpText('after', SERVE_NOTES)
    .action(async (flags: ServeFlags) => {
      const { serve } = await import('./verbs/codec.js');
      invocation.exitCode = await serve(flags);
    });
}

/** Normalizes an origin as a browser writes it: scheme, host and port only. */
function origins(text: string, before: readonly string[] = []): readonly string[] {
  if (URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)) return [...before, new URL(text).origin];
  throw new InvalidArgumentError('an origin such as http://127.0.0.1:8233.');
}
