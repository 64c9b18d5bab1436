import { HostUnfit } from './port.js';

/** Printed on a host before the wanted output. */
const MARK = Buffer.from('\u0001jobctl-follow\n');

/** Shell command that prints the mark. */
export const PRINT_MARK = String.raw`printf '\001jobctl-follow\n'`;

/** Limit for the output of login files before the mark; a host that keeps printing would fill the memory here. */
const MOST_HEAD_BYTES = 64 * 1024;

/**
 * Passes on the bytes after the mark and drops those before it, which the host's login files print. Chunks may split the mark.
 * @throws HostUnfit if the mark does not come
 */
export function afterMark(onChunk: (chunk: Buffer) => void | Promise<void>): (chunk: Buffer) => void | Promise<void> {
  let head: Buffer | undefined = Buffer.alloc(0);
  return (chunk) => {
    if (head === undefined) return onChunk(chunk);
    head = Buffer.concat([head, chunk]);
    const at = head.indexOf(MARK);
    if (at < 0 && head.length > MOST_HEAD_BYTES)
      throw new HostUnfit(
        `the login files of a host print more than ${MOST_HEAD_BYTES / 1024} KiB before each command; have them print less`,
      );
    if (at < 0) return undefined;
    const rest = head.subarray(at + MARK.length);
    head = undefined;
    return rest.length > 0 ? onChunk(rest) : undefined;
  };
}

/** Most bytes that a tail keeps. */
const KEPT_BYTES = 16 * 1024;

/** The last lines of a stream. Memory is bounded: of very long lines only the last 16 KiB are kept. */
export class OutputTail {
  readonly #lines: number;
  #kept = Buffer.alloc(0);

  constructor(lines: number) {
    this.#lines = lines;
  }

  add(chunk: Buffer): void {
    this.#kept = Buffer.concat([this.#kept, chunk.subarray(-KEPT_BYTES)]).subarray(-KEPT_BYTES);
  }

  text(): string {
    return this.#kept.toString().trimEnd().split('\n').slice(-this.#lines).join('\n');
  }
}

export async function wholeOf(chunks: AsyncIterable<Buffer>): Promise<Buffer> {
  const all: Buffer[] = [];
  for await (const chunk of chunks) all.push(chunk);
  return Buffer.concat(all);
}
