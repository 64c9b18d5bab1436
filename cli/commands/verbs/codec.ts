import { fileErrorWords } from '../../../domain/error-words.js';
import { readFileSync } from 'node:fs';
import { newCodecKey } from '../../../cloud/codec/codec-key.js';
import { CliError, ExitCode } from '../../terminal/cli-error.js';
import { type ContextFlags, resolveContext } from '../../place/context.js';
import { writeNewKey } from '../../terminal/file-on-disk.js';
import { watchEnd } from '../../jobs/watch/interruptions.js';

export interface NewKeyFlags {
  readonly file?: string;
  readonly id?: string;
}

export function newKey({ file, id }: NewKeyFlags): number {
  writeNewKey(newCodecKey(new Date(), id), file);
  return ExitCode.Done;
}

export interface ServeFlags extends Pick<ContextFlags, 'codecKey' | 'codecDecodeKeys'> {
  readonly port: number;
  readonly host: string;
  readonly uiOrigin?: readonly string[];
  readonly tokenFile?: string;
  readonly allowEncode?: true;
}

/** Runs until Ctrl-C or SIGTERM. */
export async function serve(flags: ServeFlags): Promise<number> {
  const { temporal, uiUrl } = resolveContext(flags);
  if (temporal.codec === undefined) {
    const what = 'jobctl codec serve: no key is given';
    throw new CliError(ExitCode.Usage, what, 'name it with --codec-key or JOBCTL_CODEC_KEY, such as file:///PATH');
  }
  const uiOrigins = originsOf(flags.uiOrigin ?? (uiUrl === undefined ? [] : [new URL(uiUrl).origin]));
  const token = tokenOf(flags);
  const [{ startCodecServer }, { openCodec }] = await Promise.all([
    import('../../local/codec/codec-server.js'),
    import('../../../cloud/codec/open-codec.js'),
  ]);
  const codec = await openCodec(temporal.codec, { onUnknownKey: 'mark' });
  const end = watchEnd();
  const { host, port, allowEncode = false } = flags;
  const server = await startCodecServer({ codec, host, port, uiOrigins, token, isEncoding: allowEncode });
  process.stdout.write(`http://${host}:${server.port}\n`);
  process.stderr.write(`codec server for ${uiOrigins.join(', ')}; Ctrl-C ends it\n`);
  await new Promise<void>((resolve) => end.addEventListener('abort', () => resolve(), { once: true }));
  await server.close();
  return ExitCode.Done;
}

/** Adds both names of a loopback origin, because a UI may be opened under either. */
function originsOf(given: readonly string[]): readonly string[] {
  if (given.length === 0) {
    const what = "jobctl codec serve: the Web UI's origin is not known";
    throw new CliError(ExitCode.Usage, what, 'name it with --ui-origin, such as http://127.0.0.1:8233');
  }
  const twins = given.flatMap((origin) => [
    origin,
    origin.replace('//127.0.0.1:', '//localhost:'),
    origin.replace('//localhost:', '//127.0.0.1:'),
  ]);
  return [...new Set(twins)];
}

const LOOPBACK = /^(127\.|::1$|localhost$)/;
const SHORTEST_TOKEN = 16;

/** @throws CliError if a host other than loopback would decode for a whole network without a token */
function tokenOf({ tokenFile, host }: ServeFlags): string | undefined {
  if (tokenFile === undefined) {
    if (LOOPBACK.test(host)) return undefined;
    const what = `jobctl codec serve: --host ${host} would decode for everybody who reaches it`;
    throw new CliError(ExitCode.Usage, what, 'give --token-file too, and put TLS in front of it');
  }
  let token: string;
  try {
    token = readFileSync(tokenFile, 'utf8').trim();
  } catch (error) {
    throw new CliError(ExitCode.Usage, `--token-file ${tokenFile}: ${fileErrorWords(error)}`);
  }
  if (token.length >= SHORTEST_TOKEN) return token;
  const short = `--token-file ${tokenFile}: the token has ${token.length} characters, fewer than ${SHORTEST_TOKEN}`;
  throw new CliError(ExitCode.Usage, short, 'make one: openssl rand -hex 32');
}
