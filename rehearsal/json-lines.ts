import { existsSync, ftruncateSync, readFileSync, truncateSync, writeSync } from 'node:fs';

/** Writes bytes to a file. Like `fs.writeSync`, it may write fewer bytes than it was given. */
export type WriteBytes = (fd: number, bytes: Uint8Array, offset: number) => number;

/**
 * Appends all of `bytes` to a file of `size` bytes. If it throws (no space), none of them are in the file: the next line must not
 * follow half of this one.
 */
export function appendWhole(fd: number, size: number, bytes: Buffer, write: WriteBytes = writeSync): void {
  try {
    for (let written = 0; written < bytes.length;) written += write(fd, bytes, written);
  } catch (error) {
    ftruncateSync(fd, size);
    throw error;
  }
}

/**
 * Passes the value of each line in a file of JSON lines to `take`, in order. Half a line at the end is cut off: its process was
 * killed before it answered a caller. A broken line before the end is skipped and reported on stderr with file and number: that
 * one record is lost, the rest of the cloud is kept.
 * @returns size of the file, bytes
 */
export function readJsonLines(file: string, take: (value: unknown) => void): number {
  const bytes = existsSync(file) ? readFileSync(file) : Buffer.alloc(0);
  const size = bytes.lastIndexOf(10) + 1;
  if (size < bytes.length) truncateSync(file, size);
  for (let start = 0, number = 1; start < size; number++) {
    const end = bytes.indexOf(10, start);
    const line = bytes.toString('utf8', start, end);
    start = end + 1;
    if (line === '') continue;
    const value = parsed(line);
    if (value === undefined) sayBroken(file, number, line);
    else take(value);
  }
  return size;
}

/** Undefined if the line is not JSON. No JSON text stands for undefined. */
export function parsed(line: string): unknown {
  try {
    return JSON.parse(line) as unknown;
  } catch {
    return undefined;
  }
}

export function sayBroken(file: string, number: number, line: string): void {
  const shown = line.length > SHOWN_CHARACTERS ? `${line.slice(0, SHOWN_CHARACTERS)}..` : line;
  process.stderr.write(`cloud-tpu-rehearsal: ${file}:${number}: not a JSON line, left out: ${shown}\n`);
}

const SHOWN_CHARACTERS = 120;
