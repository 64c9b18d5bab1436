import { closeSync, openSync, readSync, statSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

/** Most bytes that a tail reads back. */
const TAIL_BYTES = 1_000_000;
const POLL_MS = 200;
const NEWLINE = 0x0a;

/** The last `lines` lines of the file from byte `from` on; empty if there is no file. */
export function readTail(path: string, lines: number, from = 0): string {
  const size = sizeOf(path);
  const text = readBytes(path, Math.max(from, size - TAIL_BYTES), size).toString('utf8');
  const all = text.endsWith('\n') ? text.slice(0, -1).split('\n') : text.split('\n');
  return lines <= 0 ? '' : all.slice(-lines).join('\n');
}

/** Yields whole lines that are added to the file from now on, until `signal` aborts. A shorter file is read from its start. */
export function followLines(path: string, signal: AbortSignal): AsyncGenerator<string> {
  // A generator's body runs at the first `next`, so the position is taken here, at the call.
  return linesFrom(path, sizeOf(path), signal);
}

async function* linesFrom(path: string, from: number, signal: AbortSignal): AsyncGenerator<string> {
  let offset = from;
  let rest: Buffer = Buffer.alloc(0);
  for (; !signal.aborted; await sleep(POLL_MS, undefined, { signal }).catch(() => undefined)) {
    const size = sizeOf(path);
    if (size < offset) [offset, rest] = [0, Buffer.alloc(0)];
    const bytes = Buffer.concat([rest, readBytes(path, offset, size)]);
    offset = size;
    const end = bytes.lastIndexOf(NEWLINE) + 1;
    rest = bytes.subarray(end);
    if (end > 0) yield* bytes.toString('utf8', 0, end - 1).split('\n');
  }
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

function readBytes(path: string, start: number, end: number): Buffer {
  if (end <= start) return Buffer.alloc(0);
  const file = openSync(path, 'r');
  try {
    const bytes = Buffer.alloc(end - start);
    return bytes.subarray(0, readSync(file, bytes, 0, bytes.length, start));
  } finally {
    closeSync(file);
  }
}
