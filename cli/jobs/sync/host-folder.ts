import { randomBytes } from 'node:crypto';
import { type HostConnection, HostFileError } from '../../../cloud/hosts/port.js';
import { helperCommand } from '../../../cloud/hosts/login-shell.js';
import { afterMark, PRINT_MARK } from '../../../cloud/hosts/remote-exec.js';
import type { FileSource } from '../../../domain/local-files.js';
import { quotedName } from '../../../domain/outside-text.js';
import { shellPath } from '../../../domain/shell-quote.js';

/** A change that a host is to make to its folder. */
export interface Change {
  /** Path below the folder. */
  readonly path: string;
  /** The new content and mode. Absent: the file is to go. */
  readonly to?: { readonly source: FileSource; readonly mode: number; readonly isFresh: boolean };
  /** SHA-256 of the content that the host had from here. Absent: it has none from here. */
  readonly from?: string;
}

/** A host's answer to a change. */
export type Made =
  | 'done'
  /** It was so already. */
  | 'same'
  /** Done; the host had other content, which is in the folder for replaced files. */
  | 'kept'
  /** Not removed, because it was changed on the host. */
  | 'changed'
  | 'a folder of this name is there'
  /** The content did not arrive, since the file here is another by now. */
  | 'is being written here'
  | 'cannot be written';

const MADE: ReadonlySet<string> = new Set<Made>([
  ...(['done', 'same', 'kept', 'changed'] as const),
  ...(['a folder of this name is there', 'is being written here', 'cannot be written'] as const),
]);

/** Whether a change was not made, and is to be tried again. */
export const isRefusal = (answer: Made): boolean => !['done', 'same', 'kept', 'changed'].includes(answer);

/**
 * Name of the folder that gets new contents first: in the folder itself, from where a file is moved into its place at once. Every
 * sync has its own; what a killed one left goes after some hours.
 */
const CONTENTS = `.jobctl-sync-${randomBytes(6).toString('hex')}`;
const OLD_CONTENTS = "find . -maxdepth 1 -name '.jobctl-sync-*' -mmin +240 -exec rm -rf -- {} + 2> /dev/null";
/** Changes in one call. */
const MOST_CHANGES = 250;

/**
 * SHA-256 of those of the files that the host has, by path. The host may say anything: only the names that were asked for, in the
 * room that they need, are taken.
 * @param folder a path in the shell's syntax of `shellPath`
 */
export async function sumsOnHost(
  connection: HostConnection,
  folder: string,
  paths: readonly string[],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, string>> {
  // xargs ends with 123 if some of the files are not there.
  const script = `${PRINT_MARK}
mkdir -p -- ${shellPath(folder)} && cd -- ${shellPath(folder)} || exit 1
${OLD_CONTENTS}
xargs -0 -r sha256sum -z -- 2> /dev/null || [ $? = 123 ]`;
  const names = paths.map((path) => `${path}\0`).join('');
  const room = Buffer.byteLength(names) + paths.length * (64 + 2) + 4096;
  const said = await call(connection, folder, script, { stdin: Buffer.from(names), room, signal });
  const asked = new Set(paths);
  const sums = new Map<string, string>();
  for (const line of said.split('\0')) {
    const [, sum = '', path = ''] = /^([0-9a-f]{64}) [ *](.+)$/s.exec(line) ?? [];
    if (asked.has(path)) sums.set(path, sum);
  }
  return sums;
}

/**
 * Makes the changes, each file as a whole or not at all.
 * @param replaced folder of the host for content that was not from here
 * @returns in the order of the changes
 */
export async function makeChanges(
  connection: HostConnection,
  folder: string,
  { changes, replaced }: { readonly changes: readonly Change[]; readonly replaced: string },
  signal: AbortSignal,
): Promise<readonly Made[]> {
  const made: Made[] = [];
  for (let at = 0; at < changes.length; at += MOST_CHANGES) {
    const some = changes.slice(at, at + MOST_CHANGES);
    const sources = new Map(
      some.flatMap(({ to }) => (to === undefined ? [] : [[to.source.sha256, to.source] as const])),
    );
    if (sources.size > 0)
      await connection.putContents([...sources.values()], `${folder}/${CONTENTS}`, signal).catch((error: unknown) => {
        // Contents that did not arrive have their own answers below.
        if (!(error instanceof HostFileError)) throw error;
      });
    const lines = some.map(({ path, to, from = '-' }, index) => {
      const sum = to?.source.sha256 ?? '-';
      const isAgain = some.slice(index + 1).some((later) => later.to?.source.sha256 === sum);
      return `${sum} ${to?.mode.toString(8) ?? '0'} ${isAgain ? 'cp' : 'mv'} ${from} ${path}\n`;
    });
    const options = { stdin: Buffer.from(lines.join('')), room: some.length * 64 + 4096, signal };
    const said = await call(connection, folder, changesScript(folder, replaced), options);
    const words = said.split('\n').slice(0, -1);
    if (words.length !== some.length || !words.every((word) => MADE.has(word)))
      throw new HostFileError(`'${folder}': the host's answer is none: ${quotedName(said.slice(-200))}`);
    made.push(...(words as Made[]));
  }
  return made;
}

/**
 * Reads lines `SHA256|- MODE cp|mv SHA256|- PATH`, and answers each by a line. `cp`: a later line needs the same content. A shell
 * starts a program in a millisecond, so a new file costs one.
 */
const changesScript = (folder: string, replaced: string): string => `umask 022
${PRINT_MARK}
record=$HOME/.jobctl/synced
mkdir -p -- "$HOME/.jobctl"
mkdir -p -- ${shellPath(folder)}
cd -- ${shellPath(folder)} || exit 1
new=${CONTENTS}
[ ! -d "$new" ] || chmod -R u=rwX,go=rX "$new"
change() {
  now=- d=\${p%/*}
  if [ -f "$p" ]; then now=$(sha256sum < "$p"); elif [ -e "$p" ] || [ -L "$p" ]; then now=other; fi
  now=\${now%% *}
  if [ "$sum" = - ]; then
    if [ "$now" = - ]; then echo same
    elif [ "$now" != "$from" ]; then echo changed
    elif rm -f -- "$p"; then
      rmdir -p --ignore-fail-on-non-empty -- "$d"
      echo done
    else echo 'cannot be written'; fi
    return
  fi
  if [ "$now" = "$sum" ]; then
    chmod "$mode" "$p" && echo same || echo 'cannot be written'
    return
  fi
  [ ! -d "$p" ] || { echo 'a folder of this name is there'; return; }
  word=done t=$new/$sum
  [ -f "$t" ] || { echo 'is being written here'; return; }
  if [ "$now" != - ] && [ "$now" != "$from" ] && ! grep -qsxF -- "$now" "$record"; then
    k=${shellPath(replaced)}/$p
    mkdir -p -- "\${k%/*}" || { echo 'cannot be written'; return; }
    # A pipe is not read.
    if [ -f "$p" ] && [ ! -L "$p" ]; then cp -p -- "$p" "$k"; else mv -f -- "$p" "$k"; fi || { echo 'cannot be written'; return; }
    word=kept
  fi
  if [ $how = cp ]; then t=$new/copy; cp -- "$new/$sum" "$t"; fi
  echo "$sum" >> "$record"
  { [ $mode = 644 ] || chmod "$mode" "$t"; } && { [ -d "$d" ] || mkdir -p -- "$d"; } && mv -f -- "$t" "$p" &&
    echo $word || echo 'cannot be written'
}
while IFS= read -r line; do
  sum=\${line%% *}; line=\${line#* }
  mode=\${line%% *}; line=\${line#* }
  how=\${line%% *}; line=\${line#* }
  from=\${line%% *}; p=./\${line#* }
  change < /dev/null 2> /dev/null
done
rm -rf -- "$new"
[ "$(wc -c < "$record")" -lt 4000000 ] || { tail -n 20000 "$record" > "$record.$$" && mv -f -- "$record.$$" "$record"; }
exit 0`;

interface Call {
  readonly stdin: Buffer;
  /** Most bytes of the answer. */
  readonly room: number;
  readonly signal: AbortSignal;
}

/** @throws HostFileError with the host's own words */
async function call(connection: HostConnection, folder: string, script: string, options: Call): Promise<string> {
  const { stdin, room, signal } = options;
  const said: Buffer[] = [];
  let bytes = 0;
  let errors = '';
  const { code } = await connection.exec(helperCommand(script), {
    stdin,
    signal,
    // Login files may print.
    onStdout: afterMark((chunk) => {
      bytes += chunk.length;
      if (bytes > room) throw new HostFileError(`'${folder}': the host's answer is longer than it can be`);
      said.push(chunk);
    }),
    onStderr: (chunk) => void (errors = `${errors}${chunk.toString()}`.slice(-MOST_ERRORS)),
  });
  if (code === 0) return Buffer.concat(said).toString();
  throw new HostFileError(`'${folder}': ${errors.trim() || `the host's shell ended with code ${code ?? 'none'}`}`);
}

const MOST_ERRORS = 500;
