import { fileErrorWords } from '../../../domain/error-words.js';
import { fchmodSync, fstatSync, readFileSync, writeFileSync } from 'node:fs';
import { newCodecKey } from '../../../cloud/codec/codec-key.js';
import { CliError } from '../cli-error.js';
import { type ContextFlags, resolveContext } from '../context.js';
import { ExitCode } from '../exit-codes.js';
import { watchEnd } from '../watch/interruptions.js';

export interface NewKeyFlags {
  readonly file?: string;
  readonly id?: string;
}

const OWNER_ALONE = 0o600;

export function newKey({ file, id }: NewKeyFlags): number {
  const line = `${newCodecKey(new Date(), id)}\n`;
  if (file === undefined) {
    // `jobctl codec new-key > key`: the shell made the file for everybody to read.
    if (fstatSync(process.stdout.fd).isFile()) fchmodSync(process.stdout.fd, OWNER_ALONE);
    process.stdout.write(line);
    return ExitCode.Done;
  }
  try {
    writeFileSync(file, line, { mode: OWNER_ALONE, flag: 'wx' });
  } catch (error) {
    const isThere = (error as NodeJS.ErrnoException).code === 'EEXIST';
    const why = isThere ? 'is there already, and a key that is lost cannot be had back' : fileErrorWords(error);
    throw new CliError(isThere ? ExitCode.Refused : ExitCode.Usage, `${file}: ${why}`, 'name another file');
  }
  process.stderr.write(`${file}: key ${line.split(':')[0]}; keep a copy in another place\n`);
  return ExitCode.Done;
}

export interface ServeFlags extends Pick<ContextFlags, 'codecKey' | 'codecDecodeKeys'> {
  readonly port: number;
  readonly host: string;
  readonly uiOrigin?: readonly string[];
  readonly tokenFile?: string;
  readonly allowEncode?: true;
}

/** Until Ctrl-C or SIGTERM. */
export async function serve(flags: ServeFlags): Promise<number> {
  const { temporal, uiUrl } = resolveContext(flags);
  if (temporal.codec === undefined) {
    const what = 'jobctl codec serve: no key is given';
    throw new CliError(ExitCode.Usage, what, 'name it with --codec-key or JOBCTL_CODEC_KEY, such as file:///PATH');
  }
  const uiOrigins = originsOf(flags.uiOrigin ?? (uiUrl === undefined ? [] : [new URL(uiUrl).origin]));
  const token = tokenOf(flags);
  const [{ startCodecServer }, { openCodec }] = await Promise.all([
    import('../codec/codec-server.js'),
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

/** A UI on loopback is opened under either name. */
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

/** @throws CliError: what is decoded must not be there for a whole network. */
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
