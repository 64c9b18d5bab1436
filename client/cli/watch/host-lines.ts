import type { LogSink } from './log-follower.js';
import type { Screen } from './screen.js';

/** A longer line is split. */
const MAX_LINE_BYTES = 65_536;
const NEWLINE = 0x0a;
const RETURN = 0x0d;

/**
 * Splits the output of several hosts into whole lines and puts the host's number before each. It works on bytes, so a character
 * that two chunks share stays whole. Of a line that was redrawn with `\r`, such as a progress bar, only the last state is kept.
 */
export class HostLines {
  readonly #bar: string;
  readonly #begun = new Map<number, Buffer>();
  #hostDigits = 1;

  /** @param bar stands between the host's number and the line */
  constructor(bar: string) {
    this.#bar = bar;
  }

  /** @returns the lines that these bytes complete */
  add(host: number, bytes: Buffer): readonly Buffer[] {
    this.#hostDigits = Math.max(this.#hostDigits, String(host).length);
    let rest = this.#begun.has(host) ? Buffer.concat([this.#begun.get(host) as Buffer, bytes]) : bytes;
    const lines: Buffer[] = [];
    for (let end = rest.indexOf(NEWLINE); end !== -1; end = rest.indexOf(NEWLINE)) {
      lines.push(this.#line(host, rest.subarray(0, end)));
      rest = rest.subarray(end + 1);
    }
    if (rest.length > MAX_LINE_BYTES) {
      lines.push(this.#line(host, rest));
      rest = Buffer.alloc(0);
    }
    this.#begun.set(host, rest);
    return lines;
  }

  /** @returns the unfinished last line of each host */
  end(): readonly Buffer[] {
    const lines = [...this.#begun].flatMap(([host, rest]) => (rest.length > 0 ? [this.#line(host, rest)] : []));
    this.#begun.clear();
    return lines;
  }

  #line(host: number, line: Buffer): Buffer {
    const prefix = `${String(host).padStart(this.#hostDigits)} ${this.#bar} `;
    return Buffer.concat([Buffer.from(prefix), lastState(line), Buffer.of(NEWLINE)]);
  }
}

function lastState(line: Buffer): Buffer {
  const end = line.at(-1) === RETURN ? line.length - 1 : line.length;
  const from = line.subarray(0, end).lastIndexOf(RETURN);
  return line.subarray(from + 1, end);
}

/** Shows whole lines of all hosts, each with its host's number. */
export function prefixedSink(screen: Screen): LogSink {
  const lines = new HostLines(screen.look.symbols.bar);
  return {
    stretch: (host, bytes) => screen.output(lines.add(host, bytes)),
    attemptEnd: () => screen.output(lines.end()),
  };
}

/** Shows the bytes of one host unchanged. */
export function rawSink(screen: Screen): LogSink {
  return { stretch: (_host, bytes) => screen.output([bytes]), attemptEnd: async () => undefined };
}
