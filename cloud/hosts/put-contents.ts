import { shellPath } from '../../domain/shell-quote.js';
import type { FileSource } from '../../domain/file-source.js';
import { putFile, say } from './file-copy.js';
import type { HostLink } from './host-link.js';
import { HostFileError } from './port.js';
import { wholeOf } from './output-streams.js';

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
  for (const batch of batches(wanted.filter(({ size }) => size <= SMALL_BYTES))) {
    const said = await say(link, folder, batchScript(folder), { stdin: await read(batch), signal });
    if (said !== 'done') throw new HostFileError(`${link.where}: '${folder}': ${said}; copy it again`);
  }
  for (const source of wanted.filter(({ size }) => size > SMALL_BYTES))
    await putFile(link, source, `${folder}/${source.sha256}`, { mode: 0o600, signal });
}

/** Answers go to stderr, like those of file-copy-scripts.ts. Files are named by SHA-256 and arrive as a whole or not at all. */
const into = (folder: string): string =>
  `umask 077; mkdir -p -- ${shellPath(folder)} && cd -- ${shellPath(folder)} || exit 1\n`;

async function namesIn(link: HostLink, folder: string, signal: AbortSignal): Promise<ReadonlySet<string>> {
  const script = `${into(folder)}echo 'jobctl-runner: listed' >&2; find . -maxdepth 1 -type f -printf '%f\\n'`;
  let listed = '';
  const onStdout = (chunk: Buffer): void => {
    // The limit is the size of the longest list of outputs; further output of the host is ignored.
    if (listed.length < MOST_LISTED_BYTES) listed += chunk.toString('latin1');
  };
  await say(link, folder, script, { onStdout, signal });
  return new Set(listed.split('\n'));
}
const MOST_LISTED_BYTES = 16 * 1024 * 1024;

/** Reads `SHA256 SIZE`, a newline and that many bytes, repeatedly. */
const batchScript = (folder: string): string => `${into(folder)}rm -rf .new && mkdir .new || exit 1
while IFS=' ' read -r sum size; do
  head -c "$size" > ".new/$sum" || exit 1
  echo "$sum  .new/$sum"
done > sums.new
sha256sum --check --status --strict sums.new || { rm -rf .new sums.new; echo 'jobctl-runner: not all of it arrived' >&2; exit 0; }
mv -f -- .new/* . || exit 1
rm -rf .new sums.new
echo 'jobctl-runner: done' >&2`;

async function read(batch: readonly FileSource[]): Promise<Buffer> {
  const parts: Buffer[] = [];
  for (let at = 0; at < batch.length; at += READ_AT_ONCE) {
    const some = batch.slice(at, at + READ_AT_ONCE);
    const bytes = await Promise.all(some.map((source) => wholeOf(source.read(0))));
    for (const [index, { sha256, size }] of some.entries())
      parts.push(Buffer.from(`${sha256} ${size}\n`), bytes[index] as Buffer);
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
