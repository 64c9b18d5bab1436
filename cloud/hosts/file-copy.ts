import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { shellPath } from '../../domain/shell-quote.js';
import type { FileSource } from '../../domain/local-files.js';
import { quotedName } from '../../domain/outside-text.js';
import { helperCommand } from './login-shell.js';
import { afterMark, PRINT_MARK, wholeOf, type ExecOptions, type ExecResult, type HostLink } from './remote-exec.js';
import { type GetFileOptions, type PutFileOptions, type ReceivedFile, HostFileError, HostUnreachable } from './port.js';
import { lastWord } from './runner-client.js';

/** Files up to this size are sent at once, in one round trip. Asking for the part that is already there costs a second. */
const UNASKED_BYTES = 128 * 1024;
/** Number of consecutive cuts without a further byte at which a copy fails. */
const TRIES_WITHOUT_PROGRESS = 5;
const PAUSE_MS = 300;

/** Implements `HostConnection.putFile` over one link. The partial file stays on the host, named by path and content. */
export async function putFile(
  link: HostLink,
  content: FileSource | Buffer,
  path: string,
  { mode, signal }: PutFileOptions,
): Promise<'unchanged' | 'done'> {
  const source = Buffer.isBuffer(content) ? bufferSource(content) : content;
  const place = { path: shellPath(path), part: partName(path, source.sha256), mode, ...source };
  let offset = 0;
  let isAsked = source.size <= UNASKED_BYTES;
  return overCuts(signal, async (progress) => {
    if (!isAsked) {
      const there = await say(link, path, sizeScript(place), { signal });
      if (there === 'unchanged') return there;
      offset = Math.min(Number(there), source.size);
      progress(offset);
      isAsked = true;
    }
    // After a cut the number of bytes that arrived is unknown.
    isAsked = false;
    const said = await say(link, path, putScript(place, offset), { stdin: source.read(offset), signal });
    if (said === 'unchanged' || said === 'done') return said;
    throw new HostFileError(`${link.where}: '${path}': ${said}; copy it again`);
  });
}

/** Implements `HostConnection.getFile` over one link. */
export async function getFile(
  link: HostLink,
  path: string,
  onChunk: (chunk: Buffer) => void | Promise<void>,
  { signal, most }: GetFileOptions,
): Promise<ReceivedFile> {
  const hash = createHash('sha256');
  const wrong = (what: string): HostFileError => new HostFileError(`${link.where}: '${path}' ${what}; copy it again`);
  let offset = 0;
  let first: string | undefined;
  return overCuts(signal, async (progress) => {
    progress(offset);
    const onStdout = afterMark(async (chunk) => {
      if (offset + chunk.length > most) throw wrong(`sends more than ${most} bytes, which is its size`);
      await onChunk(chunk);
      hash.update(chunk);
      offset += chunk.length;
    });
    const facts = await say(link, path, getScript(shellPath(path), offset, most), { onStdout, signal });
    if (first !== undefined && first !== facts) throw wrong('changed while it was copied');
    first = facts;
    const [, size, mode, sha256] = /^(\d{1,15}) ([0-7]{1,4}) ([0-9a-f]{64})$/.exec(facts) ?? [];
    if (size === undefined || mode === undefined || sha256 === undefined)
      throw wrong(`has no size, mode and sha256: the host says ${quotedName(facts)}`);
    if (offset !== Number(size) || hash.copy().digest('hex') !== sha256) throw wrong('changed while it was copied');
    return { size: offset, mode: Number.parseInt(mode, 8) & 0o777, sha256 };
  });
}

/** Most bytes of stdout of a script whose stdout is not read: login files may greet. */
const MOST_UNASKED_BYTES = 64 * 1024;
const ENDLESS = 'the host prints more than it was asked for';

/** Runs one of these scripts and returns its last word. If it failed, the error contains the script's own text. */
export async function say(link: HostLink, path: string, script: string, options: ExecOptions): Promise<string> {
  let unasked = 0;
  const onStdout = (chunk: Buffer): void => {
    unasked += chunk.length;
    if (unasked > MOST_UNASKED_BYTES) throw new HostFileError(`${link.where}: '${path}': ${ENDLESS}`);
  };
  const result = await link.exec(helperCommand(script), { onStdout, ...options });
  const said = lastWord(result.stderr);
  if (result.code === 0 && said !== undefined) return said;
  // Killed from outside, like all processes of a host that shuts down.
  if (result.code === undefined || result.code > 128) throw new HostUnreachable(explained(link, path, result));
  throw new HostFileError(explained(link, path, result));
}

function explained({ where }: HostLink, path: string, { code, signal, stderr }: ExecResult): string {
  const ended = code === undefined ? `signal ${signal ?? 'unknown'}` : `code ${code}`;
  return `${where}: '${path}': ${stderr.trim().slice(-500) || `the copy ended with ${ended}`}`;
}

/** Repeats the copy after each loss of the connection, as long as each repetition brings further bytes. */
export async function overCuts<T>(
  signal: AbortSignal,
  copy: (progress: (offset: number) => void) => Promise<T>,
): Promise<T> {
  let best = -1;
  let tries = 0;
  const progress = (offset: number): void => {
    if (offset > best) tries = 0;
    best = Math.max(best, offset);
  };
  for (;;) {
    try {
      return await copy(progress);
    } catch (error) {
      tries += 1;
      if (!(error instanceof HostUnreachable) || tries >= TRIES_WITHOUT_PROGRESS) throw error;
      await sleep(PAUSE_MS * tries, undefined, { signal });
    }
  }
}

function bufferSource(content: Buffer): FileSource {
  return {
    size: content.length,
    sha256: createHash('sha256').update(content).digest('hex'),
    read: async function* (start) {
      yield content.subarray(start);
    },
  };
}

/** A file that is being copied to a host. */
export interface FilePlace {
  /** A path in the shell's syntax. */
  readonly path: string;
  /** Name of the partial file, in the same folder. */
  readonly part: string;
  readonly size: number;
  readonly sha256: string;
  readonly mode: number;
}

/**
 * The name is derived from path and content, so every writer of this part writes the same bytes at the same offsets. A cut copy
 * that still runs on the host therefore does no harm to its successor.
 */
export function partName(path: string, sha256: string): string {
  return `.jobctl-${createHash('sha256').update(`${sha256} ${path}`).digest('hex').slice(0, 24)}.part`;
}

/** Answers go to stderr, in the runner's form (runner-client.ts): stdout is for content. */
const WORDS = `set -u
say() { printf 'jobctl-runner: %s\\n' "$*" >&2; }
fail() { echo "$*" >&2; exit 1; }
sum() { sha256sum < "$1" | cut -c 1-64; }
length() { wc -c < "$1" | tr -d ' '; }
`;

/** Begins a script about the file; ends the script with `unchanged` if the file already exists. */
export const onPlace = ({ path, part, size, sha256, mode }: FilePlace): string => `${WORDS}umask 022
p=${path}
[ ! -d "$p" ] || fail 'there is a folder of this name'
d=$(dirname -- "$p")
mkdir -p -- "$d" || exit 1
t=$d/${part}
umask 077
unless_there() {
  [ -f "$p" ] && [ "$(length "$p")" = ${size} ] && [ "$(sum "$p")" = ${sha256} ] || return 0
  chmod ${mode.toString(8)} "$p" || exit 1
  say unchanged
  exit 0
}
unless_there
`;

/** Reports `unchanged`, or the number of bytes that are already there. */
export const sizeScript = (place: FilePlace): string =>
  `${onPlace(place)}if [ -f "$t" ]; then say "$(length "$t")"; else say 0; fi`;

/** Reports `done`, or the problem of the part. A part with unexpected content is removed. */
export const intoPlace = ({ size, sha256, mode }: FilePlace): string => `n=$(length "$t")
[ "$n" -ge ${size} ] || { say "only $n of ${size} bytes arrived"; exit 0; }
got=$(sum "$t")
[ "$got" = ${sha256} ] || { rm -f -- "$t"; say "sha256 of what arrived is $got, not ${sha256}"; exit 0; }
chmod ${mode.toString(8)} "$t" && sync "$t" && mv -f -- "$t" "$p" || exit 1
say done`;

/** Reads the bytes from `offset` on from stdin. Reports `unchanged`, `done`, or a sentence about the part. */
const putScript = (place: FilePlace, offset: number): string => `${onPlace(place)}: >> "$t" || exit 1
dd of="$t" bs=65536 seek=${offset} oflag=seek_bytes conv=notrunc status=none || exit 1
${intoPlace(place)}`;

/** Prints the bytes from `offset` to `most`; reports size, mode and sha256. Leaves out bytes that a growing file gets later. */
const getScript = (path: string, offset: number, most: number): string => `${WORDS}p=${path}
[ ! -d "$p" ] || fail 'is a folder'
[ -f "$p" ] || fail 'there is no such file'
n=$(length "$p") || exit 1
[ "$n" -le ${most} ] || n=${most}
say "$n $(stat -L -c %a "$p") $(head -c "$n" "$p" | sha256sum | cut -c 1-64)"
${PRINT_MARK}
tail -c +${offset + 1} "$p" | head -c $((n - ${offset}))`;

/** Several contents up to this size are sent in one call: a call for each would cost a second on a long way. */
const SMALL_BYTES = 256 * 1024;
const BATCH_BYTES = 4 * 1024 * 1024;
const MOST_IN_BATCH = 1000;
const READ_AT_ONCE = 16;

/** Implements `HostConnection.putContents` over one link. */
export async function putContents(
  link: HostLink,
  contents: readonly FileSource[],
  folder: string,
  signal: AbortSignal,
): Promise<void> {
  const there = await namesIn(link, folder, signal);
  const wanted = contents.filter(({ sha256 }) => !there.has(sha256));
  const bad: string[] = [];
  for (const batch of batches(wanted.filter(({ size }) => size <= SMALL_BYTES))) {
    const said = await say(link, folder, batchScript(folder), { stdin: await read(batch, bad), signal });
    if (said !== 'done') throw new HostFileError(`${link.where}: '${folder}': ${said}; copy it again`);
  }
  for (const source of wanted.filter(({ size }) => size > SMALL_BYTES))
    try {
      await putFile(link, source, `${folder}/${source.sha256}`, { mode: 0o600, signal });
    } catch (error) {
      if (!(error instanceof HostFileError) && !isOfFile(error)) throw error;
      bad.push(error instanceof Error ? error.message : String(error));
    }
  if (bad.length > 0) throw new HostFileError(`${link.where}: '${folder}': ${bad[0]}; the others arrived`);
}

/** Whether a file of this computer has gone, or cannot be read any more. */
const isOfFile = (error: unknown): boolean => (error as NodeJS.ErrnoException).syscall !== undefined;

/**
 * Answers go to stderr, like those of `putFile` and `getFile`. Files are named by SHA-256 and arrive as a whole or not at all.
 */
const into = (folder: string): string =>
  `umask 077; mkdir -p -- ${shellPath(folder)} && cd -- ${shellPath(folder)} || exit 1\n`;

async function namesIn(link: HostLink, folder: string, signal: AbortSignal): Promise<ReadonlySet<string>> {
  const script = `${into(folder)}echo 'jobctl-runner: listed' >&2; find . -maxdepth 1 -type f -printf '%f\\n'`;
  let listed = '';
  const onStdout = (chunk: Buffer): void => {
    // The limit is the size of the longest list of outputs.
    if (listed.length > MOST_LISTED_BYTES) throw new HostFileError(`${link.where}: '${folder}': ${ENDLESS}`);
    listed += chunk.toString('latin1');
  };
  await say(link, folder, script, { onStdout, signal });
  return new Set(listed.split('\n'));
}
const MOST_LISTED_BYTES = 16 * 1024 * 1024;

/** Reads `SHA256 SIZE`, a newline and that many bytes, repeatedly. No other word becomes the name of a file. */
const batchScript = (folder: string): string => `${into(folder)}rm -rf .new && mkdir .new || exit 1
while IFS=' ' read -r sum size; do
  case $sum in *[!0-9a-f]*) exit 1 ;; esac
  head -c "$size" > ".new/$sum" || exit 1
  echo "$sum  .new/$sum"
done > sums.new
sha256sum --check --status --strict sums.new || { rm -rf .new sums.new; echo 'jobctl-runner: not all of it arrived' >&2; exit 0; }
mv -f -- .new/* . || exit 1
rm -rf .new sums.new
echo 'jobctl-runner: done' >&2`;

/**
 * The batch as the script reads it. A content that is not what its sum says is left out: bytes too many would be taken for further
 * entries, and files and objects of the store are written by others.
 */
async function read(batch: readonly FileSource[], bad: string[]): Promise<Buffer> {
  const parts: Buffer[] = [];
  const whole = async ({ read: bytes, sha256 }: FileSource): Promise<Buffer | undefined> => {
    try {
      const content = await wholeOf(bytes(0));
      if (createHash('sha256').update(content).digest('hex') === sha256) return content;
      bad.push(`the content of ${sha256} is another now`);
    } catch (error) {
      if (!isOfFile(error)) throw error;
      bad.push((error as Error).message);
    }
    return undefined;
  };
  for (let at = 0; at < batch.length; at += READ_AT_ONCE) {
    const some = batch.slice(at, at + READ_AT_ONCE);
    const contents = await Promise.all(some.map(whole));
    for (const [index, { sha256, size }] of some.entries()) {
      const content = contents[index];
      if (content !== undefined) parts.push(Buffer.from(`${sha256} ${size}\n`), content);
    }
  }
  return Buffer.concat(parts);
}

function batches(sources: readonly FileSource[]): readonly (readonly FileSource[])[] {
  const made: FileSource[][] = [];
  let bytes = 0;
  for (const source of sources) {
    const last = made.at(-1);
    if (last !== undefined && last.length < MOST_IN_BATCH && bytes + source.size <= BATCH_BYTES) last.push(source);
    else {
      made.push([source]);
      bytes = 0;
    }
    bytes += source.size;
  }
  return made;
}
