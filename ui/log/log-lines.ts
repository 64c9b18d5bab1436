import { plainText } from './ansi.js';

/** The lines of a followed log that a page keeps: a bounded window over the end of it. */
export interface LogLine {
  readonly attempt: number;
  readonly host: number;
  /** Offset of its first byte in the host's output of the attempt. */
  readonly offset: number;
  readonly text: string;
  /** The line is jobctl's note about lost output. */
  readonly isNote?: true;
}

interface Piece {
  readonly attempt: number;
  readonly host: number;
  readonly offset: number;
  readonly bytes: Uint8Array;
  readonly isLostTail?: boolean;
}

interface OpenLine {
  readonly offset: number;
  readonly bytes: Uint8Array;
}

const NEWLINE = 0x0a;
/**
 * A longer line is cut into lines of this size. Otherwise each piece that arrives would make the whole line be searched again.
 */
const MOST_OF_LINE = 16_384;
/** Limits of kept lines, and of their characters. If one is exceeded, the oldest quarter is dropped. */
const MOST_LINES = 200_000;
const MOST_CHARACTERS = 64 * 2 ** 20;

export class LogLines {
  #lines: LogLine[] = [];
  #characters = 0;
  #dropped = 0;
  readonly #open = new Map<string, OpenLine>();
  readonly #decoder = new TextDecoder();
  readonly #mostLines: number;

  constructor(mostLines = MOST_LINES) {
    this.#mostLines = mostLines;
  }

  get lines(): readonly LogLine[] {
    return this.#lines;
  }

  /** Lines that were dropped from the front. */
  get dropped(): number {
    return this.#dropped;
  }

  push({ attempt, host, offset, bytes, isLostTail }: Piece): void {
    if (isLostTail === true) {
      this.#add({ attempt, host, offset, text: this.#decoder.decode(bytes).trim(), isNote: true });
      return;
    }
    const key = `${attempt}.${host}`;
    const open = this.#open.get(key);
    // A piece that does not follow the previous one directly begins a new line.
    const isNext = open !== undefined && open.offset + open.bytes.length === offset;
    const all = isNext ? joined(open.bytes, bytes) : bytes;
    let from = 0;
    const begin = isNext ? open.offset : offset;
    for (let end = all.indexOf(NEWLINE); ; end = all.indexOf(NEWLINE, from)) {
      const to = end === -1 ? all.length : end;
      while (to - from > MOST_OF_LINE) {
        this.#line(attempt, host, begin + from, all.subarray(from, from + MOST_OF_LINE));
        from += MOST_OF_LINE;
      }
      if (end === -1) break;
      this.#line(attempt, host, begin + from, all.subarray(from, end));
      from = end + 1;
    }
    if (from < all.length) this.#open.set(key, { offset: begin + from, bytes: all.slice(from) });
    else this.#open.delete(key);
  }

  /**
   * Called when an attempt or the whole log is complete. A last line without a line break then counts as a line.
   * @param attempt absent: all attempts
   */
  close(attempt?: number): void {
    for (const [key, { offset, bytes }] of this.#open) {
      const [of = 0, host = 0] = key.split('.').map(Number);
      if (attempt !== undefined && of !== attempt) continue;
      this.#line(of, host, offset, bytes);
      this.#open.delete(key);
    }
  }

  #line(attempt: number, host: number, offset: number, bytes: Uint8Array): void {
    this.#add({ attempt, host, offset, text: this.#decoder.decode(bytes) });
  }

  #add(line: LogLine): void {
    this.#lines.push(line);
    this.#characters += line.text.length;
    if (this.#lines.length <= this.#mostLines && this.#characters <= MOST_CHARACTERS) return;
    const gone = Math.max(1, Math.floor(this.#lines.length / 4));
    for (const { text } of this.#lines.slice(0, gone)) this.#characters -= text.length;
    this.#lines = this.#lines.slice(gone);
    this.#dropped += gone;
  }
}

function joined(first: Uint8Array, second: Uint8Array): Uint8Array {
  const all = new Uint8Array(first.length + second.length);
  all.set(first);
  all.set(second, first.length);
  return all;
}

/** Indexes of the lines that contain the text, ignoring case. Empty for an empty text. */
export function matchesOf(lines: readonly LogLine[], text: string): readonly number[] {
  const wanted = text.toLowerCase();
  if (wanted === '') return [];
  return lines.flatMap((line, index) => (plainText(line.text).toLowerCase().includes(wanted) ? [index] : []));
}

/** Decodes base64. */
export function bytesOf(base64: string): Uint8Array {
  const binary = atob(base64);
  const bytes = new Uint8Array(binary.length);
  for (let at = 0; at < binary.length; at++) bytes[at] = binary.charCodeAt(at);
  return bytes;
}
