import { METRIC_WORD, MOST_JSON_BYTES, MOST_LINE_BYTES } from '../../domain/job-metrics/metric-lines.js';

const [NEW_LINE, RETURN] = [10, 13];
const MARK = Buffer.from(METRIC_WORD);

/** Finds the lines with metrics in a stream of bytes. Of other lines no byte is looked at twice, and none is kept. */
export class MarkedLines {
  /** Bytes from the beginning of a word that may be followed by metrics. */
  #held = Buffer.alloc(0);
  /** The line in which we are is too long, and its rest is passed over. */
  #isPassing = false;

  get heldBytes(): number {
    return this.#held.length;
  }

  /** @returns the lines that have ended, each from before the word on. Undefined: a line that is too long */
  push(chunk: Buffer): readonly (string | undefined)[] {
    const lines: (string | undefined)[] = [];
    const bytes = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk]);
    let from = this.#isPassing ? lineEnd(bytes, 0) + 1 : 0;
    if (this.#isPassing && from === 0) return lines;
    this.#isPassing = false;
    for (;;) {
      const at = bytes.indexOf(MARK, from);
      if (at < 0) break;
      const end = lineEnd(bytes, at);
      // With the character before the word, which shows whether it is one.
      const start = Math.max(from, at - 1);
      if (end < 0) {
        if (bytes.length - start <= MOST_LINE_BYTES) return this.#hold(bytes, start, lines);
        this.#isPassing = true;
        lines.push(undefined);
        return this.#hold(bytes, bytes.length, lines);
      }
      lines.push(end - start > MOST_LINE_BYTES ? undefined : bytes.toString('utf8', start, end));
      from = end + 1;
    }
    // The word may be cut in two.
    return this.#hold(bytes, Math.max(from, bytes.length - MARK.length), lines);
  }

  #hold<T>(bytes: Buffer, from: number, lines: T): T {
    // A copy, because a part of a received chunk would keep all of it.
    this.#held = Buffer.from(bytes.subarray(from));
    return lines;
  }
}

/** The place of the end of the line, or -1. A drawn bar ends with a carriage return. */
function lineEnd(bytes: Buffer, from: number): number {
  const line = bytes.indexOf(NEW_LINE, from);
  const drawn = bytes.subarray(from, line < 0 ? undefined : line).indexOf(RETURN);
  return drawn < 0 ? line : from + drawn;
}

/** Cuts a stream of bytes into lines. A line without its end is not half read: it waits. */
export class JsonLines {
  #held = Buffer.alloc(0);
  #isPassing = false;

  get heldBytes(): number {
    return this.#held.length;
  }

  /** @returns the lines that have ended and are not empty. Undefined: a line that is too long */
  push(chunk: Buffer): readonly (string | undefined)[] {
    const lines: (string | undefined)[] = [];
    const bytes = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk]);
    let from = 0;
    for (let end = bytes.indexOf(NEW_LINE); end >= 0; end = bytes.indexOf(NEW_LINE, from)) {
      const line = end - from > MOST_JSON_BYTES ? undefined : bytes.toString('utf8', from, end).trim();
      if (!this.#isPassing && line !== '') lines.push(line);
      this.#isPassing = false;
      from = end + 1;
    }
    if (bytes.length - from > MOST_JSON_BYTES) {
      if (!this.#isPassing) lines.push(undefined);
      this.#isPassing = true;
      from = bytes.length;
    }
    this.#held = Buffer.from(bytes.subarray(from));
    return lines;
  }
}
