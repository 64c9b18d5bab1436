import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { shellPath } from '../../domain/shell-quote.js';
import { helperCommand } from './helper-command.js';
import { getScript, partName, putScript, sizeScript } from './file-copy-scripts.js';
import { afterMark } from './output-streams.js';
import type { GetFileOptions, PutFileOptions, ReceivedFile } from './port.js';
import type { FileSource } from '../../domain/file-source.js';
import { quotedName } from '../../domain/outside-names.js';
import { HostFileError, HostUnreachable } from './port.js';
import type { ExecOptions, ExecResult } from './remote-exec.js';
import { lastWord } from './run-status.js';
import type { HostLink } from './host-link.js';

/** Files up to this size are sent at once, in one round trip. Asking for the part that is already there costs a second. */
const UNASKED_BYTES = 128 * 1024;
/** Consecutive cuts without any further byte. */
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

/** Runs one of these scripts and returns its last word. If it failed, the error contains the script's own text. */
export async function say(link: HostLink, path: string, script: string, options: ExecOptions): Promise<string> {
  const result = await link.exec(helperCommand(script), options);
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

/** Repeats after each loss of the connection while tries make progress. */
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
